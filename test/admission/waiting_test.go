package admission_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/expanded"
)

const theController = "system:serviceaccount:gatehouse-system:gatehouse-controller"

// changes has an operation of a JSON patch for each field of a waiting Pod that the API server itself lets
// clients change.
var changes = map[string]string{
	"metadata.annotations":       `{"op":"add","path":"/metadata/annotations/a","value":"b"}`,
	"metadata.labels":            `{"op":"add","path":"/metadata/labels/a","value":"b"}`,
	"metadata.finalizers":        `{"op":"add","path":"/metadata/finalizers","value":["a.example/b"]}`,
	"metadata.generateName":      `{"op":"add","path":"/metadata/generateName","value":"a-"}`,
	"metadata.ownerReferences":   `{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}`,
	"spec.activeDeadlineSeconds": `{"op":"add","path":"/spec/activeDeadlineSeconds","value":1}`,
	"spec.affinity":              `{"op":"add","path":"/spec/affinity","value":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}}`,
	"spec.containers":            `{"op":"replace","path":"/spec/containers/0/image","value":"other"}`,
	"spec.initContainers":        `{"op":"replace","path":"/spec/initContainers/0/image","value":"other"}`,
	"spec.nodeSelector":          `{"op":"add","path":"/spec/nodeSelector","value":{"a":"b"}}`,
	"spec.schedulingGates":       `{"op":"remove","path":"/spec/schedulingGates/0"}`,
	"spec.tolerations":           `{"op":"add","path":"/spec/tolerations/-","value":{"operator":"Exists"}}`,
}

// No client changes a field of a Pod that waits behind its gate, by way of any resource. A twin that is no At's
// shows which changes the API server would make.
func TestNoFieldOfAWaitingPodChanges(t *testing.T) {
	admin, controller := clientOf(t, ""), clientOf(t, theController)
	waiting := waitingPod(t, admin, "fields")
	twin := twinOf(t, admin, waiting)
	changed := map[string]bool{}
	for _, resource := range []string{"", "status", "ephemeralcontainers", "resize"} {
		for field, operation := range operations() {
			patch := client.RawPatch(types.JSONPatchType, []byte("["+operation+"]"))
			after, err := dryRun(t, admin, twin, resource, patch)
			isMade := err == nil && !isSame(twin, after)
			if isMade {
				changed[field] = true
			}
			for who, c := range map[string]client.Client{"an administrator": admin, "the controller": controller} {
				if field == "spec.schedulingGates" && who == "the controller" && resource == "" {
					continue
				}
				after, err := dryRun(t, c, waiting, resource, patch)
				switch {
				case err == nil && !isSame(waiting, after):
					t.Errorf("%s changes %s by pods/%s", who, field, resource)
				case isMade && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'gatehouse-")):
					t.Errorf("%s, %s by pods/%s: %v, want a policy to refuse", who, field, resource, err)
				}
			}
		}
	}
	for field := range changes {
		if !changed[field] {
			t.Errorf("the API server does not let clients change %s", field)
		}
	}
	t.Logf("%d fields, of which the API server lets clients change %s", len(operations()), slices.Sorted(maps.Keys(changed)))
}

