// Package verdict judges objects as the API server does, with its own code, and finds objects that
// must not be in git or would mislead the controller.
package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/apply"
	"example.com/gatehouse/render/verdict/contract"
	"example.com/gatehouse/render/verdict/limits"
	"example.com/gatehouse/render/verdict/podsecurity"
	"example.com/gatehouse/render/verdict/policy"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/secret"
)

// Checker judges objects of the built-in kinds of a version of Kubernetes, the kinds of this program,
// and the custom kinds of an environment. A custom kind takes the place of a kind of the program.
type Checker struct {
	// PostBuild has the variables that Flux substitutes in the objects before it applies them, if any.
	PostBuild *flux.PostBuild
	// RuntimeConfig has the beta versions that the API server serves.
	RuntimeConfig apiserver.RuntimeConfig
	// IsJudgedOnly reports whether render writes the objects to no file: a readable Secret is a warning then.
	IsJudgedOnly bool
	// IsRead reports whether files that install the cluster say its version. Their feature gates are not read. Without
	// a RuntimeConfig there, the cluster may serve any.
	IsRead bool
	// IsByHand reports whether anybody may apply the objects that no object here delivers.
	IsByHand bool

	kinds      *registry.Kinds
	kubernetes apiserver.Version
	isAssumed  bool // no version is declared, so the cluster may have any
	custom     customKinds
	memo       *memo.Memo
	created    *sync.Map // see KeepCreated
}

// Prepare loads the data of every Checker for the newest version.
func Prepare(kinds *registry.Kinds) {
	defer apiserver.Newest.Enter()()
	apiserver.Prepare()
	embeddedKinds(kinds, apiserver.Newest)
}

// New returns a Checker for a version of Kubernetes, zero for the newest, the kinds of a program, and
// the CustomResourceDefinitions among objects. Its problems are about the CustomResourceDefinitions.
// The objects must not change as long as the memo lives.
func New(m *memo.Memo, kinds *registry.Kinds, kubernetes apiserver.Version,
	objects []manifest.Object) (*Checker, []manifest.Problem) {
	isAssumed := kubernetes == 0
	kubernetes = cmp.Or(kubernetes, apiserver.Newest)
	defer kubernetes.Enter()()
	crds := slices.DeleteFunc(slices.Clone(objects), func(o manifest.Object) bool { return !crd.Is(o.Unstructured) })
	known, problemsOfKnown := embeddedKinds(kinds, kubernetes)
	type key struct {
		*unstructured.Unstructured
		kubernetes apiserver.Version
	}
	type definition struct {
		kinds    customKinds
		problems []manifest.Problem
	}
	all := make([]definition, len(crds))
	parallel.For(len(all), func(i int) {
		defer fault.Part(&all[i].problems, fault.In(crds[i]))()
		all[i] = memo.Get(m, key{crds[i].Unstructured, kubernetes}, func() (d definition) {
			d.kinds, d.problems = known.define(crds[i], kubernetes)
			return d
		})
	})
	c := &Checker{kinds: kinds, kubernetes: kubernetes, isAssumed: isAssumed, custom: maps.Clone(known), memo: m}
	var problems []manifest.Problem
	for i, d := range all {
		c.custom.replace(d.kinds)
		if crds[i].GetAnnotations()[definitions.ReleaseAnnotation] != "" {
			continue // nothing delivers it: the cluster has another one
		}
		for _, p := range d.problems {
			p.Subject = crds[i] // the memo may have it of another environment
			problems = append(problems, p)
		}
	}
	return c, append(problems, problemsOfKnown...)
}

