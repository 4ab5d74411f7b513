package registry

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
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
// says what to do. What the API server refuses of a CustomResourceDefinition or of what is rendered is
// not among it: rendering has its own code say that.
func check(all []kind.Kind) error {
	errs := make([]error, 0, len(all))
	names := make([][]string, len(all))
	for i := range all {
		e := entry{Kind: &all[i], all: all}
		if e.IsDefined() {
			e.check()
			names[i] = e.names()
		} else {
			e.add("it was not made by kind.Define: pass what that returns")
		}
		for j := range i {
			e.checkBeside(&all[j], names[i], names[j])
		}
		errs = append(errs, e.errorOf(cmp.Or(e.GVK().Kind, fmt.Sprintf("kind %d of the list", i+1))))
	}
	return errors.Join(errs...)
}

// check finds what is wrong with the kind by itself.
func (e *entry) check() {
	e.checkScheme()
	if e.IsConverted() {
		e.addIf((&Kinds{All: e.all}).FindRendered(e.GVK().GroupKind()) == nil, "Convert is set, and the list has no version of the kind that is rendered: add it")
		hasMore := e.HasExpand() || len(e.Children()) > 0 || e.HasStatus() || e.HasDigest() || e.Gate() != ""
		e.addIf(hasMore, "Convert is set, and has another version rendered: leave out Convert, or Expand, Children, Status, Digest and Gate")
	} else {
		e.addIf(!e.HasExpand(), "Expand is nil: set it to the function that returns what the kind is rendered to")
		e.checkChildren()
	}
	e.checkCRD()
}

// checkScheme finds whether AddToScheme adds what a client of the API server needs.
func (e *entry) checkScheme() {
	types := runtime.NewScheme()
	if _, err := call("it", func() (any, error) { return nil, e.AddToScheme(types) }); err != nil {
		e.add("AddToScheme: %v", err)
		return
	}
	want, group := reflect.TypeOf(e.New()).Elem(), e.GVK().GroupVersion()
	e.addIf(types.AllKnownTypes()[e.GVK()] != want, "AddToScheme does not add %s as %s: have it add &%s{} to the scheme", want, written(e.GVK()), want)
	list := group.WithKind(e.GVK().Kind + "List")
	e.addIf(!types.Recognizes(list), "AddToScheme does not add %s: have it add &%sList{} to the scheme", written(list), want)
	e.addIf(!types.Recognizes(group.WithKind("ListOptions")), "AddToScheme does not add the types of all groups: have it call metav1.AddToGroupVersion(scheme, %s)", group)
}

// checkChildren finds what is wrong with the Children and the Gate.
func (e *entry) checkChildren() {
	children := e.Children()
	e.addIf(len(children) == 0, "Children is empty: list the kinds of the objects that Expand returns")
	for i, child := range children {
		problem := e.problemOf(child)
		isThere := func(c kind.Child) bool { return c.GVK.GroupKind() == child.GVK.GroupKind() }
		if problem == "" && slices.ContainsFunc(children[:i], isThere) {
			problem = "it is there twice: leave one out"
		}
		e.addIf(problem != "", "Children[%d], %s: %s", i, written(child.GVK), problem)
	}
	e.addIf(e.Gate() != "" && e.Observes(schema.GroupKind{Kind: "Pod"}) == nil,
		"Gate is set, and the controller has to read the Pods that wait behind it: list v1 Pod in Children, without Unobserved")
}

// problemOf returns what is wrong with one of the Children; empty for nothing.
func (e *entry) problemOf(child kind.Child) string {
	gk, isKnown := child.GVK.GroupKind(), scheme.Scheme.Recognizes(child.GVK)
	guess, _ := meta.UnsafeGuessKindToResource(child.GVK)
	isPlural := len(validation.IsDNS1035Label(child.Resource)) == 0 && (!isKnown || child.Resource == guess.Resource)
	switch {
	case gk.Kind == "" || child.GVK.Version == "":
		return "it has no kind or no version: set its GVK, like that of v1 Pod"
	case e.isWritten(gk):
		return "people write it: have Expand return what it is rendered to"
	case gk == schema.GroupKind{Kind: "Secret"} && !child.Unobserved:
		return "the controller is not to read Secrets: set Unobserved"
	case scheme.Scheme.IsGroupRegistered(gk.Group) && !isKnown:
		return "Kubernetes has no such kind: write one that kubectl api-resources lists"
	case child.Resource != "" && !isPlural:
		return fmt.Sprintf("%q is not its plural: write what kubectl api-resources calls it, like networkpolicies", child.Resource)
	case isUnchangeable(gk) && !child.Immutable && !e.makesPods(gk):
		return "nobody can change one in a cluster: set Immutable, so that a changed one is another object"
	}
	return ""
}

// makesPods reports whether any of the Children but those of a kind may make Pods or Jobs: also a kind
// that Kubernetes does not have may.
func (e *entry) makesPods(gk schema.GroupKind) bool {
	return slices.ContainsFunc(e.Children(), func(c kind.Child) bool {
		return c.GVK.Group == "apps" || c.GVK.Group == "batch" && c.GVK.GroupKind() != gk || !scheme.Scheme.IsGroupRegistered(c.GVK.Group)
	})
}

// isUnchangeable reports whether the API server refuses most changes of objects of a kind.
func isUnchangeable(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Pod"} || gk == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// isWritten reports whether people write objects of a group and kind, in any version.
func (e *entry) isWritten(gk schema.GroupKind) bool {
	return slices.ContainsFunc(e.all, func(k kind.Kind) bool { return k.GVK().GroupKind() == gk })
}

// names returns what no two kinds may have in common.
func (e *entry) names() []string {
	names := []string{"name " + strings.ToLower(e.GVK().Kind)}
	if e.Gate() != "" {
		names = append(names, "Gate "+e.Gate()) // which the controller of one opens
	}
	crd, _, err := e.ReadCRD()
	if err != nil || crd.Spec.Names.Kind != e.GVK().Kind {
		return nil // which is wrong by itself
	}
	names = append(names, "plural "+crd.Spec.Names.Plural+" (// +kubebuilder:resource:path=)")
	for _, short := range append(crd.Spec.Names.ShortNames, crd.Spec.Names.Singular) {
		names = append(names, "short name "+short+" in group "+crd.Spec.Group+" (// +kubebuilder:resource:shortName=)")
	}
	return names
}

// checkBeside finds why the list cannot have the kind and another.
func (e *entry) checkBeside(other *kind.Kind, names, others []string) {
	common := slices.IndexFunc(names, func(name string) bool { return slices.Contains(others, name) })
	isOneKind := e.GVK().GroupKind() == other.GVK().GroupKind()
	switch {
	case !isOneKind && common >= 0:
		e.add("%s has the %s, too: give one another", written(other.GVK()), names[common])
	case names == nil || !isOneKind:
	case e.GVK() == other.GVK():
		e.add("the list has %s twice: leave one out", written(e.GVK()))
	case !bytes.Equal(e.CRD(), other.CRD()):
		e.add("%s has another CustomResourceDefinition: give both the one that has both versions", written(other.GVK()))
	case !e.IsConverted() && !other.IsConverted():
		e.add("%s is rendered, too: give the older one Convert, instead of Expand, Children and Status", written(other.GVK()))
	}
}

// written returns a kind with its version, as a manifest has them.
func written(gvk schema.GroupVersionKind) string {
	return strings.TrimSpace(gvk.GroupVersion().String() + " " + gvk.Kind)
}
