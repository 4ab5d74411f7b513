package check

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/object"
)

// Update returns why the API server would not change an object that it has into another,
// as it refuses to change a selector. Both are of one kind, namespace and name. Nothing is
// said of what it would not have, of kinds that are not known, and of what is encrypted.
func (c *Checker) Update(before, after object.Object) field.ErrorList {
	if kind, ok := c.kinds[after.GroupVersionKind()]; ok {
		return kind.update(before, after)
	}
	kind, ok := apiserver.Lookup(after.GroupVersionKind())
	if !ok {
		return nil
	}
	was, is := creatable(before), creatable(after)
	if was == nil || is == nil {
		return nil
	}
	return withoutVaguer(kind.Update(was, is))
}

// creatable is the JSON of an object that the API server would create; nil of another.
func creatable(o object.Object) []byte {
	kind, ok := apiserver.Lookup(o.GroupVersionKind())
	if !ok {
		return nil
	}
	decoded, problems := decode(o, kind)
	if len(problems) > 0 || decoded.rest == nil {
		return nil
	}
	if errs, _ := kind.Create(decoded.rest); len(errs) > 0 {
		return nil
	}
	encoded, err := json.Marshal(o.Object)
	if err != nil {
		return nil
	}
	return encoded
}

// update returns why the API server would not change an object into another of the kind:
// rules may compare both.
func (k *customKind) update(before, after object.Object) field.ErrorList {
	strategy, ok := k.strategy.(rest.RESTUpdateStrategy)
	if !ok || before.GetAPIVersion() != after.GetAPIVersion() { // which a webhook may convert
		return nil
	}
	was, _ := k.defaulted(before)
	is, problems := k.defaulted(after)
	stored, decoded := k.created(was), k.created(is)
	if len(problems) > 0 || len(k.strategy.Validate(context.Background(), decoded)) > 0 {
		return nil
	}
	stored.SetResourceVersion("1")
	return apiserver.Update(context.Background(), strategy, decoded, stored)
}
