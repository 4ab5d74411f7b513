//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// Flux waits for syncTimeout until prod is healthy. One command runs for longer.
const (
	syncTimeout = time.Minute
	longRun     = syncTimeout + 15*time.Second
)

// TestFluxSyncsTwoEnvironments has a real Flux sync two environments to an empty cluster, from the first
// commit until both are deleted. The command in E2E_FLUX gets the folder of a git checkout after
// each commit, and makes it GitRepository flux-system/repo. The command in E2E_LOAD_IMAGE gets an
// archive, and loads its image into the nodes.
func TestFluxSyncsTwoEnvironments(t *testing.T) {
	f := newFlux(t)
	tomorrow, past := time.Now().Add(24*time.Hour), time.Now().Add(-time.Hour)
	f.ats = map[string]job{
		"pending":  {due: tomorrow, command: "echo pending"},
		"edited":   {due: tomorrow, command: "echo before"},
		"removed":  {due: tomorrow, command: "echo removed"},
		"reverted": {due: past, command: "echo first"},
		"fails":    {due: past, command: "exit 3"},
		"missed":   {due: past, command: "echo missed", extra: "startingDeadlineSeconds: 60"},
		"long":     {due: past, command: fmt.Sprintf("sleep %.0f", longRun.Seconds())},
	}
	f.commit()
	f.readKustomizations()
	f.emptyCluster()
	prodFailures, teamFailures := f.watchFailures("prod"), f.watchFailures("team")

	f.step("one sync brings all to an empty cluster", func() {
		f.applyKustomizations()
		f.awaitRevision("prod")
		f.awaitReason("shop", "long", at.ReasonRunning)
		f.awaitReason("shop", "pending", at.ReasonArmed)
		f.awaitReason("shop", "fails", at.ReasonCommandFailed)
		f.awaitReason("shop", "missed", at.ReasonDeadlineMissed)
		f.awaitReason("shop", "reverted", at.ReasonComplete)
		f.awaitReason("shop", "long", at.ReasonRunning)
	})
	f.step("the other environment follows", func() {
		f.awaitRevision("team")
		f.awaitReason("team", "waits", at.ReasonArmed)
	})

	edited, removed, reverted := f.podOf("edited"), f.podOf("removed"), f.podOf("reverted")
	f.step("a commit edits, removes and adds Ats", func() {
		delete(f.ats, "removed")
		f.ats["edited"] = job{due: tomorrow, command: "echo after"}
		f.ats["reverted"] = job{due: past, command: "echo second"}
		f.ats["opens"] = job{due: time.Now().Add(15 * time.Second), command: "echo opens"}
		f.commit()
		f.awaitRevision("prod")
		f.isGone(&cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "removed"}})
		for _, pod := range []*corev1.Pod{edited, removed, reverted} {
			f.isGone(pod)
		}
		f.awaitReason("shop", "edited", at.ReasonArmed)
		f.awaitReason("shop", "reverted", at.ReasonComplete)
		f.awaitReason("shop", "opens", at.ReasonComplete)
	})

	f.step("a spec that ran comes back", func() {
		f.ats["reverted"] = job{due: past, command: "echo first"}
		f.commit()
		f.awaitRevision("prod")
		f.awaitReason("shop", "reverted", at.ReasonAlreadyRan)
		f.isGated(f.podOf("reverted"))
	})

	opened := f.podOf("opens")
	f.step("a later sync leaves started Pods alone", func() {
		f.sync("prod")
		if now := f.podOf("opens"); now.UID != opened.UID {
			t.Errorf("Pod %s was replaced", opened.Name)
		}
	})

	f.step("a Pod that is deleted after its run comes back behind its gate", func() {
		must(t, f.Delete(t.Context(), opened))
		f.isGone(opened)
		f.sync("prod")
		f.isGated(f.podOf("opens"))
		f.awaitReason("shop", "opens", at.ReasonComplete)
	})

	f.step("drift is corrected", func() {
		f.drift()
		f.sync("prod")
		f.isCorrected()
		f.awaitReason("shop", "pending", at.ReasonArmed)
		f.readyMemcached("sessions", "")
	})

	isCalm(t, teamFailures())
	release := f.terminate("team")
	f.request("team")

	pending := f.podOf("pending")
	f.step("an At is edited after many syncs", func() {
		f.ats["pending"] = job{due: tomorrow, command: "echo other"}
		f.commit()
		f.awaitRevision("prod")
		f.awaitReason("shop", "pending", at.ReasonArmed)
		if f.podOf("pending").Name == pending.Name {
			t.Errorf("Pod %s is still that of its At", pending.Name)
		}
		f.isGone(pending)
	})

	f.step("nothing that ended runs again, and the long command ends", func() {
		f.awaitReason("shop", "long", at.ReasonComplete)
		f.sync("prod")
		f.isGated(f.podOf("opens"))
		f.isGated(f.podOf("reverted"))
		f.awaitReason("shop", "fails", at.ReasonCommandFailed)
		f.awaitReason("shop", "missed", at.ReasonDeadlineMissed)
		for _, name := range []string{"fails", "missed"} {
			if ended := f.at("shop", name); !meta.IsStatusConditionTrue(ended.Status.Conditions, at.Failed) {
				t.Errorf("At %s is not Failed: %+v", name, ended.Status.Conditions)
			}
		}
	})
	f.step("the namespace that terminated during a sync comes back", func() {
		release()
		f.eventually("Flux notices", 2*time.Minute, func(context.Context) error {
			if len(teamFailures()) == 0 {
				return errors.New("it has not")
			}
			return nil
		})
		f.awaitRevision("team")
		f.awaitReason("team", "waits", at.ReasonArmed)
	})
	isCalm(t, prodFailures())

	f.step("nothing is left of deleted environments", func() {
		f.deleteKustomizations()
		for _, name := range []string{"shop", "team", "gatehouse-system"} {
			f.isGone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	})
}

