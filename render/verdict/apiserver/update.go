package apiserver

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"

	"example.com/gatehouse/kind"
)

// Update returns the errors of kube-apiserver for an update, if the user who applied one object applies
// another. Both are valid.
func (k Kind) Update(before, after map[string]any) (errs field.ErrorList) {
	strategy, ok := k.strategy.(rest.RESTUpdateStrategy)
	if !ok {
		return nil
	}
	defer k.kubernetes.recoverAsError(&errs)
	stored, decoded, err := k.applied(before, after)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return k.kubernetes.errors(Update(k.begin(decoded), strategy, k.kubernetes.WithoutFormats(decoded),
		k.kubernetes.WithoutFormats(stored)))
}

// Updated returns the stored object after an update as Update judges it.
func (k Kind) Updated(before, after map[string]any) (*unstructured.Unstructured, error) {
	_, decoded, err := k.applied(before, after)
	if err != nil {
		return nil, err
	}
	return k.encode(decoded)
}

// applied returns the stored object and its update. Fields that the user does not apply keep the values
// of the API server.
func (k Kind) applied(before, after map[string]any) (stored, decoded kind.Object, err error) {
	if before, err = k.converted(before); err != nil {
		return nil, nil, err
	}
	live, err := k.Admitted(before)
	if err != nil {
		return nil, nil, err
	}
	live.SetResourceVersion("1")
	if stored, err = k.Decode(live.Object); err != nil {
		return nil, nil, err
	}
	merge(live.Object, before, after)
	if decoded, err = k.Decode(live.Object); err != nil {
		return nil, nil, err
	}
	keepAllocated(decoded, stored)
	k.complete(decoded)
	use(stored)
	return stored, decoded, nil
}

// converted returns an object of another version of the kind in its own version, without defaults.
func (k Kind) converted(content map[string]any) (map[string]any, error) {
	written := unstructured.Unstructured{Object: content}
	if written.GroupVersionKind() == k.GroupVersionKind {
		return content, nil
	}
	typed, err := legacyscheme.Scheme.New(k.GroupVersionKind)
	if err == nil {
		err = convertor{legacyscheme.Scheme}.Convert(&written, typed, nil)
	}
	if err != nil {
		return nil, err
	}
	typed.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
}

// merge applies the difference between two objects to the live one.
func merge(live, before, after map[string]any) {
	for key := range before {
		if _, stays := after[key]; !stays {
			delete(live, key)
		}
	}
	for key, value := range after {
		current, isObject := live[key].(map[string]any)
		if changed, ok := value.(map[string]any); ok && isObject {
			original, _ := before[key].(map[string]any)
			merge(current, original, changed)
		} else {
			live[key] = value
		}
	}
}

// Update updates an object by the strategy of its kind. It is rest.BeforeUpdate without the conversion
// of errors. Objects of namespaced kinds need a namespace, and the stored object a resourceVersion.
func Update(ctx context.Context, strategy rest.RESTUpdateStrategy, decoded, stored kind.Object) field.ErrorList {
	// The API server sets these.
	decoded.SetUID(stored.GetUID())
	decoded.SetCreationTimestamp(stored.GetCreationTimestamp())
	decoded.SetGeneration(stored.GetGeneration())
	decoded.SetResourceVersion(stored.GetResourceVersion())
	strategy.PrepareForUpdate(ctx, decoded, stored)
	return rest.ValidateUpdate(ctx, decoded, stored, strategy)
}

// keepAllocated keeps the addresses and ports of a Service that asks for no others. An address that it asks for
// becomes the first one.
func keepAllocated(decoded, stored runtime.Object) {
	before, ok := stored.(*core.Service)
	if !ok || before.Spec.Type == core.ServiceTypeExternalName {
		return
	}
	after := decoded.(*core.Service)
	switch {
	case after.Spec.Type == core.ServiceTypeExternalName:
		return
	case after.Spec.ClusterIP == "":
		after.Spec.ClusterIP = before.Spec.ClusterIP
		after.Spec.ClusterIPs = before.Spec.ClusterIPs
	case slices.Equal(after.Spec.ClusterIPs, before.Spec.ClusterIPs) && after.Spec.ClusterIP != before.Spec.ClusterIP:
		after.Spec.ClusterIPs = []string{after.Spec.ClusterIP}
	}
	after.Spec.IPFamilyPolicy = cmp.Or(after.Spec.IPFamilyPolicy, before.Spec.IPFamilyPolicy)
	if len(after.Spec.IPFamilies) == 0 && slices.Equal(after.Spec.ClusterIPs, before.Spec.ClusterIPs) {
		after.Spec.IPFamilies = before.Spec.IPFamilies
	}
	keepPorts(&after.Spec, &before.Spec)
}

// keepPorts keeps the node ports of a Service by the names of its ports, unless another port asks for one.
func keepPorts(after, before *core.ServiceSpec) {
	hasPorts := func(s *core.ServiceSpec) bool {
		return s.Type == core.ServiceTypeNodePort || s.Type == core.ServiceTypeLoadBalancer
	}
	if !hasPorts(after) || !hasPorts(before) {
		return
	}
	known := map[string]int32{}
	asked := map[int32]bool{}
	for _, port := range before.Ports {
		known[port.Name] = port.NodePort
	}
	for _, port := range after.Ports {
		asked[port.NodePort] = true
	}
	for i, port := range after.Ports {
		if old := known[port.Name]; port.NodePort == 0 && !asked[old] {
			after.Ports[i].NodePort = old
		}
	}
	if before.ExternalTrafficPolicy == after.ExternalTrafficPolicy {
		after.HealthCheckNodePort = cmp.Or(after.HealthCheckNodePort, before.HealthCheckNodePort)
	}
}

// use sets the status of an object that is in use: less of it may change.
func use(stored runtime.Object) {
	switch object := stored.(type) {
	case *core.PersistentVolumeClaim:
		object.Status.Phase = core.ClaimBound
		object.Status.Capacity = object.Spec.Resources.Requests.DeepCopy()
	case *apiextensions.CustomResourceDefinition:
		object.Status.Conditions = append(object.Status.Conditions, apiextensions.CustomResourceDefinitionCondition{
			Type: apiextensions.Established, Status: apiextensions.ConditionTrue,
		})
	}
}