// Objects judges each object by itself: as a request to create it, as server-side apply, and by the
// contract of rendered objects. It returns the valid objects, with the defaults of custom kinds, and
// the problems of all.
func (c *Checker) Objects(objects []manifest.Object) (valid []manifest.Object, problems []manifest.Problem) {
	stored := make([]*unstructured.Unstructured, len(objects))
	applied := c.substitute(objects)
	leave := c.kubernetes.Enter()
	found := judgeEach(objectsOf(applied), func(i int) (problems []manifest.Problem) {
		stored[i], problems = c.judgeSubstituted(objects[i], applied[i])
		return problems
	})
	leave()
	c.tolerate(objects, found, func(other *Checker, i int) []manifest.Problem {
		_, problems := other.judgeSubstituted(objects[i], applied[i])
		return problems
	})
	for i, o := range objects {
		if !manifest.HasErrors(found[i]) {
			o.Unstructured = stored[i]
			valid = append(valid, o)
		}
		problems = append(problems, found[i]...)
	}
	return valid, problems
}

// tolerate turns an error into a warning that only some versions of Kubernetes have, without a declared version of
// the cluster. Of a version that was read, a version that is not served stays an error. Judge judges an object by
// another version.
func (c *Checker) tolerate(objects []manifest.Object, found [][]manifest.Problem,
	judge func(other *Checker, i int) []manifest.Problem) {
	var refused []int
	for i, o := range objects {
		_, isCustom := c.custom[o.GroupVersionKind()]
		isBuiltin := !isCustom && apiserver.IsGroup(o.GroupVersionKind().Group)
		if (c.isAssumed || c.IsRead) && isBuiltin && manifest.HasErrors(found[i]) {
			refused = append(refused, i)
		}
	}
	if len(refused) == 0 {
		return
	}
	refusing := map[refusal][]string{}
	for _, version := range apiserver.Versions() {
		for of := range c.refusals(version, objects, refused, judge) {
			refusing[of] = append(refusing[of], version.String())
		}
	}
	for _, i := range refused {
		found[i] = manifest.Each(found[i], func(p manifest.Problem) manifest.Problem { // the memo may have them
			return c.tolerated(p, refusing[refusal{i, p.Field, p.Code}])
		})
	}
}

// tolerated returns an error as a warning if only some versions have it.
func (c *Checker) tolerated(p manifest.Problem, by []string) manifest.Problem {
	isServed := c.isAssumed || p.Field != "apiVersion"
	if p.Warning || len(by) == 0 || len(by) == len(apiserver.Versions()) || !isServed {
		return p
	}
	why := "a feature gate may allow it"
	if c.isAssumed {
		why = "no version is declared"
	}
	p.Warning = true
	p.Message += " (in Kubernetes " + strings.Join(by, ", ") + "; " + why + ")"
	return p
}

// refusal is an error of the object with an index.
type refusal struct {
	object int
	field  string
	code   metav1.CauseType
}

// refusals returns the errors of a version in the objects with some indexes.
func (c *Checker) refusals(version apiserver.Version, objects []manifest.Object, indexes []int,
	judge func(other *Checker, i int) []manifest.Problem) map[refusal]bool {
	defer version.Enter()()
	by := *c
	by.kubernetes = version
	by.created = nil
	all := map[refusal]bool{}
	for _, i := range indexes {
		for _, p := range judgeEach(objects[i:i+1], func(int) []manifest.Problem { return judge(&by, i) })[0] {
			if !p.Warning {
				all[refusal{i, p.Field, p.Code}] = true
			}
		}
	}
	return all
}

func judgeEach(objects []manifest.Object, judge func(i int) []manifest.Problem) [][]manifest.Problem {
	found := make([][]manifest.Problem, len(objects))
	parallel.For(len(objects), func(i int) {
		defer fault.Part(&found[i], fault.In(objects[i]))()
		found[i] = judge(i)
	})
	return found
}

