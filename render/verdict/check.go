// Package verdict finds what the API server would refuse of objects, and what must not be in
// git or would mislead the controller.
package verdict

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/policy"
)

// Checker knows the kinds that are built into a version of Kubernetes, those that this program
// brings and, in their place, those that the environment defines.
type Checker struct {
	// Substitution is what Flux does to the objects before it applies them.
	Substitution *Substitution

	written    *registry.Kinds
	kubernetes apiserver.Version
	kinds      customKinds
	memo       *memo.Memo
}

// Prepare loads what every Checker of the newest version needs.
func Prepare(written *registry.Kinds) {
	defer apiserver.Newest.Enter()()
	apiserver.Prepare()
	brought(written, apiserver.Newest)
}

// New returns a Checker for an environment of a version of Kubernetes, zero for the newest, with
// the written kinds and the definitions among objects. Its problems are those of the
// CustomResourceDefinitions of both. Nobody may change the objects while the memo keeps what is made
// of them.
func New(m *memo.Memo, written *registry.Kinds, kubernetes apiserver.Version, objects []manifest.Object) (*Checker, []manifest.Problem) {
	kubernetes = cmp.Or(kubernetes, apiserver.Newest)
	defer kubernetes.Enter()()
	var definitions []manifest.Object
	for _, o := range objects {
		if isDefinition(o.Unstructured) {
			definitions = append(definitions, o)
		}
	}
	known, wrong := brought(written, kubernetes)
	c := &Checker{written: written, kubernetes: kubernetes, kinds: maps.Clone(known), memo: m}
	all := make([]definition, len(definitions))
	parallel.For(len(all), func(i int) {
		all[i] = memo.Get(m, definitionKey{definitions[i], kubernetes}, func() (d definition) {
			d.kinds, d.problems = known.defined(definitions[i], kubernetes)
			if !manifest.HasErrors(d.problems) {
				d.problems = append(d.problems, problemsOf(definitions[i], c.applyErrors(definitions[i]))...)
			}
			return d
		})
	})
	var problems []manifest.Problem
	for _, d := range all {
		c.kinds.replace(d.kinds)
		problems = append(problems, d.problems...)
	}
	return c, append(problems, wrong...)
}

// definition is what a CustomResourceDefinition defines, and what is wrong with it.
type definition struct {
	kinds    customKinds
	problems []manifest.Problem
}

type definitionKey struct {
	manifest.Object
	kubernetes apiserver.Version
}

// replace puts the versions of a CustomResourceDefinition in the place of all versions known:
// a cluster serves no others.
func (k customKinds) replace(defined customKinds) {
	for gvk := range defined {
		maps.DeleteFunc(k, func(known schema.GroupVersionKind, _ *customKind) bool { return known.GroupKind() == gvk.GroupKind() })
	}
	maps.Copy(k, defined)
}

// Objects judges each object by itself: as the API server does when it creates it, as
// server-side apply does, and by what only rendered objects may have. It returns the valid ones
// as the API server would store them, defaults filled in those of custom kinds, what is wrong
// with the others, and what the API server warns about.
func (c *Checker) Objects(objects []manifest.Object) (valid []manifest.Object, problems []manifest.Problem) {
	defer c.kubernetes.Enter()()
	stored := make([]*unstructured.Unstructured, len(objects))
	found := make([][]manifest.Problem, len(objects))
	parallel.For(len(objects), func(i int) { stored[i], found[i] = c.judgeSubstituted(objects[i]) })
	for i, o := range objects {
		if !manifest.HasErrors(found[i]) {
			valid = append(valid, manifest.Object{Unstructured: stored[i], Written: o.Written, Origin: o.Origin})
		}
		problems = append(problems, found[i]...)
	}
	return valid, problems
}

// Admit returns what keeps valid objects out of a cluster that has all of them, and what it
// would warn about: Pod Security and policies. Position returns where a problem is found;
// isController reports whether an object is the workload of the controller.
func (c *Checker) Admit(objects []manifest.Object, position func(manifest.Problem) string, isController func(manifest.Object) bool) []manifest.Problem {
	defer c.kubernetes.Enter()()
	objects, position = c.allApplied(objects, position)
	refused := policy.Check(objects, &admitter{Checker: c, versions: sync.OnceValue(c.servedVersions)}, func(o manifest.Object) string {
		return position(manifest.NewProblem(o, "", manifest.Value{}, ""))
	})
	return slices.Concat(c.podSecurity(objects, position), refused, c.policyUsers(objects, isController))
}

