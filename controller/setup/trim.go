package setup

import (
	"reflect"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
)

// trim returns the fields of an object that kind.Observation describes.
func trim(object client.Object, gvk schema.GroupVersionKind, label string) client.Object {
	meta := trimMeta(object, label)
	if u, ok := object.(*unstructured.Unstructured); ok {
		return trimUnstructured(u, gvk, meta)
	}
	trimmed := NewObject(gvk)
	trimmed.GetObjectKind().SetGroupVersionKind(gvk)
	from := reflect.ValueOf(object).Elem()
	to := reflect.ValueOf(trimmed).Elem()
	to.FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	if spec := to.FieldByName("Spec"); spec.Kind() == reflect.Struct {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from.FieldByName("Spec").Addr().Interface())
		if err == nil { // a decoded spec always converts
			_ = runtime.DefaultUnstructuredConverter.FromUnstructured(scalars(fields), spec.Addr().Interface())
		}
	}
	if pod, ok := object.(*corev1.Pod); ok {
		trimmed.(*corev1.Pod).Status = trimPodStatus(&pod.Status)
	} else if status := to.FieldByName("Status"); status.IsValid() {
		status.Set(from.FieldByName("Status"))
	}
	return trimmed
}

// nameOnly returns an object with only its name and version, as events need them.
func nameOnly(object client.Object, gvk schema.GroupVersionKind) client.Object {
	bare := NewObject(gvk)
	bare.SetNamespace(object.GetNamespace())
	bare.SetName(object.GetName())
	bare.SetUID(object.GetUID())
	bare.SetResourceVersion(object.GetResourceVersion())
	return bare
}

// Identity returns the metadata that identifies an object, its version, and its deletion.
func Identity(m metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         intern(m.GetNamespace()),
		Name:              m.GetName(),
		UID:               m.GetUID(),
		ResourceVersion:   m.GetResourceVersion(),
		Generation:        m.GetGeneration(),
		CreationTimestamp: m.GetCreationTimestamp(),
		DeletionTimestamp: m.GetDeletionTimestamp(),
	}
}

func trimMeta(m metav1.Object, label string) metav1.ObjectMeta {
	trimmed := Identity(m)
	trimmed.Labels = map[string]string{label: m.GetLabels()[label], kind.ManagedByLabel: kind.ManagedBy}
	if digest, ok := m.GetAnnotations()[kind.DigestAnnotation]; ok {
		trimmed.Annotations = map[string]string{kind.DigestAnnotation: digest}
	}
	if maker := metav1.GetControllerOfNoCopy(m); maker != nil {
		trimmed.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: intern(maker.APIVersion), Kind: intern(maker.Kind),
			Name: intern(maker.Name), UID: intern(maker.UID), Controller: isController,
		}}
	}
	return trimmed
}

// isController is shared by all objects, to save memory.
var isController = ptr.To(true)

// trimPodStatus keeps the fields of a Pod's status that kstatus reads, and the reasons why it is
// not ready. There may be thousands of Pods.
func trimPodStatus(status *corev1.PodStatus) corev1.PodStatus {
	trimmed := corev1.PodStatus{
		ObservedGeneration: status.ObservedGeneration,
		Phase:              intern(status.Phase),
		Reason:             intern(status.Reason),
	}
	for _, c := range status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			trimmed.Conditions = append(trimmed.Conditions,
				corev1.PodCondition{Type: intern(c.Type), Status: intern(c.Status), Reason: intern(c.Reason)})
		}
	}
	for _, c := range status.ContainerStatuses {
		if c.State.Running == nil || !c.Ready || c.RestartCount > 0 {
			trimmed.ContainerStatuses = append(trimmed.ContainerStatuses, corev1.ContainerStatus{Name: intern(c.Name),
				Ready: c.Ready, RestartCount: c.RestartCount, State: c.State})
		}
	}
	return trimmed
}

func trimUnstructured(u *unstructured.Unstructured, gvk schema.GroupVersionKind, meta metav1.ObjectMeta) client.Object {
	content := map[string]any{}
	if metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&meta); err == nil {
		// metadata always converts
		content["metadata"] = metadata
	}
	if spec, ok := u.Object["spec"].(map[string]any); ok {
		content["spec"] = scalars(spec)
	}
	if status, ok := u.Object["status"]; ok {
		content["status"] = status
	}
	trimmed := &unstructured.Unstructured{Object: content}
	trimmed.SetGroupVersionKind(gvk)
	return trimmed
}

// scalars returns the fields of a spec that are neither lists nor mappings, and the update strategy,
// which kstatus reads too.
func scalars(spec map[string]any) map[string]any {
	kept := map[string]any{}
	for name, value := range spec {
		switch value := value.(type) {
		case map[string]any, []any:
			if name == "updateStrategy" {
				kept[name] = value
			}
		case string: // usually one of few values
			kept[name] = intern(value)
		default:
			kept[name] = value
		}
	}
	return kept
}

// intern returns a shared copy of a text, since many objects have the same.
func intern[T ~string](text T) T { return unique.Make(text).Value() }
