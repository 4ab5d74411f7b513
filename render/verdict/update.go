package verdict

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
)

// Update returns the errors of the API server for an update, such as a changed selector. Both objects
// have the same kind, namespace and name. It returns nothing for objects that are refused anyway, for
// unknown kinds and for encrypted objects.
func (c *Checker) Update(before, after manifest.Object) field.ErrorList {
	defer c.kubernetes.Enter()()
	if kind, ok := c.custom[after.GroupVersionKind()]; ok {
		return kind.update(before, after)
	}
	kind, ok := c.lookup(after.GroupVersionKind())
	if !ok {
		return nil
	}
	if manifest.HasErrors(c.checkBuiltin(before)) || manifest.HasErrors(c.checkBuiltin(after)) {
		return nil
	}
	return mostSpecific(kind.Update(before.Object, after.Object))
}

// MayStay reports whether the API server accepts an update that leaves an invalid object as it is, by
// ratcheting validation. It knows built-in kinds.
func (c *Checker) MayStay(o manifest.Object) bool {
	defer c.kubernetes.Enter()()
	kind, ok := c.lookup(o.GroupVersionKind())
	return ok && len(kind.Update(o.Object, o.Object)) == 0
}

// Stored returns objects as the API server stores them, without the UID and time of their creation; nil for
// an object that it cannot decode.
func (c *Checker) Stored(objects []manifest.Object) []*unstructured.Unstructured {
	defer c.kubernetes.Enter()()
	all := make([]*unstructured.Unstructured, len(objects))
	parallel.For(len(objects), func(i int) {
		stored, err := (&admitter{Checker: c}).Admit(objects[i])
		if custom, ok := c.custom[objects[i].GroupVersionKind()]; ok {
			defaulting.Default(stored.Object, custom.compiled().structural)
		} else if builtin, ok := c.lookup(objects[i].GroupVersionKind()); ok && err == nil {
			stored, err = builtin.Stored(stored.Object)
		}
		if err != nil {
			return
		}
		stored.SetUID("")
		unstructured.RemoveNestedField(stored.Object, "metadata", "creationTimestamp")
		all[i] = stored
	})
	return all
}

// update returns the errors of an update. Rules may compare both objects.
func (k *customKind) update(before, after manifest.Object) field.ErrorList {
	strategy, ok := k.compiled().strategy.(rest.RESTUpdateStrategy)
	if !ok || before.GetAPIVersion() != after.GetAPIVersion() { // a webhook may convert them
		return nil
	}
	defaultedBefore, _ := k.defaulted(before)
	defaultedAfter, problems := k.defaulted(after)
	if len(k.hugeQuantities(defaultedBefore)) > 0 || len(k.hugeQuantities(defaultedAfter)) > 0 {
		return nil
	}
	stored, decoded := k.created(defaultedBefore), k.created(defaultedAfter)
	if len(problems) > 0 || len(k.validate(decoded)) > 0 {
		return nil
	}
	stored.SetResourceVersion("1")
	return apiserver.Update(context.Background(), strategy, decoded, stored)
}
