package gatehouse

import (
	"cmp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/kind/registry"
)

func atSpec(t *testing.T, spec string) (s cnatv1alpha1.AtSpec) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func memcachedSpec(t *testing.T, spec string) (s cachev1alpha1.MemcachedSpec) {
	t.Helper()
	defaulted := `{size: 1, image: "memcached:1", memoryLimit: 64Mi, maxConnections: 1024, threads: 4, port: 11211}`
	for _, document := range []string{defaulted, spec} {
		if err := yaml.UnmarshalStrict([]byte(document), &s, yaml.DisallowUnknownFields); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestAtDigestCoversRun(t *testing.T) {
	const plain = `{schedule: "2027-01-01T00:00:00Z", command: date, image: "busybox:1.37", restartPolicy: OnFailure`
	base := at.Digest(atSpec(t, plain+`}`))
	for spec, same := range map[string]bool{
		plain + `, suspend: true}`:                                      true, // the controller's to act on
		plain + `, startingDeadlineSeconds: 5}`:                         true,
		strings.Replace(plain, "00:00:00Z", "01:30:00+01:30", 1) + `}`:  true, // the same instant
		strings.Replace(plain, "00:00:00Z", "00:00:00.000Z", 1) + `}`:   true,
		strings.Replace(plain, "00:00:00Z", "00:00:00.001Z", 1) + `}`:   false,
		strings.Replace(plain, "00:00:00Z", "00:00:00+01:00", 1) + `}`:  false,
		strings.Replace(plain, "date", "date -u", 1) + `}`:              false,
		plain + `, activeDeadlineSeconds: 5}`:                           false,
		plain + `, env: [{name: A, value: b}]}`:                         false,
		plain + `, serviceAccountName: report}`:                         false,
		strings.Replace(plain, "OnFailure", "Never", 1) + `}`:           false,
		strings.Replace(plain, "busybox:1.37", "busybox:1.36", 1) + `}`: false,
		plain + `, resources: {limits: {memory: 1Gi}}}`:                 false,
		plain + `, envFrom: [{configMapRef: {name: settings}}]}`:        false,
	} {
		if got := at.Digest(atSpec(t, spec)) == base; got != same {
			t.Errorf("%s: same digest %t, want %t", spec, got, same)
		}
	}
	half := at.Digest(atSpec(t, plain+`, resources: {limits: {cpu: 0.5}}}`))
	if milli := at.Digest(atSpec(t, plain+`, resources: {limits: {cpu: 500m}}}`)); half != milli {
		t.Error("0.5 and 500m have two digests")
	}
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Errorf("digest %q", base)
	}
}

func TestScheduleParsesTimes(t *testing.T) {
	for schedule, want := range map[string]string{
		"2027-01-01T00:00:00Z":          "2027-01-01T00:00:00Z",
		"2027-01-01T00:00:00+01:00":     "2026-12-31T23:00:00Z",
		"2027-01-01T00:00:00.250-09:30": "2027-01-01T09:30:00.25Z",
		"2027-01-01T00:00:00-00:00":     "2027-01-01T00:00:00Z",
		"tomorrow":                      "",
		"2027-02-29T00:00:00Z":          "",
		"2027-01-01T00:00:00":           "",
		"2027-12-31T23:59:60Z":          "",
		"2027-01-01T24:00:00Z":          "",
		"2027-01-01t00:00:00z":          "",
		"2027-01-01T0:00:00Z":           "",
		"2027-01-01T00:00:00,5Z":        "",
		"0000-06-01T00:00:00Z":          "",
		"0001-01-01T00:00:00.999Z":      "", // the zero time, in whole seconds
		"0001-01-01T00:00:01Z":          "0001-01-01T00:00:01Z",
		"0001-01-01T00:59:59+01:00":     "",
		"9999-12-31T23:59:59.9Z":        "9999-12-31T23:59:59.9Z",
		"9999-12-31T23:59:59-01:00":     "",
	} {
		got, err := at.Schedule(cnatv1alpha1.AtSpec{Schedule: schedule})
		if (err != nil) != (want == "") || err == nil && got.Format("2006-01-02T15:04:05.999999999Z07:00") != want {
			t.Errorf("%s: %v, %v, want %s", schedule, got, err, want)
		}
	}
}

func TestMemcachedResourcesOverrideMemory(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:                                     `{limits: {memory: 150Mi}, requests: {memory: 150Mi}}`,
		`{resources: {requests: {cpu: 1}}}`:      `{limits: {memory: 150Mi}, requests: {cpu: 1, memory: 150Mi}}`,
		`{resources: {requests: {memory: 1Gi}}}`: `{requests: {memory: 1Gi}}`,
		`{resources: {limits: {memory: 80Mi}}}`:  `{limits: {memory: 80Mi}}`,
	} {
		var resources corev1.ResourceRequirements
		if err := yaml.Unmarshal([]byte(want), &resources); err != nil {
			t.Fatal(err)
		}
		deployment := expand(t, memcached.Kind, &cachev1alpha1.Memcached{Spec: memcachedSpec(t, spec)})[0]
		got, _ := yaml.Marshal(podOf(t, deployment).Spec.Containers[0].Resources)
		normal, _ := yaml.Marshal(resources)
		if string(got) != string(normal) {
			t.Errorf("%s:\n%swant\n%s", spec, got, normal)
		}
	}
}

