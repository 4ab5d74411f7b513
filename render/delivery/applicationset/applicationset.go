// Package applicationset makes the Applications of an ApplicationSet of Argo CD as its controller does, from the files
// of a repository (applicationset/generators and applicationset/utils of Argo CD).
package applicationset

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/templates"
)

// applicationSet has the fields of an ApplicationSet of Argo CD that make its Applications.
type applicationSet struct {
	GoTemplate        bool
	GoTemplateOptions []string
	Generators        []generator
	Template          map[string]any
	TemplatePatch     string
}

// generator is a generator that needs nothing but files and objects, or any other one without a field.
type generator struct {
	List *struct {
		Elements []map[string]any
		Template map[string]any
	}
	Git *struct {
		Directories, Files []pattern
		Values             map[string]string
		Template           map[string]any
	}
	Clusters *clusterGenerator
	Matrix   *applicationSet
	Merge    *struct {
		applicationSet
		MergeKeys []string
	}
	Selector *metav1.LabelSelector
}

// pattern selects folders or files, or excludes them.
type pattern struct {
	Path    string
	Exclude bool
}

// maxGenerated bounds the Applications of an ApplicationSet.
const maxGenerated = 1000

// Files are the files of a repository.
type Files interface {
	// Find returns the names in the repository that match, sorted, except hidden ones.
	Find(matches func(name string, isDir bool) bool) []string
	ReadFile(name string) ([]byte, error)
}

// Expand returns the Applications of an ApplicationSet. Clusters are the Secrets that register clusters. The error
// names a part that needs more than these, or a mistake.
func Expand(set manifest.Object, files Files, clusters []manifest.Object) (all []*unstructured.Unstructured,
	err error) {
	e := expansion{files: files, clusters: clusters}
	if err := manifest.Decode(set.Object["spec"], &e.applicationSet); err != nil {
		return nil, err
	}
	e.maker, err = e.newMaker()
	if err != nil {
		return nil, err
	}
	var made []params
	for _, g := range e.Generators {
		found, err := e.generate(g, nil)
		if err != nil {
			return nil, err
		}
		made = append(made, found...)
	}
	if len(made) > maxGenerated {
		return nil, fmt.Errorf("over %d Applications", maxGenerated)
	}
	for _, p := range made {
		application, err := e.application(p)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: map[string]any{"kind": "Application"}}
		u.SetAPIVersion(set.GetAPIVersion())
		maps.Copy(u.Object, application)
		if u.GetName() == "" {
			return nil, errors.New("spec.template.metadata.name")
		}
		u.SetNamespace(set.GetNamespace())
		all = append(all, u)
	}
	return all, nil
}

// expansion makes the parameters of an ApplicationSet.
type expansion struct {
	applicationSet
	maker    *templates.Maker
	files    Files
	clusters []manifest.Object
}

type params map[string]any

// generate returns the parameters of a generator. Outer are those of the generator before it in a matrix.
func (e expansion) generate(g generator, outer params) ([]params, error) {
	all, own, err := e.parameters(g, outer)
	switch {
	case len(own) > 0:
		return nil, errors.New("template of a generator")
	case err != nil || g.Selector == nil:
		return all, err
	}
	return selected(all, g.Selector)
}

// parameters returns the parameters of a generator before its selector, and its own template.
func (e expansion) parameters(g generator, outer params) (all []params, own map[string]any, err error) {
	switch {
	case g.List != nil:
		for _, element := range g.List.Elements {
			all = append(all, e.flat(element, ""))
		}
		return all, g.List.Template, nil
	case g.Git != nil:
		if all, err = e.ofGit(g, outer); err == nil {
			err = e.addValues(all, g.Git.Values)
		}
		return all, g.Git.Template, err
	case g.Clusters != nil:
		all, err = e.ofClusters(*g.Clusters)
		return all, g.Clusters.Template, err
	case g.Matrix != nil && len(g.Matrix.Generators) == 2:
		all, err = e.matrix(g.Matrix.Generators)
		return all, g.Matrix.Template, err
	case g.Merge != nil && len(g.Merge.Generators) > 1:
		all, err = e.merge(g.Merge.Generators, g.Merge.MergeKeys)
		return all, g.Merge.Template, err
	}
	return nil, nil, errors.New("a generator other than list, git, clusters, matrix and merge")
}

// ofGit returns the parameters of the folders or files that a generator selects.
func (e expansion) ofGit(g generator, outer params) (all []params, err error) {
	if len(g.Git.Directories) > 0 {
		names, err := e.matching(g.Git.Directories, "folder", outer)
		for _, name := range names {
			all = append(all, e.withPath(nil, name, ""))
		}
		return all, err
	}
	names, err := e.matching(g.Git.Files, "file", outer)
	for _, name := range names {
		found, err := e.readFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, err
}

// matrix returns each pair of parameters of two generators.
func (e expansion) matrix(generators []generator) (all []params, err error) {
	first, err := e.generate(generators[0], nil)
	if err != nil {
		return nil, err
	}
	for _, outer := range first {
		second, err := e.generate(generators[1], outer)
		if err != nil {
			return nil, err
		}
		for _, inner := range second {
			both := maps.Clone(outer)
			maps.Copy(both, inner)
			all = append(all, both)
		}
		if len(all) > maxGenerated {
			return nil, fmt.Errorf("over %d Applications", maxGenerated)
		}
	}
	return all, nil
}

// matching returns the names that patterns select, of each folder or each file.
func (e expansion) matching(all []pattern, sort string, outer params) ([]string, error) {
	var patterns, excluded []string
	for _, p := range all {
		text, err := e.text(p.Path, outer)
		if err != nil {
			return nil, err
		}
		if p.Exclude {
			excluded = append(excluded, text)
		} else {
			patterns = append(patterns, text)
		}
	}
	names := e.files.Find(func(name string, isDir bool) bool {
		return isDir == (sort == "folder") && matchesAny(patterns, name) && !matchesAny(excluded, name)
	})
	if len(names) == 0 { // perhaps of another repository
		return nil, fmt.Errorf("no %s of this repository matches %s", sort, strings.Join(patterns, ", "))
	}
	return names, nil
}

// readFile returns the parameters in a file: one mapping, or a list of them.
func (e expansion) readFile(name string) (all []params, err error) {
	content, err := e.files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []map[string]any
	if err := yaml.Unmarshal(content, &list); err != nil {
		var one map[string]any
		if err := yaml.Unmarshal(content, &one); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, one)
	}
	for _, values := range list {
		all = append(all, e.withPath(values, path.Dir(name), path.Base(name)))
	}
	return all, nil
}