// The API server and the controllers of Kubernetes write these.
func TestWrittenFieldsOfAWaitingPodChange(t *testing.T) {
	admin, controller := clientOf(t, ""), clientOf(t, theController)
	waiting := waitingPod(t, admin, "written")
	for operation, c := range map[string]client.Client{
		`{"op":"add","path":"/metadata/annotations/argocd.argoproj.io~1tracking-id","value":"a"}`:                    admin,
		`{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"{}"}`: admin,
		`{"op":"remove","path":"/metadata/annotations/kustomize.toolkit.fluxcd.io~1ssa"}`:                            admin,
		`{"op":"add","path":"/metadata/labels/kustomize.toolkit.fluxcd.io~1name","value":"a"}`:                       admin,
		`{"op":"remove","path":"/metadata/labels/velero.io~1exclude-from-backup"}`:                                   admin,
		`{"op":"remove","path":"/spec/schedulingGates/1"}`:                                                           admin,
		`{"op":"remove","path":"/spec/schedulingGates/0"}`:                                                           controller,
		`{"op":"add","path":"/metadata/annotations/gatehouse.example.com~1held","value":"1"}`:                        controller,
		`{"op":"add","path":"/metadata/managedFields","value":[{}]}`:                                                 admin,
	} {
		if _, err := dryRun(t, c, waiting, "", client.RawPatch(types.JSONPatchType, []byte("["+operation+"]"))); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	scheduled := `[{"op":"add","path":"/status/conditions/0","value":{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}}]`
	if _, err := dryRun(t, admin, waiting, "status", client.RawPatch(types.JSONPatchType, []byte(scheduled))); err != nil {
		t.Error(err)
	}
	for name, patch := range map[string]string{
		"the phase":           `{"status":{"phase":"Succeeded"}}`,
		"the hold of another": `{"metadata":{"annotations":{"gatehouse.example.com/held":"1"}}}`,
		"the manager":         `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
	} {
		if _, err := dryRun(t, admin, waiting, "status", client.RawPatch(types.MergePatchType, []byte(patch))); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want a policy to refuse", name, err)
		}
	}
}

// A Pod that is being deleted loses its finalizers, and keeps its gate.
func TestDeletedWaitingPodLosesFinalizers(t *testing.T) {
	admin := clientOf(t, "")
	waiting := waitingPod(t, admin, "deleted", func(pod *corev1.Pod) { pod.Finalizers = []string{"a.example/b", "a.example/c"} })
	remove := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers/0"}]`))
	if _, err := dryRun(t, admin, waiting, "", remove); !apierrors.IsForbidden(err) {
		t.Errorf("before it is deleted: %v, want a policy to refuse", err)
	}
	if err := admin.Delete(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	gate := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/schedulingGates/0"}]`))
	if _, err := dryRun(t, admin, waiting, "", gate); !apierrors.IsForbidden(err) {
		t.Errorf("the gate: %v, want a policy to refuse", err)
	}
	for range waiting.Finalizers {
		if err := admin.Patch(t.Context(), waiting.DeepCopy(), remove); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(waiting), waiting); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// A Pod with many fields does not exceed the cost limit of a policy.
func TestLargeWaitingPodIsJudged(t *testing.T) {
	admin := clientOf(t, "")
	waiting := waitingPod(t, admin, "large", func(pod *corev1.Pod) {
		for i := range 2000 {
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprint("A", i), Value: strings.Repeat("a", 200)})
			pod.Annotations[fmt.Sprint("a", i)], pod.Labels[fmt.Sprint("a", i)] = strings.Repeat("a", 100), "a"
		}
	})
	tracked := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"a"}}}`))
	for _, c := range []client.Client{admin, clientOf(t, theController)} {
		_, err := dryRun(t, c, waiting, "", tracked)
		if isController := c != admin; isController != apierrors.IsForbidden(err) {
			t.Errorf("by the controller: %t: %v", isController, err)
		}
	}
}

// A Binding makes no Pod an At's, and gives none another digest.
func TestBindingSetsNoIdentity(t *testing.T) {
	admin := clientOf(t, "")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "binding", Name: "a-0123456789"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	createNamespace(t, admin, pod.Namespace)
	if err := admin.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(server.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		meta      metav1.ObjectMeta
		isRefused bool
	}{
		"the label":   {metav1.ObjectMeta{Labels: map[string]string{kindat.Label: "a"}}, true},
		"the digest":  {metav1.ObjectMeta{Annotations: map[string]string{"gatehouse.example.com/digest": "a"}}, true},
		"other names": {metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}}, false},
	} {
		binding := &corev1.Binding{ObjectMeta: test.meta, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
		binding.Namespace, binding.Name = pod.Namespace, pod.Name
		post := clients.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Param("dryRun", metav1.DryRunAll).Body(binding)
		for way, err := range map[string]error{
			"pods/binding": admin.SubResource("binding").Create(t.Context(), pod, binding.DeepCopy(), client.DryRunAll),
			"bindings":     post.Resource("bindings").Do(t.Context()).Error(),
		} {
			if apierrors.IsForbidden(err) != test.isRefused || !test.isRefused && err != nil {
				t.Errorf("%s by %s: %v", name, way, err)
			}
		}
	}
}

// clientOf returns the client of a user in the group of administrators; of the administrator for no user.
func clientOf(t *testing.T, user string) client.Client {
	t.Helper()
	config := rest.CopyConfig(server.Admin)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func createNamespace(t *testing.T, admin client.Client, name string) {
	t.Helper()
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// waitingPod creates the Pod of an At in a new namespace. It has another gate, too, and every field that a client
// can change only if it is there.
func waitingPod(t *testing.T, admin client.Client, namespace string, edits ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	createNamespace(t, admin, namespace)
	at := &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
		Spec:       cnatv1alpha1.AtSpec{Schedule: "2100-01-01T00:00:00Z", Command: "date", Image: "a", RestartPolicy: corev1.RestartPolicyNever},
	}
	pod := expanded.First[corev1.Pod](kindat.Kind, at)
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "other.example/gate"})
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "i"}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	for _, edit := range edits {
		edit(pod)
	}
	if err := admin.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// twinOf creates a copy of a Pod that is no At's.
func twinOf(t *testing.T, admin client.Client, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	twin := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "twin", Annotations: pod.Annotations}, Spec: *pod.Spec.DeepCopy()}
	twin.Labels = map[string]string{"twin": "of"}
	if err := admin.Create(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	return twin
}

// dryRun returns a Pod as a patch of one of its resources would make it.
func dryRun(t *testing.T, c client.Client, pod *corev1.Pod, resource string, patch client.Patch) (*corev1.Pod, error) {
	t.Helper()
	after := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	if resource == "" {
		return after, c.Patch(t.Context(), after, patch, client.DryRunAll)
	}
	return after, c.SubResource(resource).Patch(t.Context(), after, patch, client.DryRunAll)
}

// isSame reports whether two versions of a Pod have the same metadata and spec, but for fields that the API
// server writes.
func isSame(before, after *corev1.Pod) bool {
	before, after = before.DeepCopy(), after.DeepCopy()
	for _, pod := range []*corev1.Pod{before, after} {
		pod.ManagedFields, pod.ResourceVersion, pod.Generation = nil, "", 0
	}
	return equality.Semantic.DeepEqual(before.ObjectMeta, after.ObjectMeta) && equality.Semantic.DeepEqual(before.Spec, after.Spec)
}

// operations returns an operation of a JSON patch for each field of the metadata and the spec of a Pod.
func operations() map[string]string {
	all := map[string]string{}
	for prefix, fields := range map[string]reflect.Type{"metadata": reflect.TypeFor[metav1.ObjectMeta](), "spec": reflect.TypeFor[corev1.PodSpec]()} {
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			field := prefix + "." + name
			all[field] = changes[field]
			if all[field] == "" {
				value, err := json.Marshal(sample(fields.Field(i).Type))
				if err != nil {
					panic(err)
				}
				all[field] = fmt.Sprintf(`{"op":"add","path":"/%s/%s","value":%s}`, prefix, name, value)
			}
		}
	}
	return all
}

// sample returns a value of a type, with the plain fields of structs.
func sample(of reflect.Type) any {
	switch of.Kind() {
	case reflect.Pointer:
		return sample(of.Elem())
	case reflect.Bool:
		return true
	case reflect.String:
		return "other"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return 7
	case reflect.Slice:
		return []any{sample(of.Elem())}
	case reflect.Map:
		return map[string]any{"a": sample(of.Elem())}
	default:
		return sampleStruct(of)
	}
}

func sampleStruct(of reflect.Type) any {
	if of == reflect.TypeFor[metav1.Time]() {
		return "2100-01-01T00:00:00Z"
	}
	fields := map[string]any{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		isPlain := slices.Contains([]reflect.Kind{reflect.String, reflect.Bool, reflect.Int32, reflect.Int64}, of.Field(i).Type.Kind())
		if name != "" && isPlain {
			fields[name] = sample(of.Field(i).Type)
		}
	}
	return fields
}