// The API server's code accepts all Pods under Pod Security "restricted".
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	objects := expand(t, at.Kind, &cnatv1alpha1.At{Spec: atSpec(t, `{schedule: "2027-01-01T00:00:00Z", command: date, serviceAccountName: a}`)})
	objects = append(objects, expand(t, memcached.Kind, &cachev1alpha1.Memcached{Spec: memcachedSpec(t, `{exporter: {image: exporter, port: 9150}}`)})...)
	for _, object := range objects {
		pod := podOf(t, object)
		if (pod == nil) != (object.GetKind() == "Service") {
			t.Fatalf("a Pod in a %s", object.GetKind())
		}
		if pod == nil {
			continue
		}
		for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", object.GetKind(), result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
	}
}

// expand returns the children of an object. It names an object without a name.
func expand(t rapid.TB, k kind.Kind, owner kind.Object) []*unstructured.Unstructured {
	t.Helper()
	owner.SetName(cmp.Or(owner.GetName(), "a"))
	objects, err := registry.Expand(&k, owner)
	if err != nil {
		t.Fatal(err)
	}
	return objects.Objects
}

// podOf returns an object as a Pod, or its template of Pods, or nil.
func podOf(t rapid.TB, object *unstructured.Unstructured) *corev1.PodTemplateSpec {
	t.Helper()
	pod := object.Object
	if object.GetKind() != "Pod" {
		pod, _, _ = unstructured.NestedMap(object.Object, "spec", "template")
	}
	if pod == nil {
		return nil
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod, &template); err != nil {
		t.Fatal(err)
	}
	return &template
}

func TestHashNameDependsOnContent(t *testing.T) {
	kinds := newKinds(t)
	pod := func(change string) string {
		p := unstructuredOf(t, `{apiVersion: v1, kind: Pod, metadata: {name: report, labels: {cnat.programming-kubernetes.info/at: report`+change+`}}}`)
		if err := kinds.HashName(p, &unstructured.Unstructured{}); err != nil {
			t.Fatal(err)
		}
		return p.GetName()
	}
	plain := pod("")
	changed := pod(", team: a")
	if plain != "report-9a67625d19" || changed != "report-239129b007" {
		t.Errorf("names %s and %s", plain, changed)
	}
}