// isCalm checks that no environment failed.
func isCalm(t *testing.T, failures []string) {
	t.Helper()
	for _, failure := range failures {
		t.Errorf("Flux reports a failure of a healthy environment: %s", failure)
	}
}

// drift edits the cluster by hand.
func (f *flux) drift() {
	f.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	must(f, f.SubResource("scale").Update(f.Context(), sessions(), client.WithSubResourceBody(scale)))
	edit := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"other"}},"spec":{"command":"echo by hand"}}`))
	must(f, f.Patch(f.Context(), f.at("shop", "pending"), edit, client.FieldOwner("kubectl-edit")))
	f.awaitReason("shop", "pending", at.ReasonRenderingStale)
}

// isCorrected checks that Flux reverted the drift.
func (f *flux) isCorrected() {
	f.Helper()
	deployment := sessions()
	must(f, f.Get(f.Context(), client.ObjectKeyFromObject(deployment), deployment))
	if got := *deployment.Spec.Replicas; got != 1 {
		f.Errorf("the Deployment asks for %d Pods", got)
	}
	if at := f.at("shop", "pending"); at.Labels["team"] != "shop" || at.Spec.Command != "echo pending" {
		f.Errorf("the At has labels %v and command %q", at.Labels, at.Spec.Command)
	}
}

func sessions() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"}}
}

// at returns an At of the cluster.
func (f *flux) at(namespace, name string) *cnatv1alpha1.At {
	f.Helper()
	at := &cnatv1alpha1.At{}
	must(f, f.Get(f.Context(), client.ObjectKey{Namespace: namespace, Name: name}, at))
	return at
}

// podOf returns the Pod in the cluster that was rendered from an At.
func (f *flux) podOf(name string) *corev1.Pod {
	f.Helper()
	var pods corev1.PodList
	must(f, f.List(f.Context(), &pods, client.InNamespace("shop"), client.MatchingLabels{kindat.Label: name}))
	digest := kindat.Digest(f.at("shop", name).Spec)
	i := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Annotations[kind.DigestAnnotation] == digest })
	if i < 0 {
		f.Fatalf("none of %d Pods of At %s was rendered from its spec", len(pods.Items), name)
	}
	return &pods.Items[i]
}

// isGated checks that the gate of a Pod is closed.
func (f *flux) isGated(pod *corev1.Pod) {
	f.Helper()
	must(f, f.Get(f.Context(), client.ObjectKeyFromObject(pod), pod))
	if len(pod.Spec.SchedulingGates) == 0 || pod.DeletionTimestamp != nil {
		f.Errorf("Pod %s does not wait behind its gate", pod.Name)
	}
}

// isGone waits until an object is gone.
func (f *flux) isGone(object client.Object) {
	f.Helper()
	f.eventually(object.GetName()+" is gone", time.Minute, func(ctx context.Context) error {
		err := f.Get(ctx, client.ObjectKeyFromObject(object), object)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return cmp.Or(err, errors.New("it is there"))
	})
}

// terminate deletes a namespace, which stays in deletion until the returned function is called.
func (f *flux) terminate(name string) (release func()) {
	f.Helper()
	holder := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "holder", Finalizers: []string{"example.com/hold"}}}
	must(f, f.Create(f.Context(), holder))
	must(f, f.Delete(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	return func() {
		f.Helper()
		must(f, f.Patch(f.Context(), holder, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	}
}
