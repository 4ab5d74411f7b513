package kindtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatal(args ...any)            { r.Error(args...); panic(r) }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); panic(r) }

// failures returns the failures of a test that calls a function.
func failures(function func(t testing.TB)) (failures []string) {
	r := &recorder{}
	defer func() {
		if cause := recover(); cause != nil && cause != any(r) {
			panic(cause)
		}
		failures = r.failures
	}()
	function(r)
	return r.failures
}

func ready(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
}

func TestClusterFollowsRollout(t *testing.T) {
	const text = "{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: cache}, spec: {size: 2}}"
	c := NewCluster(t, memcached.Kind, Object[cachev1alpha1.Memcached](t, memcached.Kind, text))
	check := func(when, reason string, nodes ...string) {
		t.Helper()
		status := c.Status().Status
		if is := condition.FindReady(status.Conditions); is.Reason != reason || !slices.Equal(status.Nodes, nodes) {
			t.Errorf("%s: %s, %v: %s", when, is.Reason, status.Nodes, is.Message)
		}
	}
	check("nothing synced", memcached.ReasonDeploymentMissing)
	c.Pass(time.Minute)
	if is := c.Status().Status.Conditions; !meta.IsStatusConditionTrue(is, condition.Reconciling) {
		t.Errorf("after a minute: %v", is)
	}
	c.Pass(time.Hour)
	if is := c.Status().Status.Conditions; !meta.IsStatusConditionTrue(is, condition.Stalled) {
		t.Errorf("after an hour: %v", is)
	}
	c.Sync()
	check("synced", memcached.ReasonRollingOut)
	Change(c, func(d *appsv1.Deployment) {
		for _, name := range []string{"cache-0", "cache-1"} {
			pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
			pod.Name = name
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
			c.Put(pod)
		}
	})
	Change(c, func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, UpdatedReplicas: 2}
	})
	Change(c, ready, "cache-0")
	check("one Pod is ready", memcached.ReasonRollingOut, "cache-0")
	Change(c, ready)
	check("two are", memcached.ReasonReady, "cache-0", "cache-1")

	Change(c, func(m *cachev1alpha1.Memcached) { m.Spec.Size = 3 })
	check("of another spec", memcached.ReasonRenderingStale, "cache-0", "cache-1")
	c.Sync()
	check("synced again", memcached.ReasonRollingOut, "cache-0", "cache-1")
	c.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}})
	Change(c, ready, "stranger")
	check("with a foreign Pod", memcached.ReasonRollingOut, "cache-0", "cache-1")
	Delete[appsv1.Deployment](c, "cache")
	check("without the Deployment", memcached.ReasonDeploymentMissing)
	if got := failures(func(t testing.TB) { c.t = t; Delete[corev1.Pod](c, "cache-0") }); !slices.Equal(got, []string{`the cluster has 0 objects *v1.Pod ["cache-0"]`}) {
		t.Errorf("the Pods of a Deployment that is deleted: %q", got)
	}
}

func TestStatusFailsForMisleadingStatus(t *testing.T) {
	type snapshot = kind.Snapshot[everything.Everything]
	calls := int32(0)
	for name, c := range map[string]struct {
		change func(snapshot, *everything.ObservedStatus) time.Time
		want   string // empty for nothing
	}{
		"the free one":       {func(snapshot, *everything.ObservedStatus) time.Time { return time.Time{} }, ""},
		"another generation": {func(_ snapshot, s *everything.ObservedStatus) time.Time { s.ObservedGeneration = 7; return time.Time{} }, "observedGeneration is not the generation, 1"},
		"no state": {func(_ snapshot, s *everything.ObservedStatus) time.Time {
			s.Conditions[0].Status = metav1.ConditionFalse
			return time.Time{}
		}, "not exactly one of Ready, Reconciling and Stalled is True"},
		"each time another": {func(_ snapshot, s *everything.ObservedStatus) time.Time { calls++; s.Count = calls; return time.Time{} }, "a second decision differs"},
		"by time, woken": {func(n snapshot, s *everything.ObservedStatus) time.Time {
			s.Count = int32(n.Now.Unix() / 3600)
			return n.Now.Truncate(time.Hour).Add(time.Hour)
		}, ""},
		"a Wake of the past": {func(n snapshot, _ *everything.ObservedStatus) time.Time { return n.Now }, "Wake is 2026-01-31 09:00:00 +0000 UTC, which is not after Now, 2026-01-31 09:00:00 +0000 UTC: have Status return a later time, or zero"},
		"a changed argument": {func(n snapshot, _ *everything.ObservedStatus) time.Time { n.Object.Spec.Text = "b"; return time.Time{} }, "Status changes its argument: have it change a DeepCopy"},
		"a panic":            {func(snapshot, *everything.ObservedStatus) time.Time { panic("no") }, "Status panics: no"},
	} {
		t.Run(name, func(t *testing.T) {
			k := hostile(func(d *definition) {
				d.Status = func(s snapshot) kind.Decision[everything.ObservedStatus] {
					next := everything.ObservedStatus{Status: s.Status}
					next.Conditions = slices.Clone(next.Conditions)
					wake := c.change(s, &next)
					return kind.Decision[everything.ObservedStatus]{Status: next, Wake: wake}
				}
			})
			got := failures(func(r testing.TB) {
				cluster := NewCluster(r, k, Object[everything.Everything](t, k, minimal))
				cluster.Status()
				cluster.Pass(90 * time.Minute)
				cluster.Status()
			})
			if all := strings.Join(got, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
				t.Errorf("got %s\nwant %s", all, c.want)
			}
		})
	}
}

