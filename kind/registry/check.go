package registry

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind"
)

// entry is a kind of a list, and what is found wrong with it or with what its functions return.
type entry struct {
	*kind.Kind
	all []kind.Kind // the list
	problems
}

// problems are what is wrong with a kind or an object. Each says what to do.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p *problems) addIf(isWrong bool, format string, args ...any) {
	if isWrong {
		p.add(format, args...)
	}
}

// errorOf returns the problems as one error, of which each line begins with a title.
func (p problems) errorOf(title string) error {
	errs := make([]error, len(p))
	for i, problem := range p {
		errs[i] = fmt.Errorf("%s: %s", title, problem)
	}
	return errors.Join(errs...)
}

// check returns all that is wrong with the kinds of a list. Each error names its kind and
// says what to do.
func check(all []kind.Kind) error {
	var errs []error
	crds := make([]*apiextensionsv1.CustomResourceDefinition, len(all))
	for i := range all {
		e := entry{Kind: &all[i], all: all}
		crds[i] = e.check()
		errs = append(errs, e.errorOf(cmp.Or(e.GVK().Kind, fmt.Sprintf("kind %d of the list", i+1))))
		for j := range i {
			if problem := clash(&all[j], &all[i], crds[j], crds[i]); problem != "" {
				errs = append(errs, fmt.Errorf("%s and %s: %s", written(all[j].GVK()), written(all[i].GVK()), problem))
			}
		}
	}
	return errors.Join(errs...)
}

// check finds what is wrong with the kind. It returns the CustomResourceDefinition, nil where that
// is not one of the kind.
func (e *entry) check() *apiextensionsv1.CustomResourceDefinition {
	if !e.IsDefined() {
		e.add("it was not made by kind.Define: pass what that returns")
		return nil
	}
	e.checkNames()
	e.checkScheme()
	e.checkStatusType()
	if e.IsConverted() {
		e.checkConverted()
	} else {
		e.addIf(!e.HasExpand(), "Expand is nil: set it to the function that returns what the kind is rendered to")
		e.checkChildren()
		e.checkGate()
	}
	return e.checkCRD()
}

// checkConverted finds what is wrong with a version that is rendered as another.
func (e *entry) checkConverted() {
	e.addIf((&Kinds{All: e.all}).FindRendered(e.GVK().GroupKind()) == nil, "Convert is set, and the list has no version of the kind that is rendered: add it")
	hasMore := e.HasExpand() || len(e.Children()) > 0 || e.HasStatus() || e.HasDigest() || e.Gate() != ""
	e.addIf(hasMore, "Convert is set, and has another version rendered: leave out Convert, or Expand, Children, Status, Digest and Gate")
}

// checkNames finds what the API server would refuse of a group, version and kind.
func (e *entry) checkNames() {
	group, version, name := e.GVK().Group, e.GVK().Version, e.GVK().Kind
	e.addIf(len(validation.IsDNS1123Subdomain(group)) > 0 || !strings.Contains(group, "."), "GVK: the group %q is not a domain with a dot in lower case, like example.com", group)
	e.addIf(len(validation.IsDNS1035Label(version)) > 0, "GVK: the version %q is not lower case letters and digits, like v1alpha1", version)
	e.addIf(len(validation.IsDNS1035Label(strings.ToLower(name))) > 0, "GVK: the kind %q is not letters and digits, like Memcached", name)
}

// checkScheme finds whether AddToScheme adds what a client of the API server needs.
func (e *entry) checkScheme() {
	types := runtime.NewScheme()
	if _, err := call("it", func() (any, error) { return nil, e.AddToScheme(types) }); err != nil {
		e.add("AddToScheme: %v", err)
		return
	}
	want := reflect.TypeOf(e.New()).Elem()
	got, ok := types.AllKnownTypes()[e.GVK()]
	list := e.GVK().GroupVersion().WithKind(e.GVK().Kind + "List")
	e.addIf(!ok, "AddToScheme does not add %s: have it add &%s{} to the scheme", written(e.GVK()), want)
	e.addIf(ok && got != want, "AddToScheme adds %s as %s: it has to be %s", got, written(e.GVK()), want)
	e.addIf(!types.Recognizes(list), "AddToScheme does not add %s: have it add &%sList{} to the scheme", written(list), want)
	e.addIf(!types.Recognizes(e.GVK().GroupVersion().WithKind("ListOptions")),
		"AddToScheme does not add the types of all groups: have it call metav1.AddToGroupVersion(scheme, %s)", e.GVK().GroupVersion())
}

// checkStatusType finds whether the type of the status is that of the Go type.
func (e *entry) checkStatusType() {
	if e.IsConverted() {
		return
	}
	field, ok := reflect.TypeOf(e.New()).Elem().FieldByName("Status")
	if !ok || field.Type.Kind() != reflect.Struct {
		return // what the CustomResourceDefinition says is an error by itself
	}
	conditions, ok := field.Type.FieldByName("Conditions")
	e.addIf(!ok || conditions.Type != reflect.TypeFor[[]metav1.Condition](), "the type %s of its status has no conditions: embed kind.Status, or give it a field Conditions []metav1.Condition", field.Type)
	e.addIf(field.Type != e.StatusType(), "S of its Definition is %s: write %s, the type of the field Status of %s", e.StatusType(), field.Type, e.GVK().Kind)
}

