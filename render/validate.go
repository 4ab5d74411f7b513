package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// validator finds what the API server would refuse, and what must not be in git.
type validator struct {
	kinds customKinds
}

// newValidator knows the kinds that are built in, those that this program brings,
// and, before those, those that the environment defines.
func newValidator(objects []object, report func(object, *field.Error)) *validator {
	v := &validator{kinds: maps.Clone(embeddedKinds())}
	for _, o := range objects {
		if !isDefinition(o.Unstructured) {
			continue
		}
		content, err := json.Marshal(o.Object)
		if err != nil {
			report(o, field.Invalid(nil, "", err.Error()))
			continue
		}
		for _, err := range v.kinds.add(content) {
			report(o, err)
		}
	}
	return v
}

// check returns an object with its defaults filled in, and what is wrong with it.
func (v *validator) check(u *unstructured.Unstructured) (*unstructured.Unstructured, field.ErrorList) {
	gvk := u.GroupVersionKind()
	if kind, ok := v.kinds[gvk]; ok {
		return kind.check(u)
	}
	if errs := checkType(u); len(errs) > 0 {
		return u, errs
	}
	switch {
	case isDefinition(u): // checked when it was added
		return u, nil
	case isSecret(u):
		return u, checkSecret(u)
	case scheme.Scheme.IsGroupRegistered(gvk.Group):
		return u, checkBuiltin(u)
	}
	if versions := v.versions(gvk.GroupKind()); len(versions) > 0 {
		return u, field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), u.GetAPIVersion(), versions)}
	}
	return u, append(v.misspelled(gvk), checkMetadata(u, u.GetNamespace() != "")...)
}

var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// checkType finds what keeps an object from having a kind.
func checkType(u *unstructured.Unstructured) (errs field.ErrorList) {
	if u.GetAPIVersion() == "" {
		errs = append(errs, field.Required(field.NewPath("apiVersion"), "write one like v1 or apps/v1"))
	}
	if !kindName.MatchString(u.GetKind()) {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), "must be letters and digits, like ConfigMap"))
	}
	return errs
}

// misspelled is the error of a kind that is none of those of one of our groups.
func (v *validator) misspelled(gvk apischema.GroupVersionKind) field.ErrorList {
	var known []string
	for k := range embeddedKinds() {
		if k.Group == gvk.Group {
			known = append(known, k.Kind)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), gvk.Kind, known)}
}

// checkMetadata checks what the metadata of every object has in common.
func checkMetadata(u *unstructured.Unstructured, namespaced bool) field.ErrorList {
	u = u.DeepCopy()
	if !namespaced {
		u.SetNamespace("") // the API server ignores it
	} else if u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	return apivalidation.ValidateObjectMetaAccessor(u, namespaced, isPathSegment, field.NewPath("metadata"))
}

// versions are the apiVersions of a custom kind that is known.
func (v *validator) versions(kind apischema.GroupKind) []string {
	var versions []string
	for gvk := range v.kinds {
		if gvk.GroupKind() == kind {
			versions = append(versions, gvk.GroupVersion().String())
		}
	}
	slices.Sort(versions)
	return versions
}

var builtin = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// checkBuiltin decodes an object of a built-in kind strictly.
func checkBuiltin(u *unstructured.Unstructured) field.ErrorList {
	gvk := u.GroupVersionKind()
	if !scheme.Scheme.IsVersionRegistered(gvk.GroupVersion()) {
		served := scheme.Scheme.PrioritizedVersionsForGroup(gvk.Group)
		versions := make([]string, len(served))
		for i, version := range served {
			versions[i] = version.String()
		}
		return field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), u.GetAPIVersion(), versions)}
	}
	if !scheme.Scheme.Recognizes(gvk) {
		known := slices.Collect(maps.Keys(scheme.Scheme.KnownTypes(gvk.GroupVersion())))
		return field.ErrorList{field.Invalid(field.NewPath("kind"), gvk.Kind, fmt.Sprintf("%s has no such kind%s", gvk.GroupVersion(), didYouMean(gvk.Kind, known)))}
	}
	namespaced, _ := isNamespaced(u)
	return append(checkMetadata(u, namespaced), decode(u)...)
}

