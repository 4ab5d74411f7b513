package apiserver

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/core"

	"example.com/gatehouse/kind"
)

// Update returns why kube-apiserver would refuse to change an object into another that the same
// user applies. Both could be created.
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
	return k.kubernetes.errors(Update(k.begin(decoded), strategy, decoded, stored))
}

// applied returns an object as it is stored, and what it becomes: fields that are not applied
// keep the values that the API server gave them.
func (k Kind) applied(before, after map[string]any) (stored, decoded kind.Object, err error) {
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

// merge makes the changes of what is applied to what is live.
func merge(live, before, after map[string]any) {
	for key := range before {
		if _, stays := after[key]; !stays {
			delete(live, key)
		}
	}
	for key, value := range after {
		current, isObject := live[key].(map[string]any)
		if is, ok := value.(map[string]any); ok && isObject {
			was, _ := before[key].(map[string]any)
			merge(current, was, is)
		} else {
			live[key] = value
		}
	}
}

// Update does what each request to update an object does, by the strategy of its kind. Both
// objects have a namespace, if the kind has; the one that is stored has a resourceVersion.
// It is rest.BeforeUpdate, but for the errors, which are as they were found.
func Update(ctx context.Context, strategy rest.RESTUpdateStrategy, decoded, stored kind.Object) field.ErrorList {
	// What the API server gave the object stays.
	decoded.SetUID(stored.GetUID())
	decoded.SetCreationTimestamp(stored.GetCreationTimestamp())
	decoded.SetGeneration(stored.GetGeneration())
	decoded.SetResourceVersion(stored.GetResourceVersion())
	strategy.PrepareForUpdate(ctx, decoded, stored)
	return rest.ValidateUpdate(ctx, decoded, stored, strategy)
}

// keepAllocated leaves a Service the address that it has, where it asks for no other. One
// that it asks for is the first of all of them.
func keepAllocated(decoded, stored runtime.Object) {
	before, ok := stored.(*core.Service)
	if !ok || before.Spec.Type == core.ServiceTypeExternalName {
		return
	}
	after := decoded.(*core.Service)
	switch {
	case after.Spec.Type == core.ServiceTypeExternalName:
	case after.Spec.ClusterIP == "":
		after.Spec.ClusterIP, after.Spec.ClusterIPs = before.Spec.ClusterIP, before.Spec.ClusterIPs
	case slices.Equal(after.Spec.ClusterIPs, before.Spec.ClusterIPs) && after.Spec.ClusterIP != before.Spec.ClusterIP:
		after.Spec.ClusterIPs = []string{after.Spec.ClusterIP}
	}
}

// use gives a stored object the status that it has when a cluster uses it, after which less
// of it may change.
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
