package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/expanded"
)

// Only the controller may remove the gate of an At's Pod. Even an administrator cannot, nor create
// such a Pod without the gate, nor change a gated Pod.
func TestPolicyKeepsTheGate(t *testing.T) {
	w := newWorld(t)
	owner := w.createAt("kept", 1e12)
	for name, change := range map[string]func(*corev1.Pod){
		"without gates": func(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil },
		"another gate":  func(pod *corev1.Pod) { pod.Spec.SchedulingGates[0].Name = "other.example/gate" },
		"without digest": func(pod *corev1.Pod) {
			pod.Annotations = nil
			pod.Spec.SchedulingGates = nil
		},
	} {
		pod := expanded.First[corev1.Pod](kindat.Kind, owner)
		change(pod)
		w.deniedByGatePolicy("create "+name, w.Create(w.ctx, pod))
	}

	pod := w.createGatedTwice(owner, keepLabel)
	image := `{"op":"replace","path":"/spec/containers/0/image","value":"evil"}`
	for name, patch := range map[string]string{
		"gate":       `{"op":"remove","path":"/spec/schedulingGates/0"}`,
		"all gates":  `{"op":"remove","path":"/spec/schedulingGates"}`,
		"image":      image,
		"init image": `{"op":"replace","path":"/spec/initContainers/0/image","value":"evil"}`,
		"label":      `{"op":"replace","path":"/metadata/labels/cnat.programming-kubernetes.info~1at","value":"other"}`,
		"no label":   `{"op":"remove","path":"/metadata/labels/cnat.programming-kubernetes.info~1at"}`,
		"no labels":  `{"op":"remove","path":"/metadata/labels"}`,
		"annotation": `{"op":"add","path":"/metadata/annotations/a","value":"b"}`,
		"digest":     `{"op":"replace","path":"/metadata/annotations/gatehouse.example.com~1digest","value":"other"}`,
		"no digest":  `{"op":"remove","path":"/metadata/annotations"}`,
	} {
		w.deniedByGatePolicy(name, w.jsonPatch(w, pod, patch))
		if strings.Contains(patch, "/metadata/") {
			status := client.RawPatch(types.JSONPatchType, []byte("["+patch+"]"))
			w.deniedByGatePolicy(name+" by way of the status", w.Status().Patch(w.ctx, pod.DeepCopy(), status))
		}
	}
	ephemeral := pod.DeepCopy()
	ephemeral.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "i"}}}
	w.deniedByGatePolicy("an ephemeral container", w.SubResource("ephemeralcontainers").Update(w.ctx, ephemeral))

	w.must(w.jsonPatch(w, pod, `{"op":"add","path":"/metadata/annotations/argocd.argoproj.io~1tracking-id","value":"b"}`))
	w.must(w.jsonPatch(w, pod, `{"op":"remove","path":"/spec/schedulingGates/1"}`))
	w.openGate(pod)
	w.writePodStatus(pod, func(s *corev1.PodStatus) { s.Phase = corev1.PodRunning })
	w.must(w.jsonPatch(w, pod, image)) // after the Pod has started
}

// Gates of other Pods are free to change, and no Pod becomes an At's later.
func TestPolicyLeavesOtherPodsAlone(t *testing.T) {
	w := newWorld(t)
	pod := w.createGatedTwice(w.createAt("kept", 1e12))
	w.must(w.jsonPatch(w, pod, `{"op":"remove","path":"/spec/schedulingGates/0"}`))
	w.must(w.jsonPatch(w, pod, `{"op":"replace","path":"/spec/containers/0/image","value":"other"}`))
	w.deniedByGatePolicy("label", w.jsonPatch(w, pod, `{"op":"add","path":"/metadata/labels/cnat.programming-kubernetes.info~1at","value":"kept"}`))
}

// The controller takes back a recorded start with one annotation. It may change no other.
func TestControllerMayHold(t *testing.T) {
	w := newWorld(t)
	pod := w.createGatedTwice(w.createAt("held", 1e12), keepLabel)
	controller, err := client.New(server.Controller, client.Options{Scheme: w.Scheme()})
	w.must(err)
	hold := func(pod *corev1.Pod, key, version string) error {
		patch := `{"metadata":{"uid":"` + string(pod.UID) + `","resourceVersion":"` + pod.ResourceVersion + `","annotations":{"` + key + `":"` + version + `"}}}`
		return controller.Patch(w.ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	unlabeled := w.createGatedTwice(w.createAt("unlabeled", 1e12)) // of two policies that refuse, either may be named
	w.deniedByPolicy("another annotation", hold(unlabeled, "other.example/a", "b"))
	late, err := at.OpenPatch(pod)
	w.must(err)
	w.must(hold(pod, kind.HeldAnnotation, "1"))
	w.must(hold(pod, kind.HeldAnnotation, "2"))
	if err := controller.Patch(w.ctx, pod.DeepCopy(), late); !apierrors.IsConflict(err) {
		t.Errorf("a request to open that was sent before: %v, want a conflict", err)
	}
	w.openGate(pod)
}

func keepLabel(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, kindat.Label, "kept") }

func (w *world) jsonPatch(c client.Client, pod *corev1.Pod, operation string) error {
	return c.Patch(w.ctx, pod.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte("["+operation+"]")))
}

func (w *world) deniedByGatePolicy(name string, err error) {
	w.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'gatehouse-gates'") {
		w.Errorf("%s: %v, want the policy to refuse", name, err)
	}
}

// openGate removes the gate of a Pod as the controller does.
func (w *world) openGate(pod *corev1.Pod) {
	w.Helper()
	controller, err := client.New(server.Controller, client.Options{Scheme: w.Scheme()})
	w.must(err)
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod))
	patch, err := at.OpenPatch(pod)
	w.must(err)
	w.must(controller.Patch(w.ctx, pod, patch))
}
