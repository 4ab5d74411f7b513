package controller_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/expanded"
)

// The API server refuses all changes beside the gate: here by the controller's RBAC, and in
// TestPolicyHoldsDespiteFullRBAC by the policy alone.
func TestControllerMayOnlyOpenGates(t *testing.T) {
	w := newWorld(t)
	at := w.createAt("held", 1e12)
	pod := w.createGatedTwice(at)
	controller, err := client.New(server.Controller, client.Options{Scheme: w.Scheme()})
	w.must(err)
	w.refusesAllButTheGate(controller, pod)

	at.Spec.Command = "echo other"
	at.ManagedFields = nil
	for name, err := range map[string]error{
		"create a Pod":   controller.Create(w.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "mine"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}),
		"delete a Pod":   controller.Delete(w.ctx, pod),
		"update a Pod":   controller.Update(w.ctx, pod),
		"edit an At":     controller.Update(w.ctx, at),
		"patch an At":    controller.Patch(w.ctx, at, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))),
		"delete an At":   controller.Delete(w.ctx, at),
		"read a Secret":  controller.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "s"}, &corev1.Secret{}),
		"list the nodes": controller.List(w.ctx, &corev1.NodeList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want Forbidden", name, err)
		}
	}
}

// Even with every right in RBAC, the policy refuses the same changes.
func TestPolicyHoldsDespiteFullRBAC(t *testing.T) {
	w := newWorld(t)
	pod := w.createGatedTwice(w.createAt("held", 1e12))
	controller := w.impersonate("system:serviceaccount:gatehouse-system:gatehouse-controller")
	w.refusesAllButTheGate(controller, pod)

	mine := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "mine"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	ephemeral := pod.DeepCopy()
	ephemeral.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "i"}}}
	for name, err := range map[string]error{
		"create":               controller.Create(w.ctx, mine),
		"delete":               controller.Delete(w.ctx, pod),
		"bind":                 controller.SubResource("binding").Create(w.ctx, pod, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}),
		"write the status":     controller.Status().Patch(w.ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`))),
		"add an ephemeral one": controller.SubResource("ephemeralcontainers").Update(w.ctx, ephemeral),
	} {
		w.deniedByPolicy(name, err)
	}
}

// The controller may write one annotation of an At's Pod, and otherwise send only a
// resourceVersion.
func TestPolicyBoundsTheHeldAnnotation(t *testing.T) {
	w := newWorld(t)
	pod := w.syncPod(w.createAt("held", 1e12))
	controller, err := client.New(server.Controller, client.Options{Scheme: w.Scheme()})
	w.must(err)
	for value, isAllowed := range map[string]bool{"12345": true, "": false, "now": false, strings.Repeat("1", 21): false} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"gatehouse.example.com/held":"`+value+`"}}}`))
		err := controller.Patch(w.ctx, pod.DeepCopy(), patch)
		if isAllowed {
			w.must(err)
			continue
		}
		w.deniedByPolicy(value, err)
	}
}