func TestInvalidObjectIsRefused(t *testing.T) {
	k := hostile(func(*definition) {})
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":          {"a: b: c", "yaml: mapping values are not allowed in this context"},
		"nothing":          {"", "not an object"},
		"an unknown field": {strings.Replace(minimal, "text: a", "text: a, more: b", 1), `unknown field "spec.more"`},
		"a missing field":  {strings.Replace(minimal, "text: a,", "", 1), "spec.text: Required value"},
		"a large number":   {strings.Replace(minimal, "text: a", "text: a, int: 18446744073709551615", 1), "does not fit into a signed 64-bit integer"},
	} {
		t.Run(name, func(t *testing.T) {
			fatal := failures(func(t testing.TB) { Object[everything.Everything](t, k, c.text) })
			for _, got := range [][]string{Refusal(t, k, c.text), fatal} {
				if !strings.Contains(strings.Join(got, "\n"), c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
	if got := Refusal(t, k, minimal); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// Every object would lose a field that the Go type lacks.
func TestObjectFitsGoType(t *testing.T) {
	k := hostile(func(d *definition) {
		d.CRD = bytes.Replace(d.CRD, []byte("              text:\n"), []byte("              more:\n                type: string\n              text:\n"), 1)
	})
	got := failures(func(t testing.TB) {
		Object[everything.Everything](t, k, strings.Replace(minimal, "text: a", "text: a, more: b", 1))
	})
	if want := []string{"spec.more: fits the CustomResourceDefinition, but not the Go type: run controller-gen"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A change of metadata alone makes no new generation.
func TestClusterCountsGenerationsOfSpecsOnly(t *testing.T) {
	k := hostile(func(*definition) {})
	c := NewCluster(t, k, Object[everything.Everything](t, k, minimal))
	Change(c, func(e *everything.Everything) { e.Labels = map[string]string{"a": "b"} })
	if is := c.Status(); is.Generation != 1 || is.Labels["a"] != "b" {
		t.Errorf("with another label: %+v", is.ObjectMeta)
	}
	Change(c, func(e *everything.Everything) { e.Spec.Text = "b" })
	if is := c.Status(); is.Generation != 2 || is.Status.ObservedGeneration != 2 {
		t.Errorf("with another spec: %+v", is.ObjectMeta)
	}
}

func TestExpandNamesObjectsAndRendersTwice(t *testing.T) {
	calls := 0
	k := hostile(func(d *definition) {
		d.Expand = func(*everything.Everything) ([]kind.Object, error) {
			calls++
			return []kind.Object{configMap("a", map[string]string{"calls": fmt.Sprint(calls)})}, nil
		}
	})
	object := Object[everything.Everything](t, k, minimal)
	if got := failures(func(t testing.TB) { Expand(t, k, object) }); len(got) != 1 || !strings.HasPrefix(got[0], "the second rendering differs:\n") {
		t.Errorf("%q", got)
	}
	widgets := hostile(func(d *definition) {
		d.Children[0].Immutable = true
		d.Expand = func(*everything.Everything) ([]kind.Object, error) {
			return []kind.Object{configMap("a", nil), untyped("example.org/v1", "Widget", "b", nil)}, nil
		}
	})
	objects := Expand(t, widgets, object)
	if len(objects) != 2 || !strings.HasPrefix(objects[0].GetName(), "a-") || len(objects[0].GetName()) != 12 || objects[1].GetName() != "b" {
		t.Errorf("%v", objects)
	}
	c := NewCluster(t, widgets, object)
	c.Sync()
	if is := condition.FindReady(c.Status().Status.Conditions); is.Reason != "Ready" {
		t.Errorf("%v", is)
	}
	Change(c, func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "Broken"}}}
	}, "b")
	if is := c.Status().Status.NotReady; len(is) != 1 || is[0] != (kind.NotReady{Kind: "Widget", Name: "b", Reason: "Broken"}) {
		t.Errorf("%v", is)
	}
}

func TestGoldenComparesAndUpdates(t *testing.T) {
	path := t.TempDir() + "/golden"
	if got := failures(func(t testing.TB) { Golden(t, path, "a\n") }); len(got) != 1 || !strings.Contains(got[0], "run the test with -kindtest.update") {
		t.Errorf("no file: %q", got)
	}
	*update = true
	Golden(t, path, []*unstructured.Unstructured{untyped("v1", "ConfigMap", "a", nil), untyped("v1", "ConfigMap", "b", nil)})
	*update = false
	Golden(t, path, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n")
	if got := failures(func(t testing.TB) { Golden(t, path, []byte("a\n")) }); len(got) != 1 || !strings.Contains(got[0], "\n+a\n") {
		t.Errorf("another text: %q", got)
	}
}

func TestNewClusterRefusesGate(t *testing.T) {
	k := hostile(func(d *definition) { d.Gate = "example.org/gate" })
	got := failures(func(r testing.TB) { NewCluster(r, k, &everything.Everything{}) })
	if want := []string{"Everything has a Gate: a Cluster does not decide its status"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
