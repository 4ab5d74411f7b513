package verdict

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// Update returns why the API server would refuse to change an object into another of the same
// kind, namespace and name, such as a changed selector. It returns nothing for objects that
// could not be created, for unknown kinds and for encrypted objects.
func (c *Checker) Update(before, after manifest.Object) field.ErrorList {
	defer c.kubernetes.Enter()()
	if kind, ok := c.kinds[after.GroupVersionKind()]; ok {
		return kind.update(before, after)
	}
	kind, ok := c.kubernetes.Lookup(after.GroupVersionKind())
	if !ok {
		return nil
	}
	if manifest.HasErrors(checkBuiltin(before, c.kubernetes)) || manifest.HasErrors(checkBuiltin(after, c.kubernetes)) {
		return nil
	}
	return withoutVaguer(kind.Update(before.Object, after.Object))
}

// update returns why the API server would not change an object into another of the kind:
// rules may compare both.
func (k *customKind) update(before, after manifest.Object) field.ErrorList {
	strategy, ok := k.compiled().strategy.(rest.RESTUpdateStrategy)
	if !ok || before.GetAPIVersion() != after.GetAPIVersion() { // which a webhook may convert
		return nil
	}
	was, _ := k.defaulted(before)
	is, problems := k.defaulted(after)
	if len(k.hugeQuantities(was)) > 0 || len(k.hugeQuantities(is)) > 0 {
		return nil
	}
	stored, decoded := k.created(was), k.created(is)
	if len(problems) > 0 || len(k.validate(decoded)) > 0 {
		return nil
	}
	stored.SetResourceVersion("1")
	return apiserver.Update(context.Background(), strategy, decoded, stored)
}
