// Package applicationset makes the Applications of an ApplicationSet of Argo CD as its controller does, from the files
// of a repository (applicationset/ of Argo CD). A refusal of the controller is a field.Error, and any other error names
// an unknown.
package applicationset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/templates"
)

// Is reports whether an object makes Applications of Argo CD.
func Is(o manifest.Object) bool {
	return o.GetKind() == "ApplicationSet" && manifest.Group(o.GetAPIVersion()) == "argoproj.io"
}

// applicationSet has the fields of an ApplicationSet of Argo CD that make its Applications.
type applicationSet struct {
	GoTemplate        bool
	GoTemplateOptions []string
	Generators        []map[string]any
	Template          map[string]any
	TemplatePatch     string
	SyncPolicy        struct{ PreserveResourcesOnDeletion bool }
}

// maxGenerated bounds the Applications of an ApplicationSet.
const maxGenerated = 1000

// Files are the files of a repository, by names from its root.
type Files interface {
	// Below returns the files below a folder, hidden ones as well.
	Below(folder string) []string
	ReadFile(name string) ([]byte, error)
}

// expansion makes the Applications of an ApplicationSet.
type expansion struct {
	applicationSet
	replacer
	strict replacer // a missing key is an error of it
	Known
	files Files
	below map[string][]string // of Files
}

// Known is what generators get from elsewhere.
type Known struct {
	// Clusters are the Secrets that register clusters.
	Clusters []manifest.Object
	// Parameters are of the kinds of generators that ask a server.
	Parameters map[string][]map[string]any
	// Origin tells which generators read the files.
	Origin application.Origin
}

type params map[string]any

// Expand returns the Applications of an ApplicationSet. Beside an error are the Applications that are right.
func Expand(set manifest.Object, files Files, known Known) (all []*unstructured.Unstructured, err error) {
	e := expansion{files: files, below: map[string][]string{}, Known: known}
	if err := manifest.Decode(set.Object["spec"], &e.applicationSet); err != nil {
		return nil, err
	}
	e.replacer, err = e.newReplacer(e.GoTemplateOptions...)
	if err != nil {
		return nil, err
	}
	e.strict, err = e.newReplacer("missingkey=error")
	if err != nil {
		return nil, err
	}
	var unmatched, asking error // of a generator: others make their Applications
	for i, content := range e.Generators {
		found, err := e.generate(content, nil, field.NewPath("spec", "generators").Index(i))
		if none := (NoMatchError{}); errors.As(err, &none) {
			unmatched = err
			continue
		}
		if errors.As(err, new(AskingError)) {
			asking = err
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, of := range found {
			made, err := e.applications(of)
			if err != nil {
				return nil, err
			}
			all = append(all, made...)
		}
		if len(all) > maxGenerated {
			return nil, errTooMany
		}
	}
	for _, u := range all {
		u.SetAPIVersion(set.GetAPIVersion())
		u.SetKind("Application")
		u.SetNamespace(set.GetNamespace())
	}
	all, err = unique(all)
	return all, cmp.Or(err, asking, unmatched)
}

var errTooMany = fmt.Errorf("it makes over %d Applications", maxGenerated)

// goFields matches a field in a Go template.
var goFields = regexp.MustCompile(`\{\{-?\s*\.([\w.]+).*?\}\}`)

// unique returns the Applications whose name no other one has, and an error for each name of several
// (validateGeneratedApplications in applicationset/controllers), and for each with a field that nothing replaces.
func unique(all []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	count := map[string]int{}
	for _, u := range all {
		count[u.GetName()]++
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if goField := goFields.FindStringSubmatch(name); goField != nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "template", "metadata", "name"), name,
				fmt.Sprintf("%s is of a Go template, and no Application can have this name: set "+
					"spec.goTemplate: true, or write {{%s}}", goField[0], goField[1])))
		} else if count[name] > 1 {
			errs = append(errs, field.Invalid(field.NewPath("spec", "template", "metadata", "name"), name,
				fmt.Sprintf("%d Applications have this name, and Argo CD updates neither: give each its own",
					count[name])))
		}
	}
	isWrong := func(u *unstructured.Unstructured) bool {
		return count[u.GetName()] > 1 || goFields.MatchString(u.GetName())
	}
	return slices.DeleteFunc(all, isWrong), errors.Join(errs...)
}

// applications returns the Applications of the parameters of a generator (GenerateApplications in
// applicationset/controllers/template).
func (e *expansion) applications(of made) (all []*unstructured.Unstructured, err error) {
	base := e.Template
	if len(of.template) > 0 {
		base = withDefaults(of.template, e.Template)
	}
	for _, p := range of.params {
		content, err := e.application(base, p)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		if u.GetName() == "" {
			return nil, errors.New("spec.template.metadata.name is no text")
		}
		all = append(all, u)
	}
	return all, nil
}