// A new version keeps the names of Pods: another name would be another run.
func TestNamesStay(t *testing.T) {
	kinds := newKinds(t)
	for _, c := range []struct{ metadata, want string }{
		{`{name: a}`, "a-f207bd2e56"},
		{`{name: a, namespace: b, labels: {team: c}}`, "a-c706739bf4"},
		{`{name: a, labels: {app.kubernetes.io/managed-by: gatehouse}}`, "a-f207bd2e56"},
		{`{name: a, labels: {app.kubernetes.io/managed-by: c}}`, "a-480de11161"},
		{`{name: a, labels: {app.kubernetes.io/managed-by: ""}}`, "a-10e8ab0c4f"},
		{`{name: a, labels: {app.kubernetes.io/managed-by: c, app.kubernetes.io/name: d, app.kubernetes.io/instance: e, velero.io/exclude-from-backup: "false", kustomize.toolkit.fluxcd.io/prune: disabled}, annotations: {note: f, argocd.argoproj.io/sync-wave: "5"}}`, "a-5ff11ce205"},
	} {
		owner := unstructuredOf(t, `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: `+c.metadata+`, spec: {schedule: "2027-01-01T00:00:00Z", command: date, image: "busybox:1.37", restartPolicy: OnFailure}}`)
		rendered, err := kinds.Expand(owner)
		if err != nil {
			t.Fatal(err)
		}
		if got := rendered.Objects[0].GetLabels()[kind.ManagedByLabel]; got != kind.ManagedBy {
			t.Errorf("%s: managed by %q", c.metadata, got)
		}
		if err := kinds.HashName(rendered.Objects[0], owner); err != nil {
			t.Fatal(err)
		}
		if got := rendered.Objects[0].GetName(); got != c.want {
			t.Errorf("%s: name %s, want %s", c.metadata, got, c.want)
		}
	}
}

func newKinds(t testing.TB) *registry.Kinds {
	t.Helper()
	kinds, err := registry.New(Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func unstructuredOf(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// Rendered objects have the sync wave of their source object: a sync of Argo CD waits until it is
// healthy, which needs them. The name of a Pod does not depend on the wave.
func TestChildrenShareWave(t *testing.T) {
	const wave = "argocd.argoproj.io/sync-wave"
	kinds := newKinds(t)
	names := map[string]bool{}
	for _, annotations := range []map[string]string{nil, {wave: "-5"}, {wave: "1000"}, {wave: ""}} {
		want, isSet := annotations[wave]
		for _, written := range []string{"At", "Memcached"} {
			owner := unstructuredOf(t, map[string]string{
				"At":        `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a}, spec: {schedule: "2027-01-01T00:00:00Z", command: date}}`,
				"Memcached": `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a}, spec: {size: 2, memoryLimit: 64Mi, maxConnections: 1024, threads: 4, port: 11211}}`,
			}[written])
			owner.SetAnnotations(annotations)
			rendered, err := kinds.Expand(owner)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range rendered.Objects {
				if got, ok := o.GetAnnotations()[wave]; got != want || ok != isSet {
					t.Errorf("%s of %s %v: wave %q", o.GetKind(), written, annotations, got)
				}
				if err := kinds.HashName(o, owner); err != nil {
					t.Fatal(err)
				}
				if o.GetKind() == "Pod" {
					names[o.GetName()] = true
				}
			}
		}
	}
	if len(names) != 1 {
		t.Errorf("Pods have the names %v, want one", names)
	}
}

// No backup has the Pod of an At, even if its labels ask for one. Its name does not depend on the label.
func TestPodsAreExcludedFromBackup(t *testing.T) {
	kinds := newKinds(t)
	names := map[string]bool{}
	for _, labels := range []map[string]string{nil, {kind.ExcludeFromBackup: "false"}, {kind.ExcludeFromBackup: "true"}} {
		owner := unstructuredOf(t, `{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: a}, spec: {schedule: "2027-01-01T00:00:00Z", command: date}}`)
		owner.SetLabels(labels)
		rendered, err := kinds.Expand(owner)
		if err != nil {
			t.Fatal(err)
		}
		if got := rendered.Objects[0].GetLabels()["velero.io/exclude-from-backup"]; got != "true" {
			t.Errorf("%v: %q", labels, got)
		}
		for range 2 { // with the label, and as earlier versions made it
			pod := rendered.Objects[0].DeepCopy()
			if err := kinds.HashName(pod, owner); err != nil {
				t.Fatal(err)
			}
			names[pod.GetName()] = true
			unstructured.RemoveNestedField(rendered.Objects[0].Object, "metadata", "labels", kind.ExcludeFromBackup)
		}
	}
	if len(names) != 1 {
		t.Errorf("names %v", names)
	}
}
