package explain

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/tree"
)

// Question asks for one object of an environment, or for all objects of a file.
type Question struct {
	Environment string
	// File is a source file or a rendered file, relative to the root, with slashes. It is empty in a
	// question for one object.
	File string
	// Kind, Name and Namespace identify an object, as in kubectl. Namespace may be empty.
	Kind, Name, Namespace string
}

// Answer explains objects of an environment.
type Answer struct {
	Environment string        `json:"environment"`
	Objects     []Explanation `json:"objects"`
	// Errors are the errors of the environment. If there are any, objects may be missing.
	Errors []manifest.Problem `json:"errors"`
	// Fetched are the files that were fetched; none by Ask.
	Fetched []fetched.Files `json:"fetched,omitempty"`
}

// Ask answers a question. Its error suggests a better question. It calls progress with the name of each
// step.
func Ask(repository *render.Repository, q Question, progress func(step string)) (*Answer, error) {
	names, err := repository.Select(render.Selection{Names: []string{q.Environment}})
	if err != nil {
		return nil, err
	}
	examined := repository.Judge(names[0], render.LoadOptions{Progress: progress})
	answer := &Answer{Environment: q.Environment, Objects: []Explanation{}}
	answer.Errors, _ = manifest.SplitProblems(examined.Problems)
	if examined.Paths() == nil {
		return answer, nil
	}
	progress("explaining")
	defer kustomize.Share(examined.Sources())()
	mutations := examined.Mutations()
	var all explainers
	for _, d := range examined.Deliveries() {
		all = append(all, explainer{Delivery: d, environment: examined, Objects: examined.Objects(d),
			mutations: mutations})
	}
	switch {
	case q.File == "":
		answer.Objects, err = all.explainObject(q)
	case strings.HasPrefix(q.File, tree.Folder+"/"):
		answer.Objects, err = all.explainRendered(q.File)
	default:
		answer.Objects, err = all.explainSource(repository, q.File)
	}
	return answer, err
}

// explainers explain the objects of an environment, and then of its deliveries.
type explainers []explainer

func (all explainers) objects() (objects []manifest.Object) {
	for _, e := range all {
		objects = append(objects, e.Objects...)
	}
	return objects
}

// explainObject explains the object of a question, for each delivery that brings it, or the source objects of that name
// that patches remove.
func (all explainers) explainObject(q Question) (explained []Explanation, err error) {
	definitions, _ := all[0].environment.Definitions() // the entry is always there
	kind := kindQueryOf(q.Kind, slices.Concat(all.objects(), definitions))
	found, err := kind.find(q, all.objects())
	for _, e := range all {
		if err == nil {
			for _, o := range e.Objects {
				if o.ID() == found.ID() {
					explained = append(explained, e.explain(o))
				}
			}
			continue
		}
		for _, buildPath := range e.removedPaths() {
			d := buildPath.Document
			if kind.matches(schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)) && d.Name == q.Name &&
				q.matchesNamespace(d.Namespace) {
				explained = append(explained, e.explainRemoved(buildPath))
			}
		}
	}
	if len(explained) > 0 {
		return explained, nil
	}
	return nil, err
}

// matchesNamespace reports whether the question may be about an object in a namespace. An empty one
// matches any.
func (q Question) matchesNamespace(namespace string) bool {
	return q.Namespace == "" || namespace == "" || namespace == q.Namespace
}

// removedPaths returns the build paths of removed source objects. It leaves out the kinds of built objects
// without a known source: one of these may be the same object under a new name.
func (e explainer) removedPaths() (removed []kustomize.Path) {
	if e.Paths() == nil {
		return nil
	}
	isBuilt := map[*source.Tree]bool{}
	isRenamed := map[string]bool{}
	for _, p := range e.Objects {
		if p.IsRendered() || p.Written == nil {
			continue
		}
		if buildPath := e.Paths().Find(p); buildPath != nil {
			isBuilt[buildPath.Document.Tree] = true
		} else {
			isRenamed[p.GetKind()] = true
		}
	}
	for _, buildPath := range e.Paths().All {
		if !isBuilt[buildPath.Document.Tree] && !isRenamed[buildPath.Document.Kind] {
			removed = append(removed, buildPath)
		}
	}
	return removed
}

func (all explainers) explainRendered(file string) ([]Explanation, error) {
	var files []string
	for _, e := range all {
		for _, o := range e.Objects {
			if o.File == file {
				return []Explanation{e.explain(o)}, nil
			}
			files = append(files, o.File)
		}
	}
	if path.Base(file) == "kustomization.yaml" {
		return nil, fmt.Errorf("%s is the index of the rendered objects: name a file that it lists", file)
	}
	return nil, fmt.Errorf("%s: %s has no object with this file%s", file, all[0].environment.Name,
		manifest.DidYouMean(file, files))
}

// explainSource explains the objects that a source file defines or may change.
func (all explainers) explainSource(repository *render.Repository, file string) (explained []Explanation, err error) {
	isRead := false
	for _, e := range all {
		if e.Paths() == nil || !slices.Contains(e.Sources().FS.FilesRead(), file) {
			continue
		}
		isRead = true
		objects := slices.DeleteFunc(slices.Clone(e.Objects), func(o manifest.Object) bool {
			return !e.dependsOn(o, file)
		})
		removed := slices.DeleteFunc(e.removedPaths(), func(buildPath kustomize.Path) bool {
			return !e.Paths().Uses(buildPath, "/"+file)
		})
		e.isBrief = (len(objects)+len(removed))*len(e.Paths().All) > maxTraced
		for _, o := range objects {
			explained = append(explained, e.explain(o))
		}
		for _, buildPath := range removed {
			explained = append(explained, e.explainRemoved(buildPath))
		}
	}
	switch {
	case !isRead:
		return nil, all[0].notRead(repository, file)
	case len(explained) == 0:
		return nil, fmt.Errorf("%s is read for %s, but changes no object", file, all[0].environment.Name)
	}
	return explained, nil
}

// dependsOn reports whether a file defines an object or may change it. Only files of overrides change
// rendered objects.
func (e explainer) dependsOn(o manifest.Object, file string) bool {
	if o.IsRendered() {
		return o.Rendered != nil && e.Paths().OverridesUse(e.environment.Overrides(), *o.Rendered, "/"+file)
	}
	if buildPath := e.pathOf(o); buildPath != nil {
		return e.Paths().Uses(*buildPath, "/"+file)
	}
	return e.environment.Locate(o).File == file
}

// notRead returns the error for a file outside of the sources of the environment.
func (e explainer) notRead(repository *render.Repository, file string) error {
	names, err := repository.Environments()
	if err != nil {
		return err
	}
	if other := EnvironmentOf(file, names); other != "" && other != e.environment.Name {
		return fmt.Errorf("%s is not in %s: use --env %s", file, e.environment.Name, other)
	}
	return fmt.Errorf("%s is not in %s: no kustomization loads it; list it in one, or name another environment", file,
		e.environment.Name)
}

// EnvironmentOf returns the environment whose folder in rendered/ or environments/ contains a path, if any.
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