// Admit judges applied objects by Pod Security and by policies, as in a cluster with all of them.
// MutatingAdmissionPolicies change objects before. Position returns where a problem is found; isController reports
// whether an object is the workload of the controller.
func (c *Checker) Admit(objects []manifest.Object, position func(manifest.Problem) string,
	isController func(manifest.Object) bool) []manifest.Problem {
	defer c.kubernetes.Enter()()
	mutations, problems := c.Mutations(objects)
	mutated, invalid := c.mutated(objects, mutations)
	original := func(p manifest.Problem) manifest.Problem {
		if policies := p.Subject.ChangedBy; policies != "" {
			p.Subject = *p.Subject.InGit
			p.Message += fmt.Sprintf(" (after its change by %s)", policies)
		}
		return p
	}
	at := func(p manifest.Problem) string { return position(original(p)) }
	denied := policy.Check(mutated, c.admitter(), func(o manifest.Object) string { return at(problem.OfObject(o, "")) })
	problems = slices.Concat(problems, invalid, podsecurity.Check(mutated, c.kubernetes, at), denied,
		limits.Check(mutated),
		contract.PolicyUsers(c.kinds, mutated, isController))
	for i, p := range problems {
		problems[i] = original(p)
	}
	return problems
}

// Resources returns the plurals of the kinds that the cluster serves, by group, as far as they are known.
func (c *Checker) Resources() map[string][]string {
	all := map[string][]string{}
	for _, kind := range c.kubernetes.Kinds() {
		all[kind.Group] = append(all[kind.Group], kind.Resource().Resource)
	}
	for gvk, kind := range c.custom {
		all[gvk.Group] = append(all[gvk.Group], kind.definition.Spec.Names.Plural)
	}
	return all
}

// Defaulted returns an object with its defaults, valid or not.
func (c *Checker) Defaulted(o manifest.Object) *unstructured.Unstructured {
	if kind, ok := c.custom[o.GroupVersionKind()]; ok {
		stored, _ := kind.defaulted(o)
		return stored
	}
	return o.Unstructured
}

// judgeOnce is judge, by way of the memo. Objects of unknown kinds depend on more than the key.
func (c *Checker) judgeOnce(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	gvk := o.GroupVersionKind()
	kind, isCustom := c.custom[gvk]
	if o.IsRendered() || !isCustom && !apiserver.IsGroup(gvk.Group) {
		return c.judge(o)
	}
	type key struct {
		manifest.Object
		kind       *customKind // nil for a built-in kind
		kubernetes apiserver.Version
		config     apiserver.RuntimeConfig
		judgedOnly bool
		isRead     bool
		isMerged   bool
	}
	type result struct {
		stored   *unstructured.Unstructured
		problems []manifest.Problem
	}
	of := key{o, kind, c.kubernetes, c.RuntimeConfig, c.IsJudgedOnly, c.IsRead, c.IsByHand}
	r := memo.Get(c.memo, of, func() (r result) {
		r.stored, r.problems = c.judge(o)
		return r
	})
	return r.stored, r.problems
}

// judge returns an object with its defaults, and its problems.
func (c *Checker) judge(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	if secret.IsEncrypted(o.Unstructured) && c.kinds.Find(o.GroupVersionKind()) == nil {
		return c.judgeEncrypted(o)
	}
	stored, problems := c.check(o)
	if !manifest.HasErrors(problems) {
		if refused := c.refused(o); len(refused) > 0 {
			problems = refused // warnings may repeat them
		}
	}
	if o.Written == o.Unstructured {
		problems = append(problems, contract.ReservedFields(c.kinds, o)...)
	}
	if delivery.Find(delivery.Settings(o.Unstructured, delivery.Flux), delivery.Merged) != nil {
		problems = ofPart(o, problems)
	}
	isElsewhere := func(p manifest.Problem) bool { return !p.Warning && isTriggered(o, p) }
	problems = slices.DeleteFunc(problems, isElsewhere)
	for i, p := range problems {
		value := decoding.At(o.Object, manifest.SplitField(p.Field))
		if c.IsJudgedOnly && p.IsError() && p.Field != "" && secret.IsFilledIn(value, o.GetAnnotations()) {
			problems[i].Warning = true
			problems[i].Message += ": is not judged, if argocd-vault-plugin fills it in"
		}
	}
	return stored, problems
}

