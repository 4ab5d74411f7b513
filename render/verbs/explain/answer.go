package explain

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Question asks for objects of an environment: for those of a file, or for one.
type Question struct {
	Environment string
	// File is one that people write or that render wrote, relative to the root, with slashes;
	// empty where it is an object that is asked for.
	File string
	// Kind, Name and Namespace are those of an object as kubectl takes them; Namespace may be
	// empty.
	Kind, Name, Namespace string
}

// Answer is what there is to say about objects of an environment.
type Answer struct {
	Environment string        `json:"environment"`
	Objects     []Explanation `json:"objects"`
	// Errors are those of the environment: where there are any, some objects or what they are
	// rendered to may be missing.
	Errors []manifest.Problem `json:"errors"`
}

// Ask answers a question. An error says what to ask instead. It calls progress with the name of each
// step.
func Ask(repository *render.Repository, q Question, progress func(step string)) (*Answer, error) {
	examined, err := render.Examine(repository, q.Environment, progress)
	if err != nil {
		return nil, err
	}
	e := explainer{examined}
	answer := &Answer{Environment: q.Environment, Objects: []Explanation{}}
	answer.Errors, _ = manifest.SplitProblems(e.Problems)
	if e.Ways == nil {
		return answer, nil
	}
	progress("explaining")
	switch {
	case q.File == "":
		answer.Objects, err = e.askObject(q)
	case strings.HasPrefix(q.File, tree.Folder+"/"):
		answer.Objects, err = e.askRendered(q.File)
	default:
		answer.Objects, err = e.askSource(repository, q.File)
	}
	return answer, err
}

// askObject explains the object of a kind and name, or those of it that patches remove.
func (e explainer) askObject(q Question) (explained []Explanation, err error) {
	found, err := e.find(q)
	if err == nil {
		return []Explanation{e.object(found)}, nil
	}
	for _, way := range e.removedWays() {
		if e.isAsked(q, way.Document) {
			explained = append(explained, e.removed(way))
		}
	}
	if len(explained) > 0 {
		return explained, nil
	}
	return nil, err
}

// isAsked reports whether a question may be about a document.
func (e explainer) isAsked(q Question, d source.Document) bool {
	return e.kindOf(q.Kind).matches(schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)) && d.Name == q.Name && q.isIn(d.Namespace)
}

// isIn reports whether the question may be about an object that names a namespace, or none.
func (q Question) isIn(namespace string) bool {
	return q.Namespace == "" || namespace == "" || namespace == q.Namespace
}

// removedWays returns the ways of objects that people wrote and that are not built, unless one
// that is built may be them by another name.
func (e explainer) removedWays() (removed []kustomize.Way) {
	isBuilt, isRenamed := map[*yaml.Node]bool{}, map[string]bool{}
	for _, p := range e.Objects {
		if p.IsRendered() || p.Written == nil {
			continue
		}
		if way := e.Ways.Find(p.Object); way != nil {
			isBuilt[way.Document.Node] = true
		} else {
			isRenamed[p.GetKind()] = true
		}
	}
	for _, way := range e.Ways.All {
		if !isBuilt[way.Document.Node] && !isRenamed[way.Document.Kind] {
			removed = append(removed, way)
		}
	}
	return removed
}

// askRendered explains the object of a rendered file.
func (e explainer) askRendered(file string) ([]Explanation, error) {
	for _, p := range e.Objects {
		if e.reference(p).File == file {
			return []Explanation{e.object(p)}, nil
		}
	}
	if path.Base(file) == "kustomization.yaml" {
		return nil, fmt.Errorf("%s is the index of what is rendered: name a file that it lists", file)
	}
	files := make([]string, len(e.Objects))
	for i, p := range e.Objects {
		files[i] = e.reference(p).File
	}
	return nil, fmt.Errorf("%s: no object of %s is rendered to it%s", file, e.Environment, manifest.DidYouMean(file, files))
}

// askSource explains the objects that a file has, or may change.
func (e explainer) askSource(repository *render.Repository, file string) ([]Explanation, error) {
	if !slices.Contains(e.Sources.FS.FilesRead(), file) {
		return nil, e.notIn(repository, file)
	}
	explained := []Explanation{}
	for _, p := range e.Objects {
		if e.uses(p.Object, file) {
			explained = append(explained, e.object(p))
		}
	}
	for _, way := range e.removedWays() {
		if e.Ways.Uses(way, "/"+file) {
			explained = append(explained, e.removed(way))
		}
	}
	if len(explained) == 0 {
		return nil, fmt.Errorf("%s is read for %s, and changes no object there", file, e.Environment)
	}
	return explained, nil
}

// uses reports whether an object is written in a file, or may be changed by it. What is rendered
// uses the files of overrides alone.
func (e explainer) uses(o manifest.Object, file string) bool {
	if o.IsRendered() {
		before, folder, ok := e.BeforeOverrides(o)
		return ok && e.Ways.OverridesUse(folder, before, "/"+file)
	}
	if way := e.wayOf(o); way != nil {
		return e.Ways.Uses(*way, "/"+file)
	}
	return e.Locate(o).File == file
}

// notIn returns the error of a file that an environment is not made from.
func (e explainer) notIn(repository *render.Repository, file string) error {
	names, err := repository.Environments()
	if err != nil {
		return err
	}
	if other := EnvironmentOf(file, names); other != "" && other != e.Environment {
		return fmt.Errorf("%s is not in %s: write --env %s", file, e.Environment, other)
	}
	return fmt.Errorf("%s is not in %s: no kustomization loads it; list it in one, or name another environment", file, e.Environment)
}

// EnvironmentOf returns the environment whose folder in rendered/ or environments/ a path is
// below; empty where it is below none.
func EnvironmentOf(file string, environments []string) string {
	for _, folder := range []string{tree.Folder, tree.EnvironmentsFolder} {
		if rest, ok := strings.CutPrefix(path.Clean(file), folder+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			if slices.Contains(environments, name) {
				return name
			}
		}
	}
	return ""
}
