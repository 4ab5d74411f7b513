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

// entry is a kind of a list, with the problems of its Definition or of the results of its functions.
type entry struct {
	*kind.Kind
	kinds *Kinds // the list
	problems
}

// problems are messages about a kind or an object. Each ends with a remedy.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p *problems) addIf(isWrong bool, format string, args ...any) {
	if isWrong {
		p.add(format, args...)
	}
}

// joined returns the problems as one error, each line prefixed with a title.
func (p problems) joined(title string) error {
	errs := make([]error, len(p))
	for i, problem := range p {
		errs[i] = fmt.Errorf("%s: %s", title, problem)
	}
	return errors.Join(errs...)
}

// problems returns the errors of all kinds of a list. Rendering reports the rest: the code of the API
// server checks the CustomResourceDefinitions and the rendered objects.
func (k *Kinds) problems() error {
	errs := make([]error, len(k.All))
	names := make([][]string, len(k.All))
	for i := range k.All {
		e := entry{Kind: &k.All[i], kinds: k}
		name := fmt.Sprintf("kind %d of the list", i+1)
		if !e.IsDefined() {
			errs[i] = fmt.Errorf("%s: it is not from kind.Define: pass the result of kind.Define", name)
			continue
		}
		e.check()
		names[i] = e.names()
		for j := range i {
			if k.All[j].IsDefined() {
				e.checkBeside(&k.All[j], names[i], names[j])
			}
		}
		errs[i] = e.joined(cmp.Or(e.GVK().Kind, name))
	}
	return errors.Join(errs...)
}

func (e *entry) check() {
	e.checkScheme()
	if e.IsConverted() {
		e.addIf(e.kinds.FindRendered(e.GVK().GroupKind()) == nil,
			"Convert is set, and the list has no version of the kind that is rendered: add it")
		hasMore := e.Expand != nil || len(e.Children()) > 0 || e.Status != nil || e.Digest != nil || e.Gate() != ""
		e.addIf(hasMore,
			"Convert is set, so another version is rendered: leave out Convert, or Expand, Children, Status, Digest "+
				"and Gate")
	} else {
		e.addIf(e.Expand == nil, "Expand is nil: set it to the function that returns the children")
		e.checkChildren()
	}
	e.checkCRD()
}

// checkScheme checks that AddToScheme adds the types that a client of the API server needs.
func (e *entry) checkScheme() {
	if e.AddToScheme == nil {
		e.add("AddToScheme: it is nil: set it to AddToScheme of the package of the Go type")
		return
	}
	types := runtime.NewScheme()
	if _, err := call("it", func() (any, error) { return nil, e.AddToScheme(types) }); err != nil {
		e.add("AddToScheme: %v", err)
		return
	}
	want := reflect.TypeOf(e.New()).Elem()
	group := e.GVK().GroupVersion()
	e.addIf(types.AllKnownTypes()[e.GVK()] != want,
		"AddToScheme does not add %s as %s: have it add &%s{} to the scheme", want, title(e.GVK()), want)
	list := group.WithKind(e.GVK().Kind + "List")
	e.addIf(!types.Recognizes(list), "AddToScheme does not add %s: have it add &%sList{} to the scheme",
		title(list), want)
	e.addIf(!types.Recognizes(group.WithKind("ListOptions")),
		"AddToScheme does not add the types of all groups: have it call metav1.AddToGroupVersion(scheme, %s)", group)
}

func (e *entry) checkChildren() {
	children := e.Children()
	e.addIf(len(children) == 0, "Children is empty: list the kinds of the objects that Expand returns")
	for i, child := range children {
		problem := e.problemOf(child)
		isSame := func(c kind.Child) bool { return c.GVK.GroupKind() == child.GVK.GroupKind() }
		if problem == "" && slices.ContainsFunc(children[:i], isSame) {
			problem = "it is listed twice: leave one out"
		}
		e.addIf(problem != "", "Children[%d], %s: %s", i, title(child.GVK), problem)
	}
	e.addIf(e.Gate() != "" && e.Observes(schema.GroupKind{Kind: "Pod"}) == nil,
		"Gate is set, and the controller has to read the Pods that wait behind it: list v1 Pod in Children, without "+
			"Unobserved")
}