// isPathSegment is the least that the API server asks of a name.
func isPathSegment(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// decode finds the fields of a built-in kind that are unknown or of a wrong type.
// Decoding stops at the first of a wrong type: it goes on without that.
func decode(u *unstructured.Unstructured) (errs field.ErrorList) {
	u = u.DeepCopy()
	for {
		encoded, err := json.Marshal(u.Object)
		if err != nil {
			return append(errs, decodingErrors(err)...)
		}
		if _, _, err = builtin.Decode(encoded, nil, nil); err == nil {
			return errs
		}
		found := decodingErrors(err)
		errs = append(errs, found...)
		if found[0].Type != field.ErrorTypeTypeInvalid || !remove(u.Object, splitField(found[0].Field)) {
			return errs
		}
	}
}

// remove removes a field, in every item of the lists on the way to it.
func remove(content any, keys []string) (removed bool) {
	switch content := content.(type) {
	case []any:
		for _, item := range content {
			removed = remove(item, keys) || removed
		}
	case map[string]any:
		value, ok := content[keys[0]]
		if ok && len(keys) == 1 {
			delete(content, keys[0])
			return true
		}
		return ok && remove(value, keys[1:])
	}
	return removed
}

// isNamespaced says whether objects of a built-in kind are in a namespace, and
// whether the kind is known.
func isNamespaced(u *unstructured.Unstructured) (namespaced, known bool) {
	return openapi.IsNamespaceScoped(yaml.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()})
}

var goField = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field \w+\.(\S+) of type (\S+)`)

// decodingErrors says of which fields an error of strict decoding is.
func decodingErrors(err error) field.ErrorList {
	messages := []string{err.Error()}
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		messages = messages[:0]
		for _, e := range strict.Errors() {
			messages = append(messages, e.Error())
		}
	}
	var errs field.ErrorList
	for _, message := range messages {
		if match := unknownField.FindStringSubmatch(message); match != nil {
			errs = append(errs, unknownFieldError(match[1], nil))
		} else if match := goField.FindStringSubmatch(message); match != nil {
			errs = append(errs, field.TypeInvalid(field.NewPath(match[2]), match[1], fmt.Sprintf("must be of type %s, not %s", match[3], match[1])))
		} else {
			errs = append(errs, field.Invalid(nil, "", message))
		}
	}
	return errs
}

// unknown begins the detail of an error that is of a field's name, not its value.
const unknown = "unknown field"

// unknownFieldError is the error of a field that is none of those known.
func unknownFieldError(path string, known []string) *field.Error {
	keys := splitField(path)
	hint := didYouMean(keys[len(keys)-1], known)
	if hint == "" && len(known) > 0 {
		slices.Sort(known)
		hint = ": write one of " + strings.Join(known, ", ")
	}
	return field.Forbidden(field.NewPath(path), unknown+hint)
}

// plainer has, for a part of a message that speaks to programs, what to say to
// people instead.
var plainer = []struct{ part, instead string }{
	{"must be of type date-time", "must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"},
	{"T[0-9]{2}:[0-9]{2}:[0-9]{2}", "must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"},
	{"([KMGTPE]i)|[numkMGTPE]", "must be a quantity, like 64Mi or 500m"},
}

// message is an error as a person reads it, without what is in its position.
func message(err *field.Error) string {
	if strings.HasPrefix(err.Detail, unknown) {
		return fmt.Sprintf("%s %q%s", unknown, err.Field, strings.TrimPrefix(err.Detail, unknown))
	}
	if isRoot(err.Field) {
		return err.Detail
	}
	err.Detail = strings.ReplaceAll(err.Detail, err.Field+" in body ", "")
	for _, p := range plainer {
		if strings.Contains(err.Detail, p.part) {
			return field.Invalid(field.NewPath(err.Field), err.BadValue, p.instead).Error()
		}
	}
	switch err.BadValue.(type) {
	case map[string]any, []any: // too much to say again
		if err.Type != field.ErrorTypeDuplicate {
			return err.Field + ": " + err.Detail
		}
	}
	if err.Type == field.ErrorTypeTypeInvalid {
		return err.Field + ": " + err.Detail // what it calls the value is its type
	}
	return err.Error()
}

// isRoot says whether the field of an error is the object itself.
func isRoot(field string) bool { return field == "" || field == "<nil>" }

// didYouMean is the hint at the known name that is nearest to a wrong one.
func didYouMean(name string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}