// checkChildren finds what is wrong with the Children.
func (e *entry) checkChildren() {
	e.addIf(len(e.Children()) == 0, "Children is empty: list the kinds of the objects that Expand returns")
	seen := map[schema.GroupKind]bool{}
	for i, child := range e.Children() {
		gk := child.GVK.GroupKind()
		switch {
		case child.GVK.Kind == "" || child.GVK.Version == "":
			e.add("Children[%d] has no kind or no version: set its GVK, like that of v1 Pod", i)
			continue
		case gk == e.GVK().GroupKind():
			e.add("Children[%d] is %s itself: a kind is rendered to other kinds", i, e.GVK().Kind)
		case e.isWritten(gk):
			e.add("Children[%d] is %s, which people write: have Expand return what that is rendered to", i, written(child.GVK))
		case seen[gk]:
			e.add("Children has %s twice: leave one out", gk)
		case gk == schema.GroupKind{Kind: "Secret"} && !child.Unobserved:
			e.add("Children[%d]: the controller is not to read Secrets: set Unobserved", i)
		}
		seen[gk] = true
		e.checkChild(fmt.Sprintf("Children[%d]", i), child)
	}
}

// checkChild finds what is wrong with one of the Children that has a kind.
func (e *entry) checkChild(at string, child kind.Child) {
	gk := child.GVK.GroupKind()
	isKnown := scheme.Scheme.Recognizes(child.GVK)
	if scheme.Scheme.IsGroupRegistered(gk.Group) && !isKnown {
		e.add("%s: Kubernetes has no %s: write one that kubectl api-resources lists", at, written(child.GVK))
		return
	}
	guess, _ := meta.UnsafeGuessKindToResource(child.GVK)
	e.addIf(child.Resource != "" && (len(validation.IsDNS1035Label(child.Resource)) > 0 || isKnown && child.Resource != guess.Resource),
		"%s: %q is not the plural of %s: write what kubectl api-resources calls it, like networkpolicies", at, child.Resource, gk.Kind)
	makesPods := func(c kind.Child) bool { // also a kind that Kubernetes does not have may
		return c.GVK.Group == "apps" || c.GVK.Group == "batch" && c.GVK.GroupKind() != gk || !scheme.Scheme.IsGroupRegistered(c.GVK.Group)
	}
	e.addIf(isUnchangeable(gk) && !child.Immutable && !slices.ContainsFunc(e.Children(), makesPods),
		"%s: nobody can change a %s in a cluster: set Immutable, so that a changed one is another object", at, gk.Kind)
}

// isUnchangeable reports whether the API server refuses most changes of objects of a kind.
func isUnchangeable(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Pod"} || gk == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// isWritten reports whether people write objects of a group and kind, in any version.
func (e *entry) isWritten(gk schema.GroupKind) bool {
	return slices.ContainsFunc(e.all, func(k kind.Kind) bool { return k.GVK().GroupKind() == gk })
}

// checkGate finds what is wrong with a Gate.
func (e *entry) checkGate() {
	if e.Gate() == "" {
		return
	}
	pod := e.Child(schema.GroupKind{Kind: "Pod"})
	e.addIf(len(validation.IsQualifiedName(e.Gate())) > 0, "Gate: %q is not the name of a scheduling gate, like example.com/schedule", e.Gate())
	e.addIf(pod == nil, "Gate is set, and Children has no Pod that waits behind it: add v1 Pod, or leave Gate out")
	e.addIf(pod != nil && pod.Unobserved, "Gate is set, and the controller has to read the Pods that wait behind it: leave out Unobserved of v1 Pod")
}

// clash says why there cannot be two kinds, nothing where there can. Their
// CustomResourceDefinitions are nil where they are wrong by themselves.
func clash(a, b *kind.Kind, aCRD, bCRD *apiextensionsv1.CustomResourceDefinition) string {
	isOneKind := a.GVK().GroupKind() == b.GVK().GroupKind()
	switch {
	case a.GVK().Kind == "" || b.GVK().Kind == "":
		return ""
	case a.GVK() == b.GVK():
		return "the list has the kind twice: leave one out"
	case isOneKind && !bytes.Equal(a.CRD(), b.CRD()):
		return "two versions of one kind have different CustomResourceDefinitions: give both the one that has both versions"
	case isOneKind && !a.IsConverted() && !b.IsConverted():
		return "two versions of one kind are rendered: give the older one Convert, instead of Expand, Children and Status"
	case isOneKind:
		return ""
	case strings.EqualFold(a.GVK().Kind, b.GVK().Kind):
		return "two kinds have one name: give one another"
	case a.Gate() != "" && a.Gate() == b.Gate():
		return fmt.Sprintf("both have the Gate %q, which the controller of one opens: give the other another, or none", a.Gate())
	case aCRD != nil && bCRD != nil:
		return nameClash(aCRD.Spec, bCRD.Spec)
	}
	return ""
}

// nameClash says which name of two kinds kubectl would take for both.
func nameClash(a, b apiextensionsv1.CustomResourceDefinitionSpec) string {
	if a.Names.Plural == b.Names.Plural {
		return fmt.Sprintf("both have the plural %q: give one another with // +kubebuilder:resource:path=", a.Names.Plural)
	}
	others := append([]string{b.Names.Singular}, b.Names.ShortNames...)
	for _, name := range append([]string{a.Names.Singular}, a.Names.ShortNames...) {
		if a.Group == b.Group && slices.Contains(others, name) {
			return fmt.Sprintf("both have the short name %q: give one another with // +kubebuilder:resource:shortName=", name)
		}
	}
	return ""
}

// written returns a kind with its version, as a manifest has them.
func written(gvk schema.GroupVersionKind) string {
	version, kind := gvk.ToAPIVersionAndKind()
	return version + " " + kind
}