// refused returns the problems of server-side apply with a valid object.
func (c *Checker) refused(o manifest.Object) []manifest.Problem {
	isMerged := c.isMerged(o)
	errs := c.applyErrors(o)
	if kind, isCustom := c.custom[o.GroupVersionKind()]; isCustom && c.IsJudgedOnly && !isMerged {
		errs = append(errs, apply.Nulls(o.Unstructured, kind.compiled().structural)...) // rendered/ has none
	}
	problems := problem.FromErrors(o, errs)
	for i, p := range problems {
		problems[i].Warning = p.Warning || isMerged && !apply.IsOfServer(p.Field)
	}
	return problems
}

// isMerged reports whether a tool may apply an object without server-side apply: Argo CD does so by default, and so
// does a person.
func (c *Checker) isMerged(o manifest.Object) bool {
	if o.Delivery == nil {
		return c.IsByHand
	}
	return !delivery.AppliesByServer(o.Unstructured, o.Delivery.Object())
}

// isTriggered reports whether a controller of OpenShift sets the field of a problem: the image of a trigger.
func isTriggered(o manifest.Object, p manifest.Problem) bool {
	if o.GetAnnotations()["image.openshift.io/triggers"] == "" || !strings.HasSuffix(p.Field, ".image") {
		return false
	}
	text, _ := decoding.At(o.Object, manifest.SplitField(p.Field)).(string)
	return strings.TrimSpace(text) == ""
}

// ofPart returns the problems of an object that Flux merges into the live object, in fields that are there.
func ofPart(o manifest.Object, problems []manifest.Problem) []manifest.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p manifest.Problem) bool {
		isMissing := p.Field != "" && decoding.At(o.Object, manifest.SplitField(p.Field)) == nil
		return p.IsError() && (isMissing || p.Code == metav1.CauseTypeFieldValueRequired)
	})
}

// judgeEncrypted judges an object that Flux decrypts, without its encrypted values. It keeps the metadata
// of SOPS.
func (c *Checker) judgeEncrypted(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	decrypted := o.Copy()
	delete(decrypted.Object, secret.Metadata)
	stored, problems := c.judge(decrypted)
	stored = stored.DeepCopy()
	stored.Object[secret.Metadata] = o.Object[secret.Metadata]
	return stored, slices.DeleteFunc(problems, func(p manifest.Problem) bool {
		return p.Field != "" && secret.HasEncrypted(decoding.At(o.Object, manifest.SplitField(p.Field)))
	})
}

// ApplyErrors returns the errors of server-side apply of a valid object.
func (c *Checker) ApplyErrors(o manifest.Object) field.ErrorList {
	defer c.kubernetes.Enter()()
	return c.applyErrors(o)
}

func (c *Checker) applyErrors(o manifest.Object) field.ErrorList {
	if kind, ok := c.custom[o.GroupVersionKind()]; ok {
		return apply.Errors(o.Unstructured, kind.compiled().structural, kind.types)
	}
	return apply.Errors(o.Unstructured, nil, nil)
}

// check returns an object with its defaults, and its problems as a request to create it.
func (c *Checker) check(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	if errs := checkType(o.Unstructured); len(errs) > 0 {
		return o.Unstructured, problem.FromErrors(o, errs)
	}
	gvk := o.GroupVersionKind()
	if kind, ok := c.custom[gvk]; ok {
		return kind.check(o)
	}
	switch {
	case crd.Is(o.Unstructured): // New has checked it
		return o.Unstructured, nil
	case manifest.IsSecret(o.Unstructured):
		decrypted, errs := secret.Check(o.Unstructured)
		problems := c.checkDecrypted(o, decrypted)
		for _, p := range problem.FromErrors(o, errs) {
			if p.Warning = c.IsJudgedOnly; p.Warning {
				p = p.Because(strings.TrimPrefix(p.Message, p.Field))
			}
			problems = append(problems, p)
		}
		return o.Unstructured, problems
	case apiserver.IsGroup(gvk.Group):
		return o.Unstructured, c.checkBuiltin(o)
	}
	if versions := c.versions(gvk.GroupKind()); len(versions) > 0 {
		return o.Unstructured, problem.FromErrors(o,
			field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), o.GetAPIVersion(), versions)})
	}
	errs := append(append(c.misspelledKind(gvk), c.misspelledGroup(gvk)...),
		checkMetadata(o.Unstructured, o.GetNamespace() != "")...)
	return o.Unstructured, problem.FromErrors(o, errs)
}

