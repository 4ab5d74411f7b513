// Package check finds what the API server would refuse of objects, and what must not
// be in git or would mislead the controller.
package check

import (
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// Checker knows the kinds that are built in, those that this program brings, and,
// before those, those that the environment defines.
type Checker struct {
	written *registry.Kinds
	kinds   customKinds
}

// Prepare gets ready what every Checker needs, so that it need not be waited for.
func Prepare(written *registry.Kinds) {
	apiserver.Prepare()
	brought(written)
}

// New returns a Checker for an environment of objects, in which people write some kinds, and
// what is wrong with the CustomResourceDefinitions of both.
func New(written *registry.Kinds, objects []object.Object) (*Checker, []object.Problem) {
	var definitions []object.Object
	for _, o := range objects {
		if isDefinition(o.Unstructured) {
			definitions = append(definitions, o)
		}
	}
	known, wrong := brought(written)
	c := &Checker{written: written, kinds: maps.Clone(known)}
	kinds, problems := make([]customKinds, len(definitions)), make([][]object.Problem, len(definitions))
	parallel.For(len(definitions), func(i int) { kinds[i], problems[i] = known.defined(definitions[i]) })
	for _, defined := range kinds {
		c.kinds.replace(defined)
	}
	return c, append(slices.Concat(problems...), wrong...)
}

// replace puts the versions of a CustomResourceDefinition in the place of all that there are:
// a cluster knows no others.
func (k customKinds) replace(defined customKinds) {
	for gvk := range defined {
		maps.DeleteFunc(k, func(known schema.GroupVersionKind, _ *customKind) bool { return known.GroupKind() == gvk.GroupKind() })
	}
	maps.Copy(k, defined)
}

// Objects checks objects, several at a time. It returns the valid ones as the API
// server would store them, defaults filled in those of custom kinds, what is wrong with
// the others, and what the API server warns about.
func (c *Checker) Objects(objects []object.Object) (valid []object.Object, problems []object.Problem) {
	stored := make([]*unstructured.Unstructured, len(objects))
	found := make([][]object.Problem, len(objects))
	parallel.For(len(objects), func(i int) { stored[i], found[i] = c.check(objects[i]) })
	for i, o := range objects {
		if !slices.ContainsFunc(found[i], object.Problem.IsError) {
			valid = append(valid, object.Object{Unstructured: stored[i], Written: o.Written})
		}
		problems = append(problems, found[i]...)
	}
	return valid, problems
}

// Defaulted returns an object with its defaults filled in, valid or not, but without
// quantities that take all time to be read.
func (c *Checker) Defaulted(o object.Object) *unstructured.Unstructured {
	stored := o.Unstructured
	if kind, ok := c.kinds[o.GroupVersionKind()]; ok {
		stored, _ = kind.defaulted(o)
	}
	return &unstructured.Unstructured{Object: object.WithoutEndless(stored.Object)}
}

// check returns an object with its defaults filled in, and what is wrong with it.
func (c *Checker) check(o object.Object) (*unstructured.Unstructured, []object.Problem) {
	if errs := checkType(o.Unstructured); len(errs) > 0 {
		return o.Unstructured, problemsOf(o, errs)
	}
	gvk := o.GroupVersionKind()
	if kind, ok := c.kinds[gvk]; ok {
		return kind.check(o)
	}
	switch {
	case isDefinition(o.Unstructured): // checked when it was added
		return o.Unstructured, nil
	case isSecret(o.Unstructured):
		return o.Unstructured, checkSecret(o)
	case apiserver.IsGroup(gvk.Group):
		return o.Unstructured, checkBuiltin(o)
	}
	if versions := c.versions(gvk.GroupKind()); len(versions) > 0 {
		return o.Unstructured, problemsOf(o, field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), o.GetAPIVersion(), versions)})
	}
	errs := append(c.misspelledKind(gvk), checkMetadata(o.Unstructured, o.GetNamespace() != "")...)
	return o.Unstructured, problemsOf(o, errs)
}

// IsNamespaced says whether objects of a kind are in a namespace, and whether the
// kind is known.
func (c *Checker) IsNamespaced(gvk schema.GroupVersionKind) (namespaced, known bool) {
	if kind, ok := c.kinds[gvk]; ok {
		return kind.strategy.NamespaceScoped(), true
	}
	builtin, known := apiserver.Lookup(gvk)
	return known && builtin.IsNamespaced(), known
}

var (
	kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// https://kubernetes.io/docs/reference/using-api/#api-groups
	apiVersion = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// checkType finds what keeps an object from having a kind.
func checkType(u *unstructured.Unstructured) (errs field.ErrorList) {
	switch version := u.GetAPIVersion(); {
	case version == "":
		errs = append(errs, field.Required(field.NewPath("apiVersion"), "write one like v1 or apps/v1"))
	case !apiVersion.MatchString(version):
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), version, "must be a version, like v1, or a group and a version, like apps/v1"))
	}
	if !kindName.MatchString(u.GetKind()) {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), "must be letters and digits, like ConfigMap"))
	}
	if items, ok := u.Object["items"].([]any); ok && slices.ContainsFunc(items, isObject) {
		errs = append(errs, field.Forbidden(field.NewPath("items"), "are objects: write each as one of its own"))
	}
	return errs
}

// isObject says whether an item of a list is an object.
func isObject(item any) bool {
	object, _ := item.(map[string]any)
	return object["kind"] != nil
}

// misspelledKind is the error of a kind that is none of those of one of our groups.
func (c *Checker) misspelledKind(gvk schema.GroupVersionKind) field.ErrorList {
	var known []string
	for _, k := range c.written.All {
		if k.GVK.Group == gvk.Group {
			known = append(known, k.GVK.Kind)
		}
	}
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), gvk.Kind, known)}
}

// checkMetadata checks what the metadata of every object has in common.
func checkMetadata(u *unstructured.Unstructured, namespaced bool) field.ErrorList {
	metadata, _ := u.Object["metadata"].(map[string]any)
	u = &unstructured.Unstructured{Object: map[string]any{"metadata": maps.Clone(metadata)}}
	if !namespaced {
		u.SetNamespace("") // the API server ignores it
	} else if u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	return apivalidation.ValidateObjectMetaAccessor(u, namespaced, isPathSegment, field.NewPath("metadata"))
}

// isPathSegment is the least that the API server asks of a name.
func isPathSegment(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// versions are the apiVersions of a custom kind that is known.
func (c *Checker) versions(kind schema.GroupKind) []string {
	var versions []string
	for gvk := range c.kinds {
		if gvk.GroupKind() == kind {
			versions = append(versions, gvk.GroupVersion().String())
		}
	}
	slices.Sort(versions)
	return versions
}