// refusesAllButTheGate tries every change of a gated Pod that the API server allows an
// administrator. Each is tried alone and together with the one allowed change, which comes last.
func (w *world) refusesAllButTheGate(controller client.Client, pod *corev1.Pod) {
	w.Helper()
	const gate = `{"op":"remove","path":"/spec/schedulingGates/0"}`
	for name, change := range map[string]string{
		"image":           `{"op":"replace","path":"/spec/containers/0/image","value":"evil"}`,
		"init image":      `{"op":"replace","path":"/spec/initContainers/0/image","value":"evil"}`,
		"label":           `{"op":"add","path":"/metadata/labels/a","value":"b"}`,
		"annotation":      `{"op":"add","path":"/metadata/annotations/a","value":"b"}`,
		"lost annotation": `{"op":"remove","path":"/metadata/annotations"}`,
		"finalizer":       `{"op":"add","path":"/metadata/finalizers","value":["a.example/b"]}`,
		"owner":           `{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}`,
		"deadline":        `{"op":"add","path":"/spec/activeDeadlineSeconds","value":1}`,
		"toleration":      `{"op":"add","path":"/spec/tolerations/-","value":{"operator":"Exists"}}`,
		"node selector":   `{"op":"add","path":"/spec/nodeSelector","value":{"a":"b"}}`,
		"affinity":        `{"op":"add","path":"/spec/affinity","value":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}}`,
		"held":            `{"op":"add","path":"/metadata/annotations/gatehouse.example.com~1held","value":"1"}`, // the Pod is not an At's
		"managers":        `{"op":"replace","path":"/metadata/managedFields","value":[{}]}`,
		"the other gate":  `{"op":"remove","path":"/spec/schedulingGates/0"}`, // after the first is removed
	} {
		alone := "[" + change + "]"
		if name == "the other gate" {
			alone = `[{"op":"remove","path":"/spec/schedulingGates/1"}]`
		}
		for _, patch := range []string{alone, "[" + gate + "," + change + "]"} {
			jsonPatch := client.RawPatch(types.JSONPatchType, []byte(patch))
			w.deniedByPolicy(patch, controller.Patch(w.ctx, pod.DeepCopy(), jsonPatch))
			// A case counts only if an administrator may make the change.
			if err := w.Patch(w.ctx, pod.DeepCopy(), jsonPatch, client.DryRunAll); err != nil {
				w.Errorf("%s: the administrator: %v", patch, err)
			}
		}
	}
	// A command is immutable for every user.
	command := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/containers/0/command","value":["evil"]}]`))
	if err := controller.Patch(w.ctx, pod.DeepCopy(), command); err == nil {
		w.Error("the command changed")
	}
	// The patch does not open another Pod of the same name, created after the first was deleted.
	// The controller gets the cause.
	for metadata, is := range map[string]func(error) bool{
		`{"uid":"00000000-0000-0000-0000-000000000000"}`:                       apierrors.IsInvalid,
		`{"uid":"00000000-0000-0000-0000-000000000000","resourceVersion":"1"}`: apierrors.IsConflict,
	} {
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"metadata":`+metadata+`,"spec":{"schedulingGates":[{"$patch":"delete","name":"`+kindat.Gate+`"}]}}`))
		if err := controller.Patch(w.ctx, pod.DeepCopy(), patch); !is(err) {
			w.Errorf("%s: %v", metadata, err)
		}
	}
	if err := controller.Patch(w.ctx, pod.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte("["+gate+"]")), client.DryRunAll); err != nil {
		w.Errorf("the gate: %v", err)
	}
}

func (w *world) deniedByPolicy(name string, err error) {
	w.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'gatehouse-controller'") {
		w.Errorf("%s: %v, want the policy to refuse", name, err)
	}
}

// createGatedTwice creates the Pod of an At with another gate, a toleration and an init container.
func (w *world) createGatedTwice(at *cnatv1alpha1.At, changes ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := expanded.First[corev1.Pod](kindat.Kind, at)
	delete(pod.Labels, kindat.Label) // another policy protects gated Pods of Ats
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "other.example/gate"})
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "i"}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	for _, change := range changes {
		change(pod)
	}
	w.must(w.Create(w.ctx, pod))
	return pod
}

// impersonate returns a client of a user in the group of administrators.
func (w *world) impersonate(user string) client.Client {
	w.Helper()
	cfg := *server.Admin
	cfg.Impersonate.UserName = user
	cfg.Impersonate.Groups = []string{"system:masters"}
	c, err := client.New(&cfg, client.Options{Scheme: w.Scheme()})
	w.must(err)
	return c
}

// denyGates adds a policy that refuses to open gates in this namespace.
func (w *world) denyGates() {
	w.Helper()
	clients, err := kubernetes.NewForConfig(server.Admin)
	w.must(err)
	_, err = clients.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(w.ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "request.namespace != '" + w.namespace + "'"}},
		},
	}, metav1.CreateOptions{})
	w.must(err)
	_, err = clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(w.ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: w.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) allowGates() {
	w.Helper()
	clients, err := kubernetes.NewForConfig(server.Admin)
	w.must(err)
	w.must(clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(w.ctx, w.namespace, metav1.DeleteOptions{}))
	w.must(clients.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(w.ctx, w.namespace, metav1.DeleteOptions{}))
}
