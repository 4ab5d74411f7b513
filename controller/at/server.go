package at

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
)

// Server reads and writes Ats and their Pods. Each write is a conflict unless the API server holds
// the given version of the object, and an error unless its answer shows the change. Requests end
// after setup.RequestTimeout, those of patient after setup.PatientTimeout.
type Server struct {
	client  client.Client
	patient client.Writer
	live    client.Reader // does not cache

	// children returns the rendered objects of a type and an At from the cache: Pods are TrimmedPods.
	children func(context.Context, schema.GroupVersionKind, client.ObjectKey) ([]kind.Object, error)
	// together returns the number of Ats in the cache that have not started and are due in the same
	// second as an At.
	together func(*TrimmedAt) int
}

// errIgnored reports a write that succeeded and changed nothing: admission undid it.
var errIgnored = errors.New("the API server accepted the request and did not make the change, as if a mutating " +
	"webhook or policy had undone it")

// Pods lists the Pods of an At from the cache.
func (s *Server) Pods(ctx context.Context, at types.NamespacedName) (pods []*TrimmedPod, err error) {
	children, err := s.children(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), at)
	for _, child := range children {
		pods = append(pods, child.(*TrimmedPod))
	}
	return pods, err
}

// UnseenPods lists the Pods of an At that the cache does not hold: like the At, they have a manager
// other than Gatehouse.
func (s *Server) UnseenPods(ctx context.Context, at *TrimmedAt) (pods []*TrimmedPod, err error) {
	var list corev1.PodList
	err = s.live.List(ctx, &list, client.InNamespace(at.Namespace),
		client.MatchingLabels{kindat.Label: at.Name, kind.ManagedByLabel: at.Labels[kind.ManagedByLabel]})
	for i := range list.Items {
		pods = append(pods, trimPod(&list.Items[i]))
	}
	return pods, err
}

// Pod reads a Pod from the API server.
func (s *Server) Pod(ctx context.Context, key types.NamespacedName) (*TrimmedPod, error) {
	var pod corev1.Pod
	err := s.live.Get(ctx, key, &pod)
	return trimPod(&pod), err
}

// Version reads the resourceVersion of an At from the API server's watch cache, which is much cheaper
// than etcd and no older than the given At. It is empty if the At is gone or was created again.
func (s *Server) Version(ctx context.Context, at *TrimmedAt) (string, error) {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(kindat.Kind.GVK())
	notOlder := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: at.ResourceVersion}}
	err := s.live.Get(ctx, client.ObjectKeyFromObject(at), current, notOlder)
	if err != nil || current.UID != at.UID {
		return "", client.IgnoreNotFound(err)
	}
	return current.ResourceVersion, nil
}

// Open removes the gate of a Pod of an At, and nothing else.
func (s *Server) Open(ctx context.Context, at *TrimmedAt, pod *TrimmedPod) error {
	patch, err := OpenPatch(pod)
	if err != nil {
		return err
	}
	answer, err := s.patchPod(ctx, at, pod, patch)
	if err == nil && trimPod(answer).isGated() {
		return errIgnored
	}
	return err
}

// patchPod patches a Pod of the cache, which stays as it is, and returns the patched one. After a refusal,
// which may be a timeout, it is patient.
func (s *Server) patchPod(
	ctx context.Context, at *TrimmedAt, pod *TrimmedPod, patch client.Patch,
) (*corev1.Pod, error) {
	var writer client.Writer = s.client
	if condition.FindReady(at.Status.Conditions).Reason == ReasonOpenRefused {
		writer = s.patient
	}
	answer := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err := writer.Patch(ctx, answer, patch, status.FieldOwner)
	return answer, err
}

// OpenPatch returns the patch that removes the gate of a Pod. It is a conflict unless the server
// holds the given version of the Pod.
func OpenPatch(pod metav1.Object) (client.Patch, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.GetUID(), "resourceVersion": pod.GetResourceVersion()},
		"spec": map[string]any{"schedulingGates": []any{
			map[string]any{"$patch": "delete", "name": kindat.Gate},
		}},
	})
	return client.RawPatch(types.StrategicMergePatchType, patch), err
}

// Hold gives a Pod another resourceVersion, so that every in-flight request to open it conflicts. It
// annotates the Pod with the version of the At whose recorded start is taken back.
func (s *Server) Hold(ctx context.Context, at *TrimmedAt, pod *TrimmedPod) error {
	version := at.ResourceVersion
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"annotations": map[string]string{kind.HeldAnnotation: version},
	}})
	if err != nil {
		return err
	}
	answer, err := s.patchPod(ctx, at, pod, client.RawPatch(types.MergePatchType, patch))
	if err == nil && answer.Annotations[kind.HeldAnnotation] != version {
		return errIgnored
	}
	return err
}

// Apply writes the status of an At, and returns the At with the status that the API server stored. Server-side
// apply keeps fields of other field managers, so a second write removes those that the status lacks.
func (s *Server) Apply(ctx context.Context, at *TrimmedAt, next cnatv1alpha1.AtStatus) (*TrimmedAt, error) {
	content, err := status.Content(next)
	if err != nil {
		return nil, err
	}
	stored, err := status.Apply(ctx, s.client, kindat.Kind.GVK(), at, content)
	if err != nil {
		return nil, err
	}
	kept, _, err := unstructured.NestedMap(stored.Object, "status")
	if err != nil {
		return nil, fmt.Errorf("read the stored status: %w", err)
	}
	if foreign := nulls(kept, content); len(foreign) > 0 {
		if stored, err = status.Merge(ctx, s.client, kindat.Kind.GVK(), stored, foreign); err != nil {
			return nil, err
		}
	}
	applied := *at
	applied.ResourceVersion = stored.GetResourceVersion()
	applied.Status = cnatv1alpha1.AtStatus{}
	answer, _, err := unstructured.NestedMap(stored.Object, "status")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(answer, &applied.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("decode the stored status: %w", err)
	}
	return &applied, nil
}

// nulls returns the merge patch that removes the fields of an object that another object lacks. It leaves lists
// alone.
func nulls(object, other map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range object {
		kept, isKept := other[name]
		fields, isObject := value.(map[string]any)
		keptFields, _ := kept.(map[string]any)
		switch {
		case !isKept:
			patch[name] = nil
		case isObject:
			if deeper := nulls(fields, keptFields); len(deeper) > 0 {
				patch[name] = deeper
			}
		}
	}
	return patch
}
