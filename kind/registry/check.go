package registry

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/kind"
)

// check returns all that is wrong with the kinds of a list. Each error names its kind and
// says what to do.
func check(all []kind.Kind) error {
	var errs []error
	crds := make([]*apiextensionsv1.CustomResourceDefinition, len(all))
	for i := range all {
		found := problems{}
		crds[i] = entry{&all[i]}.check(all, &found)
		errs = append(errs, found.errorsOf(entry{&all[i]}.title(i))...)
	}
	return errors.Join(append(errs, clashes(all, crds)...)...)
}

// problems are what is wrong with a kind.
type problems []string

func (p *problems) add(format string, args ...any) {
	*p = append(*p, fmt.Sprintf(format, args...))
}

// errorsOf returns the problems as errors that begin with a title.
func (p *problems) errorsOf(title string) []error {
	errs := make([]error, len(*p))
	for i, problem := range *p {
		errs[i] = fmt.Errorf("%s: %s", title, problem)
	}
	return errs
}

// title returns what errors call the kind at an index of a list.
func (k entry) title(index int) string {
	if k.GVK.Kind == "" {
		return fmt.Sprintf("kind %d of the list", index+1)
	}
	return k.GVK.Kind
}

// check finds what is wrong with a kind of a list. It returns the
// CustomResourceDefinition, nil where that is none of the kind.
func (k entry) check(all []kind.Kind, found *problems) *apiextensionsv1.CustomResourceDefinition {
	if k.New == nil {
		found.add("it was not made by kind.Define: pass what that returns")
		return nil
	}
	k.checkNames(found)
	k.checkScheme(found)
	if k.IsConverted() {
		k.checkConverted(all, found)
	} else {
		k.checkExpansion(all, found)
	}
	crd, err := ReadCRD(k.CRD)
	if err != nil {
		found.add("CRD: %v", err)
		return nil
	}
	root := k.checkCRD(crd, found)
	if root == nil {
		return nil
	}
	if !k.IsConverted() {
		checkStatus(root, found)
	}
	k.checkFields(all, root, found)
	k.checkPaths(root, found)
	return crd
}

// checkExpansion finds what is wrong with what the kind says of what it is rendered to.
func (k entry) checkExpansion(all []kind.Kind, found *problems) {
	if k.Expand == nil {
		found.add("Expand is nil: set it to the function that returns what the kind is rendered to")
	}
	k.checkChildren(all, found)
}

// checkConverted finds what is wrong with a version that is rendered as another.
func (k entry) checkConverted(all []kind.Kind, found *problems) {
	isRendered := func(other kind.Kind) bool { return other.GVK.GroupKind() == k.GVK.GroupKind() && !other.IsConverted() }
	if !slices.ContainsFunc(all, isRendered) {
		found.add("Convert is set, and the list has no version of the kind that is rendered: add it")
	}
	for name, isSet := range map[string]bool{
		"Expand": k.Expand != nil, "Children": len(k.Children) > 0, "Status": k.Decide != nil, "Digest": k.Digest != nil, "Gate": k.Gate != "",
	} {
		if isSet {
			found.add("%s is set, and Convert has another version rendered: leave one of them out", name)
		}
	}
	slices.Sort(*found)
}

// checkNames finds what the API server would refuse of a group, version and kind.
func (k entry) checkNames(found *problems) {
	group, version, kind := k.GVK.Group, k.GVK.Version, k.GVK.Kind
	switch {
	case group == "":
		found.add("GVK has no group: set it, like example.com")
	case len(validation.IsDNS1123Subdomain(group)) > 0 || !strings.Contains(group, "."):
		found.add("GVK: the group %q is not a domain with a dot in lower case, like example.com", group)
	}
	switch {
	case version == "":
		found.add("GVK has no version: set it, like v1alpha1")
	case len(validation.IsDNS1035Label(version)) > 0:
		found.add("GVK: the version %q is not lower case letters and digits, like v1alpha1", version)
	}
	switch {
	case kind == "":
		found.add("GVK has no kind: set it to the name of the Go type")
	case len(validation.IsDNS1035Label(strings.ToLower(kind))) > 0:
		found.add("GVK: the kind %q is not letters and digits, like Memcached", kind)
	}
}

// checkScheme finds whether AddToScheme adds what a client of the API server needs.
func (k entry) checkScheme(found *problems) {
	if k.AddToScheme == nil {
		found.add("AddToScheme is nil: set it to that of the package of its Go type")
		return
	}
	scheme := runtime.NewScheme()
	if err := addSafely(k.AddToScheme, scheme); err != nil {
		found.add("AddToScheme: %v", err)
		return
	}
	want := reflect.TypeOf(k.New()).Elem()
	list := k.GVK.GroupVersion().WithKind(k.GVK.Kind + "List")
	switch got, ok := scheme.AllKnownTypes()[k.GVK]; {
	case !ok:
		found.add("AddToScheme does not add %s: have it add &%s{} to the scheme", written(k.GVK), want)
	case got != want:
		found.add("AddToScheme adds %s as %s: it has to be %s", got, written(k.GVK), want)
	}
	if !scheme.Recognizes(list) {
		found.add("AddToScheme does not add %s: have it add &%sList{} to the scheme", written(list), want)
	}
	if !scheme.Recognizes(k.GVK.GroupVersion().WithKind("ListOptions")) {
		found.add("AddToScheme does not add the types of all groups: have it call metav1.AddToGroupVersion(scheme, %s)", k.GVK.GroupVersion())
	}
}

// addSafely calls an AddToScheme and returns its panic as an error.
func addSafely(add func(*runtime.Scheme) error, scheme *runtime.Scheme) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it panics: %v", cause)
		}
	}()
	return add(scheme)
}

// written returns a kind with its version, as a manifest has them.
func written(gvk schema.GroupVersionKind) string {
	version, kind := gvk.ToAPIVersionAndKind()
	return version + " " + kind
}