// problemOf returns the problem of a child kind, or an empty string.
func (e *entry) problemOf(child kind.Child) string {
	gk := child.GVK.GroupKind()
	isKnown := scheme.Scheme.Recognizes(child.GVK)
	guess, _ := meta.UnsafeGuessKindToResource(child.GVK)
	isPlural := len(validation.IsDNS1035Label(child.Resource)) == 0 && (!isKnown || child.Resource == guess.Resource)
	switch {
	case gk.Kind == "" || child.GVK.Version == "":
		return "it has no kind or no version: set its GVK, like v1 Pod"
	case e.isSource(gk):
		return "it is a source kind: have Expand return its children"
	case gk == schema.GroupKind{Kind: "Secret"} && !child.Unobserved:
		return "the controller is not to read Secrets: set Unobserved"
	case scheme.Scheme.IsGroupRegistered(gk.Group) && !isKnown:
		return "Kubernetes has no such kind: write one that kubectl api-resources lists"
	case child.Resource != "" && !isPlural:
		return fmt.Sprintf("%q is not its plural: write the NAME in kubectl api-resources, like networkpolicies",
			child.Resource)
	case refusesChanges(gk) && !child.Immutable && !e.mayMakePods(gk):
		return "the API server refuses changes of it: set Immutable, so that a change makes a new object"
	}
	return ""
}

// mayMakePods reports whether children other than gk may make Pods or Jobs. Custom resources may.
func (e *entry) mayMakePods(gk schema.GroupKind) bool {
	return slices.ContainsFunc(e.Children(), func(c kind.Child) bool {
		return c.GVK.Group == "apps" || c.GVK.Group == "batch" && c.GVK.GroupKind() != gk ||
			!scheme.Scheme.IsGroupRegistered(c.GVK.Group)
	})
}

// refusesChanges reports whether the API server refuses most changes of the objects of a kind.
func refusesChanges(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Pod"} || gk == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// isSource reports whether the list has a group and kind, in any version.
func (e *entry) isSource(gk schema.GroupKind) bool {
	return e.kinds.first(func(k *kind.Kind) bool { return k.GVK().GroupKind() == gk }) != nil
}

// names returns the names that no two kinds may share; nil if the CustomResourceDefinition is wrong.
func (e *entry) names() []string {
	names := []string{"name " + strings.ToLower(e.GVK().Kind)}
	if e.Gate() != "" {
		names = append(names, "Gate "+e.Gate()) // two controllers would open it
	}
	crd, _, err := e.ReadCRD()
	if err != nil || crd.Spec.Names.Kind != e.GVK().Kind {
		return nil
	}
	names = append(names, "plural "+crd.Spec.Names.Plural+" (// +kubebuilder:resource:path=)")
	for _, short := range append(crd.Spec.Names.ShortNames, crd.Spec.Names.Singular) {
		names = append(names, "short name "+short+" in group "+crd.Spec.Group+" (// +kubebuilder:resource:shortName=)")
	}
	return names
}

// checkBeside checks that the list can have both the kind and another.
func (e *entry) checkBeside(other *kind.Kind, names, others []string) {
	common := slices.IndexFunc(names, func(name string) bool { return slices.Contains(others, name) })
	isOneKind := e.GVK().GroupKind() == other.GVK().GroupKind()
	switch {
	case !isOneKind && common >= 0:
		e.add("%s has the same %s: change one of them", title(other.GVK()), names[common])
	case names == nil || !isOneKind:
	case e.GVK() == other.GVK():
		e.add("the list has %s twice: leave one out", title(e.GVK()))
	case !bytes.Equal(e.CRD(), other.CRD()):
		e.add("%s has another CustomResourceDefinition: give both the one that has both versions", title(other.GVK()))
	case !e.IsConverted() && !other.IsConverted():
		e.add("%s is rendered, too: give the older one Convert, instead of Expand, Children and Status",
			title(other.GVK()))
	}
}

// title returns the version and kind for messages, like v1 Pod.
func title(gvk schema.GroupVersionKind) string {
	return strings.TrimSpace(gvk.GroupVersion().String() + " " + gvk.Kind)
}