// Defaulted returns an object with its defaults filled in, valid or not.
func (c *Checker) Defaulted(o manifest.Object) *unstructured.Unstructured {
	if kind, ok := c.kinds[o.GroupVersionKind()]; ok {
		stored, _ := kind.defaulted(o)
		return stored
	}
	return o.Unstructured
}

// judged is all that the judgement of an object depends on, where the kind is known.
type judged struct {
	manifest.Object
	kind       *customKind // nil of a built-in one
	kubernetes apiserver.Version
}

// judgeOnce returns what judge does, unless the memo knows it.
func (c *Checker) judgeOnce(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	gvk := o.GroupVersionKind()
	kind, isCustom := c.kinds[gvk]
	if o.IsRendered() || !isCustom && !apiserver.IsGroup(gvk.Group) {
		return c.judge(o)
	}
	type result struct {
		stored   *unstructured.Unstructured
		problems []manifest.Problem
	}
	r := memo.Get(c.memo, judged{o, kind, c.kubernetes}, func() (r result) {
		r.stored, r.problems = c.judge(o)
		return r
	})
	return r.stored, r.problems
}

// judge returns an object with its defaults filled in, and what is wrong with it.
func (c *Checker) judge(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	stored, problems := c.check(o)
	if !manifest.HasErrors(problems) && !isDefinition(o.Unstructured) {
		if refused := c.applyErrors(o); len(refused) > 0 {
			problems = problemsOf(o, refused) // of which warnings may say the same
		}
	}
	if o.Written == o.Unstructured {
		problems = append(problems, c.reservedFields(o)...)
	}
	return stored, problems
}

// check returns an object with its defaults filled in, and why it cannot be created.
func (c *Checker) check(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
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
		return o.Unstructured, checkSecret(o, c.kubernetes)
	case apiserver.IsGroup(gvk.Group):
		return o.Unstructured, checkBuiltin(o, c.kubernetes)
	}
	if versions := c.versions(gvk.GroupKind()); len(versions) > 0 {
		return o.Unstructured, problemsOf(o, field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), o.GetAPIVersion(), versions)})
	}
	errs := append(c.misspelledKind(gvk), checkMetadata(o.Unstructured, o.GetNamespace() != "")...)
	return o.Unstructured, problemsOf(o, errs)
}

// IsNamespaced reports whether objects of a kind have a namespace, and whether the kind is
// known.
func (c *Checker) IsNamespaced(gvk schema.GroupVersionKind) (namespaced, known bool) {
	if kind, ok := c.kinds[gvk]; ok {
		return isNamespaced(kind.definition), true
	}
	builtin, known := c.kubernetes.Lookup(gvk)
	return known && builtin.IsNamespaced(), known
}

var (
	kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// https://kubernetes.io/docs/reference/using-api/#api-groups
	apiVersion = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// checkType returns the errors of an apiVersion and kind, and of a list of objects.
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

// isObject reports whether an item of a list is an object.
func isObject(item any) bool {
	object, _ := item.(map[string]any)
	return object["kind"] != nil
}

// misspelledKind returns the error of an unknown kind in a group whose kinds people write.
func (c *Checker) misspelledKind(gvk schema.GroupVersionKind) field.ErrorList {
	var known []string
	for _, k := range c.written.All {
		if k.GVK().Group == gvk.Group {
			known = append(known, k.GVK().Kind)
		}
	}
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), gvk.Kind, known)}
}

// checkMetadata returns the errors of metadata that do not depend on the kind.
func checkMetadata(u *unstructured.Unstructured, namespaced bool) field.ErrorList {
	metadata, _ := u.Object["metadata"].(map[string]any)
	u = &unstructured.Unstructured{Object: map[string]any{"metadata": maps.Clone(metadata)}}
	apiserver.SetNamespace(u, namespaced)
	return apiserver.ValidateMetadata(u, namespaced)
}

// versions returns the known apiVersions of a custom kind.
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
