package at

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// Server is what a Reconciler asks of the API server. Its errors are those of the
// API server: each write is a conflict unless the server holds the very version
// of the object that it is given.
type Server struct {
	client   client.Client
	rendered setup.Rendered // the cache of what is rendered from Ats
	live     client.Reader  // which does not cache

	// together returns how many Ats that have not started the cache holds which are due in the
	// same second as one.
	together func(*cnatv1alpha1.At) int
}

// Pods lists the Pods of an At from the cache. They must not be changed.
func (s *Server) Pods(ctx context.Context, at types.NamespacedName) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := s.rendered.List(ctx, &pods, at)
	return pods.Items, err
}

// UnseenPods lists the Pods of an At that the cache does not hold, as they say that
// they are managed by what the At says.
func (s *Server) UnseenPods(ctx context.Context, at *cnatv1alpha1.At) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := s.live.List(ctx, &pods, client.InNamespace(at.Namespace),
		client.MatchingLabels{kindat.Label: at.Name, kind.ManagedByLabel: at.Labels[kind.ManagedByLabel]})
	return pods.Items, err
}

// Pod reads a Pod from the API server itself.
func (s *Server) Pod(ctx context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := s.live.Get(ctx, key, &pod)
	return &pod, err
}

// Version returns the resourceVersion that an At has at the API server itself; empty
// where the At is gone, or is another one of that name.
func (s *Server) Version(ctx context.Context, at *cnatv1alpha1.At) (string, error) {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(kindat.Kind.GVK())
	err := s.live.Get(ctx, client.ObjectKeyFromObject(at), current)
	if err != nil || current.UID != at.UID {
		return "", client.IgnoreNotFound(err)
	}
	return current.ResourceVersion, nil
}

// Open removes the gate of a Pod, and nothing else.
func (s *Server) Open(ctx context.Context, pod *corev1.Pod) error {
	patch, err := OpenPatch(pod)
	if err != nil {
		return err
	}
	return s.patchPod(ctx, pod, patch)
}

// patchPod patches a Pod of the cache, which stays as it is: the answer is read into another.
func (s *Server) patchPod(ctx context.Context, pod *corev1.Pod, patch client.Patch) error {
	target := &corev1.Pod{}
	target.Namespace, target.Name = pod.Namespace, pod.Name
	return s.client.Patch(ctx, target, patch, status.FieldOwner)
}

// OpenPatch returns the patch that removes the gate of a Pod. It is a conflict unless the
// server holds the very version of the Pod that it is given.
func OpenPatch(pod *corev1.Pod) (client.Patch, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"spec": map[string]any{"schedulingGates": []any{
			map[string]any{"$patch": "delete", "name": kindat.Gate},
		}},
	})
	return client.RawPatch(types.StrategicMergePatchType, patch), err
}

// Hold gives a Pod another resourceVersion, by an annotation with the version of the
// At whose record is taken back, so that no request to open it that was sent before
// can succeed.
func (s *Server) Hold(ctx context.Context, pod *corev1.Pod, version string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"annotations": map[string]string{kind.HeldAnnotation: version},
	}})
	if err != nil {
		return err
	}
	return s.patchPod(ctx, pod, client.RawPatch(types.MergePatchType, patch))
}

// Apply makes a status that of an At, and returns the At that has it.
func (s *Server) Apply(ctx context.Context, at *cnatv1alpha1.At, next cnatv1alpha1.AtStatus) (*cnatv1alpha1.At, error) {
	content, err := status.Content(next)
	if err != nil {
		return nil, err
	}
	version, err := status.Apply(ctx, s.client, kindat.Kind.GVK(), at, content)
	if err != nil {
		return nil, err
	}
	applied := at.DeepCopy()
	applied.ResourceVersion, applied.Status = version, next
	return applied, nil
}
