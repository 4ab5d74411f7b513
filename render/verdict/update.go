package verdict

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/problem"
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
	if !ok || manifest.HasHugeQuantity(before.Object) || manifest.HasHugeQuantity(after.Object) {
		return nil
	}
	errs := mostSpecific(kind.Update(before.Object, after.Object))
	if len(errs) > 0 && (manifest.HasErrors(c.checkBuiltin(before)) || manifest.HasErrors(c.checkBuiltin(after))) {
		return nil
	}
	return errs
}

// Updated returns an object of a built-in kind as the API server stores it after an update that it accepts, or nil.
func (c *Checker) Updated(before, after manifest.Object) *unstructured.Unstructured {
	defer c.kubernetes.Enter()()
	kind, ok := c.lookup(after.GroupVersionKind())
	if !ok {
		return nil
	}
	updated, err := kind.Updated(before.Object, after.Object)
	if err != nil {
		return nil
	}
	return updated
}

// MayStay reports whether the API server accepts an update that leaves a problem of an object as it is, by
// ratcheting validation. Server-side apply accepts no unknown field, and a policy that denies an object names none.
func (c *Checker) MayStay(p manifest.Problem) bool {
	defer c.kubernetes.Enter()()
	o := p.Subject
	if o.Unstructured == nil || p.Field == "" || p.Code == manifest.FieldUnknown {
		return false
	}
	if kind, ok := c.custom[o.GroupVersionKind()]; ok {
		return kind.compiled().err == nil && len(kind.refuseUpdate(o, o))+len(c.applyErrors(o)) == 0
	}
	kind, ok := c.lookup(o.GroupVersionKind())
	return ok && len(kind.Update(o.Object, o.Object)) == 0
}

// IsCustom reports whether a CustomResourceDefinition defines the kind of an object.
func (c *Checker) IsCustom(o manifest.Object) bool {
	return o.Unstructured != nil && c.custom[o.GroupVersionKind()] != nil
}

// Misfits returns warnings of an object whose other versions are invalid. Its clients may read these: without
// a webhook the API server changes the apiVersion alone, and checks nothing.
func (c *Checker) Misfits(o manifest.Object) (problems []manifest.Problem) {
	defer c.kubernetes.Enter()()
	written, ok := c.custom[o.GroupVersionKind()]
	if !ok || written.isConvertedByWebhook() {
		return nil
	}
	for _, version := range written.definition.Spec.Versions {
		other := c.custom[kindOf(written.definition, version)]
		if !version.Served || version.Name == o.GroupVersionKind().Version || other.compiled().err != nil {
			continue
		}
		stored, _ := other.defaulted(inVersion(o, version.Name))
		if len(other.hugeQuantities(stored)) > 0 {
			continue
		}
		errs := other.validate(other.created(stored))
		for _, err := range errs {
			if !repeats(err, errs) {
				p := problem.FromError(o, err)
				p.Warning, p.Message = true, fmt.Sprintf("is invalid as %s, which clients may read: %s",
					version.Name, p.Message)
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// KeepCreated makes the Checker keep all objects of built-in kinds that it judges, for StoresAlike.
func (c *Checker) KeepCreated() { c.created = &sync.Map{} }

// StoresAlike reports whether two Checkers that judged an object store it alike. If they do not know it is false.
func (c *Checker) StoresAlike(other *Checker, o manifest.Object) bool {
	if c.kubernetes == other.kubernetes && c.RuntimeConfig == other.RuntimeConfig {
		return !c.IsCustom(o) && !other.IsCustom(o)
	}
	was, isKnown := c.created.Load(o.ID())
	is, isKnownToOther := other.created.Load(o.ID())
	return isKnown && isKnownToOther && reflect.DeepEqual(was, is)
}

// Stored returns objects as the API server stores them, without the UID and time of their creation; nil for
// an object that it cannot decode.
func (c *Checker) Stored(objects []manifest.Object) []*unstructured.Unstructured {
	defer c.kubernetes.Enter()()
	all := make([]*unstructured.Unstructured, len(objects))
	parallel.For(len(objects), func(i int) {
		gvk := objects[i].GroupVersionKind()
		stored, err := (&admitter{Checker: c}).Admit(objects[i])
		if custom, ok := c.custom[gvk]; ok {
			custom.Default(stored)
			custom.store(stored)
		} else if builtin, ok := c.lookup(gvk); ok && err == nil {
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

// Read returns stored objects of custom kinds as the API server reads them, without unknown fields and with the
// defaults of unset ones.
func (c *Checker) Read(stored []*unstructured.Unstructured) []*unstructured.Unstructured {
	defer c.kubernetes.Enter()()
	all := slices.Clone(stored)
	for i, o := range stored {
		if o == nil {
			continue
		}
		if kind, ok := c.custom[o.GroupVersionKind()]; ok {
			all[i], _ = kind.defaulted(manifest.Object{Unstructured: o})
			kind.store(all[i])
		}
	}
	return all
}

// update returns the errors of an update between valid objects. Rules may compare both.
func (k *customKind) update(before, after manifest.Object) field.ErrorList {
	if before.GetAPIVersion() != after.GetAPIVersion() {
		if k.isConvertedByWebhook() {
			return nil
		}
		before = inVersion(before, after.GroupVersionKind().Version)
	}
	defaulted, problems := k.defaulted(after)
	if len(problems) > 0 || len(k.hugeQuantities(defaulted)) > 0 || len(k.validate(k.created(defaulted))) > 0 {
		return nil
	}
	return k.refuseUpdate(before, after)
}

// refuseUpdate returns the errors of an update by server-side apply. Errors that both objects have may be none.
func (k *customKind) refuseUpdate(before, after manifest.Object) (errs field.ErrorList) {
	strategy, ok := k.compiled().strategy.(rest.RESTUpdateStrategy)
	defaultedBefore, _ := k.defaulted(before)
	defaultedAfter, _ := k.defaulted(after)
	if !ok || len(k.hugeQuantities(defaultedBefore)) > 0 || len(k.hugeQuantities(defaultedAfter)) > 0 {
		return nil
	}
	stored := k.created(defaultedBefore)
	decoded := k.created(defaultedAfter)
	for _, err := range k.validate(stored) {
		if err.Type == field.ErrorTypeTypeInvalid {
			errs = append(errs,
				field.Forbidden(field.NewPath(err.Field), "server-side apply cannot read the existing value"))
		}
	}
	for _, err := range k.validate(decoded) {
		if err.Type == field.ErrorTypeDuplicate {
			errs = append(errs, err)
		}
	}
	stored.SetResourceVersion("1")
	return append(errs, apiserver.Update(context.Background(), strategy, decoded, stored)...)
}

// store drops the fields that the stored version of a kind lacks, and sets its defaults. A webhook may keep
// them.
func (k *customKind) store(o *unstructured.Unstructured) {
	if k.storage != k && !k.isConvertedByWebhook() {
		pruning.Prune(o.Object, k.storage.compiled().structural, true)
		k.storage.Default(o)
	}
}

// inVersion returns an object in another version of its group.
func inVersion(o manifest.Object, version string) manifest.Object {
	o = o.Copy()
	o.SetAPIVersion(manifest.Group(o.GetAPIVersion()) + "/" + version)
	return o
}