// matchesAny reports whether a name matches a pattern of package path, where ** stands for any folders.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		parts := strings.Split(pattern, "**")
		if len(parts) == 1 {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		}
		expression := "^"
		for i, part := range parts {
			if i > 0 {
				expression += ".*"
			}
			expression += strings.ReplaceAll(regexp.QuoteMeta(part), `\*`, "[^/]*")
		}
		ok, err := regexp.MatchString(expression+"$", name)
		return ok && err == nil
	})
}

// withPath returns parameters with the path of a folder, and with a file in it if there is one.
func (e expansion) withPath(values map[string]any, folder, file string) params {
	base, names := path.Base(folder), strings.Split(folder, "/")
	segments := make([]any, len(names))
	p, at := e.flat(values, ""), map[string]any{"basename": base, "basenameNormalized": normalize(base)}
	if file != "" {
		at["filename"], at["filenameNormalized"] = file, normalize(file)
	}
	for i, segment := range names {
		segments[i] = segment
		if !e.GoTemplate {
			p["path["+strconv.Itoa(i)+"]"] = segment
		}
	}
	if e.GoTemplate {
		at["path"], at["segments"] = folder, segments
		p["path"] = at
		return p
	}
	maps.Copy(p, e.flat(at, "path."))
	p["path"] = folder
	return p
}

var notInNames = regexp.MustCompile("[^-a-z0-9.]")

// normalize returns a text as a part of names (SanitizeName of Argo CD).
func normalize(text string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-.")
}

// flat returns parameters as templates take them: Go templates as they are, and others by their joined names.
func (e expansion) flat(values map[string]any, prefix string) params {
	p := params{}
	for name, value := range values {
		below, isMap := value.(map[string]any)
		switch {
		case e.GoTemplate:
			p[name] = value
		case isMap:
			maps.Copy(p, e.flat(below, prefix+name+"."))
		default:
			p[prefix+name] = fmt.Sprint(value)
		}
	}
	return p
}

// fill returns content with parameters in place of its templates.
func (e expansion) fill(content any, p params) (any, error) {
	switch content := content.(type) {
	case string:
		return e.text(content, p)
	case map[string]any:
		filled := map[string]any{}
		for key, value := range content {
			name, err := e.text(key, p)
			if err != nil {
				return nil, err
			}
			if filled[name], err = e.fill(value, p); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case []any:
		filled := make([]any, len(content))
		for i, value := range content {
			var err error
			if filled[i], err = e.fill(value, p); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return content, nil
}

var simpleTemplate = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// text returns a text with parameters in place of its templates.
func (e expansion) text(text string, p params) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if !e.GoTemplate {
		size := len(text)
		filled := simpleTemplate.ReplaceAllStringFunc(text, func(match string) string {
			value, isKnown := p[strings.TrimSpace(match[2:len(match)-2])]
			if !isKnown || size > templates.Most { // the controller leaves an unknown one
				return match
			}
			printed := fmt.Sprint(value)
			size += len(printed)
			return printed
		})
		if size > templates.Most {
			return "", fmt.Errorf("spec.template: %w", templates.ErrLarge)
		}
		return filled, nil
	}
	made, err := e.maker.Make(text, map[string]any(p))
	if err != nil {
		return "", fmt.Errorf("spec.template: %w", err)
	}
	return made, nil
}

// newMaker returns the Maker of the texts of Go templates, with the functions that Argo CD adds, and the errors of
// options.
func (s applicationSet) newMaker() (*templates.Maker, error) {
	var errs []error
	t := template.New("")
	for i, option := range s.GoTemplateOptions {
		if s.GoTemplate && !setOption(t, option) {
			errs = append(errs, field.NotSupported(field.NewPath("spec", "goTemplateOptions").Index(i), option,
				[]string{"missingkey=default", "missingkey=zero", "missingkey=invalid", "missingkey=error"}))
		}
	}
	return templates.NewMaker(t, template.FuncMap{"toYaml": templates.ToYAML, "normalize": normalize,
		"fromYaml": fromYAML[map[string]any], "fromYamlArray": fromYAML[[]any]}), errors.Join(errs...)
}

// setOption sets an option of a template, and reports whether the library has it, which panics otherwise.
func setOption(t *template.Template, option string) (isThere bool) {
	defer func() { isThere = recover() == nil }()
	t.Option(option)
	return true
}

func fromYAML[T any](text string) (value T, err error) {
	err = yaml.Unmarshal([]byte(text), &value)
	return value, err
}