// checkDecrypted checks a Secret as a cluster gets it. Warnings of a Secret are about its values, and placeholders
// stand for these.
func (c *Checker) checkDecrypted(o manifest.Object, decrypted *unstructured.Unstructured) []manifest.Problem {
	hasValues := o.Unstructured == decrypted
	o.Unstructured = decrypted
	return slices.DeleteFunc(c.checkBuiltin(o), func(p manifest.Problem) bool { return p.Warning && !hasValues })
}

// IsNamespaced reports whether objects of a kind have a namespace, and whether the kind is known.
func (c *Checker) IsNamespaced(gvk schema.GroupVersionKind) (namespaced, known bool) {
	if kind, ok := c.custom[gvk]; ok {
		return isNamespaced(kind.definition), true
	}
	builtin, known := c.lookup(gvk)
	return known && builtin.IsNamespaced(), known
}

var (
	kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// https://kubernetes.io/docs/reference/using-api/#api-groups
	apiVersion = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// checkType returns the errors of an apiVersion and kind, and the error of a list of objects.
func checkType(u *unstructured.Unstructured) (errs field.ErrorList) {
	switch version := u.GetAPIVersion(); {
	case version == "":
		errs = append(errs, field.Required(field.NewPath("apiVersion"), "write one like v1 or apps/v1"))
	case !apiVersion.MatchString(version):
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), version,
			"must be a version, like v1, or a group and a version, like apps/v1"))
	}
	if !kindName.MatchString(u.GetKind()) {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(),
			"must be letters and digits, like ConfigMap"))
	}
	isObject := func(item any) bool {
		object, _ := item.(map[string]any)
		return object["kind"] != nil
	}
	if items, ok := u.Object["items"].([]any); ok && slices.ContainsFunc(items, isObject) {
		errs = append(errs, field.Forbidden(field.NewPath("items"), "are objects: write each as a separate object"))
	}
	return errs
}

// misspelledKind returns the error of an unknown kind in a group of this program.
func (c *Checker) misspelledKind(gvk schema.GroupVersionKind) field.ErrorList {
	var known []string
	for _, k := range c.kinds.All {
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

// misspelledGroup returns the error of an unknown group that is similar to one of a known kind with the
// same name. The API server of a cluster with that kind would refuse the object, and a sync would prune
// the objects that were rendered from it.
func (c *Checker) misspelledGroup(gvk schema.GroupVersionKind) field.ErrorList {
	var known []string
	for other := range c.custom {
		longer := len(gvk.Group) - len(other.Group) // by two, as azmonitoring.coreos.com: a name of its own
		if other.Kind == gvk.Kind && -2 < longer && longer < 2 &&
			manifest.DidYouMean(gvk.Group, []string{other.Group}) != "" {
			known = append(known, strconv.Quote(other.GroupVersion().String()))
		}
	}
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	return field.ErrorList{field.Invalid(field.NewPath("apiVersion"), gvk.GroupVersion().String(), "did you mean "+
		strings.Join(known, " or ")+"?")}
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
	for gvk := range c.custom {
		if gvk.GroupKind() == kind {
			versions = append(versions, gvk.GroupVersion().String())
		}
	}
	slices.Sort(versions)
	return versions
}