// withDefaults fills the empty fields of a generator's own template from the one of the ApplicationSet, as mergo.Merge
// does (mergeGeneratorTemplate in applicationset/generators). Values of a chart are one value.
func withDefaults(own, base map[string]any) map[string]any {
	for key, value := range base {
		above, isAbove := own[key].(map[string]any)
		below, isBelow := value.(map[string]any)
		switch {
		case isAbove && isBelow && len(above) > 0 && key != "valuesObject":
			own[key] = withDefaults(above, below)
		case isEmpty(own[key]):
			own[key] = value
		}
	}
	return own
}

// isEmpty reports whether a value is the zero value of its type, or an empty list or mapping.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return value == nil || value == "" || value == false || value == 0.0
}

// application returns the Application of a template and the patch (RenderTemplateParams in applicationset/utils).
func (e *expansion) application(base map[string]any, p params) (map[string]any, error) {
	application := runtime.DeepCopyJSON(base)
	if len(p) > 0 {
		content, err := e.fill(application, p, field.NewPath("spec", "template"))
		if err != nil {
			return nil, err
		}
		application, _ = content.(map[string]any)
		e.addFinalizer(application)
	}
	if e.TemplatePatch == "" {
		return application, nil
	}
	at := field.NewPath("spec", "templatePatch")
	text, err := e.text(e.TemplatePatch, p, at)
	if err != nil {
		return nil, err
	}
	patched, err := patch(application, text)
	if err != nil {
		return nil, field.Invalid(at, field.OmitValueType{}, err.Error())
	}
	return patched, nil
}

// finalizer deletes the objects of an Application with it.
const finalizer = "resources-finalizer.argocd.argoproj.io"

// addFinalizer adds the finalizer to an Application without any.
func (e *expansion) addFinalizer(application map[string]any) {
	u := unstructured.Unstructured{Object: application}
	if !e.SyncPolicy.PreserveResourcesOnDeletion && len(u.GetFinalizers()) == 0 {
		u.SetFinalizers([]string{finalizer})
	}
}

// newReplacer returns the replacer of an ApplicationSet, and the errors of options.
func (s applicationSet) newReplacer(options ...string) (replacer, error) {
	if !s.GoTemplate {
		return replacer{}, nil
	}
	var errs []error
	t := template.New("")
	for i, option := range options {
		if !setOption(t, option) {
			errs = append(errs, field.NotSupported(field.NewPath("spec", "goTemplateOptions").Index(i), option,
				[]string{"missingkey=default", "missingkey=zero", "missingkey=invalid", "missingkey=error"}))
		}
	}
	return replacer{templates.NewMaker(t, functions)}, errors.Join(errs...)
}

// setOption sets an option of a template, and reports whether the library has it, which panics otherwise.
func setOption(t *template.Template, option string) (isThere bool) {
	defer func() { isThere = recover() == nil }()
	t.Option(option)
	return true
}

// fill returns content with parameters in place of its templates, in keys as well (deeplyReplace in
// applicationset/utils).
func (e *expansion) fill(content any, p params, at *field.Path) (any, error) {
	switch content := content.(type) {
	case string:
		return e.text(content, p, at)
	case map[string]any:
		filled := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(content)) {
			name, err := e.text(key, p, at)
			if err != nil {
				return nil, err
			}
			if filled[name], err = e.fill(content[key], p, at.Child(key)); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case []any:
		filled := make([]any, len(content))
		for i, value := range content {
			var err error
			if filled[i], err = e.fill(value, p, at.Index(i)); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return content, nil
}

// text returns a text with parameters in place of its templates.
func (e *expansion) text(text string, p params, at *field.Path) (string, error) {
	made, err := e.replace(text, p)
	switch {
	case errors.Is(err, templates.ErrLarge), errors.Is(err, templates.ErrChanging):
		return "", fmt.Errorf("%s: %w", at, err)
	case err != nil:
		return "", field.Invalid(at, field.OmitValueType{}, err.Error())
	}
	return made, nil
}

// replacer replaces the templates in texts: with Go templates, or without a Maker by names.
type replacer struct{ maker *templates.Maker }

// replace replaces the templates in a text (Replace in applicationset/utils). Without Go templates a parameter that is
// unknown or no text stays as it is, and braces are a template only in one line.
func (r replacer) replace(text string, p params) (string, error) {
	if r.maker != nil {
		return r.maker.Make(text, map[string]any(p))
	}
	if !hasTemplate.MatchString(text) {
		return text, nil
	}
	var made strings.Builder
	for rest := text; made.Len() <= templates.Most; {
		before, after, isTemplate := strings.Cut(rest, "{{")
		made.WriteString(before)
		if !isTemplate {
			return made.String(), nil
		}
		tag, below, isClosed := strings.Cut(after, "}}")
		if !isClosed {
			return "", errors.New("a template begins with {{ and has no }}")
		}
		value, isText := p[strings.TrimSpace(tag)].(string)
		if !isText {
			value = "{{" + tag + "}}"
		}
		made.WriteString(value)
		rest = below
	}
	return "", templates.ErrLarge
}
