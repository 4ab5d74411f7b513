package explain

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/object"
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
	// Errors are those of the environment: where there are any, some of the rest may be
	// missing.
	Errors []object.Problem `json:"errors"`
}

// Ask answers a question. An error says what to ask instead; with an answer, that it is as
// much as can be said of an environment with errors. Progress is told what is being done.
func Ask(repository *render.Repository, q Question, progress func(step string)) (*Answer, error) {
	examined, err := render.Examine(repository, q.Environment, progress)
	if err != nil {
		return nil, err
	}
	e := explainer{examined}
	answer := &Answer{Environment: q.Environment, Objects: []Explanation{}}
	answer.Errors, _ = object.SplitProblems(e.Problems)
	if e.Sources == nil {
		return answer, nil
	}
	progress("explaining")
	switch {
	case !e.IsBuilt():
		answer.Objects, err = e.unbuilt(q)
	case q.File == "":
		answer.Objects, err = e.askObject(q)
	case isBelow(q.File, tree.Folder):
		answer.Objects, err = e.askRendered(q.File)
	default:
		answer.Objects, err = e.askSource(repository, q.File)
	}
	return answer, err
}

// isBelow says whether a path is one of something in a folder.
func isBelow(name, folder string) bool { return strings.HasPrefix(name, folder+"/") }

// askObject explains the object of a kind and name.
func (e explainer) askObject(q Question) ([]Explanation, error) {
	found, err := e.find(q)
	if err != nil {
		if removed := e.findRemoved(q); len(removed) > 0 {
			return removed, nil
		}
		return nil, err
	}
	return []Explanation{e.one(found)}, nil
}

// findRemoved explains the objects of a kind and name that patches remove.
func (e explainer) findRemoved(q Question) (removed []Explanation) {
	for _, d := range e.documents() {
		isAsked := e.kindOf(q.Kind).has(candidate{kind: d.Kind, group: d.Group, version: path.Base(d.APIVersion)}) && d.Name == q.Name
		if !isAsked || q.Namespace != "" && d.Namespace != "" && d.Namespace != q.Namespace {
			continue
		}
		for _, trace := range e.Traces([]source.Document{d}) {
			if trace.Built == nil {
				removed = append(removed, e.removed(trace))
			}
		}
	}
	return removed
}

// askRendered explains the object of a rendered file.
func (e explainer) askRendered(file string) ([]Explanation, error) {
	for _, p := range e.Objects {
		if e.reference(p).File == file {
			return []Explanation{e.one(p)}, nil
		}
	}
	if path.Base(file) == "kustomization.yaml" {
		return nil, fmt.Errorf("%s is the index of what is rendered: name a file that it lists", file)
	}
	files := make([]string, len(e.Objects))
	for i, p := range e.Objects {
		files[i] = e.reference(p).File
	}
	return nil, fmt.Errorf("%s: no object of %s is rendered to it%s", file, e.Environment, object.DidYouMean(file, files))
}

// one explains an object, following no others than those that may be what it was.
func (e explainer) one(p tree.Placed) Explanation {
	if p.Written == nil {
		return e.object(p, nil)
	}
	written := object.Object{Unstructured: p.Written, Written: p.Written}
	origin := e.Origin(written)
	var likely, others []source.Document
	for _, d := range e.documents() {
		switch {
		case d.Kind != written.GetKind() || d.Group != written.GroupVersionKind().Group:
		case d.File == origin && strings.Contains(written.GetName(), d.Name):
			likely = append(likely, d)
		default: // a patch may have taken from it what tells kustomize its origin
			others = append(others, d)
		}
	}
	slices.SortStableFunc(likely, func(a, b source.Document) int { return cmp.Compare(len(b.Name), len(a.Name)) })
	for _, d := range likely {
		traces := e.Traces([]source.Document{d})
		if t := traceOf(traces, written); t != nil && (reflect.DeepEqual(t.Built.Object, written.Object) || len(defaultsIn(e.Kinds().Find(written.GroupVersionKind()), t.Built, p.Written)) > 0) {
			return e.object(p, traces)
		}
	}
	return e.object(p, e.Traces(append(likely, others...)))
}

// askSource explains the objects that a file has, or changes.
func (e explainer) askSource(repository *render.Repository, file string) ([]Explanation, error) {
	if !slices.Contains(e.Files(), file) {
		return nil, e.notIn(repository, file)
	}
	traces := e.Traces(e.documents())
	explained := []Explanation{}
	for _, p := range e.Objects {
		if p.IsRendered() && !slices.ContainsFunc(e.OverrideSteps(p.Object), func(s build.Step) bool { return e.isStepOf(s, file) }) {
			continue
		}
		if x := e.object(p, traces); p.IsRendered() || x.isOf(file) {
			explained = append(explained, x)
		}
	}
	for _, trace := range traces {
		if x := e.removed(trace); trace.Built == nil && x.isOf(file) {
			explained = append(explained, x)
		}
	}
	if len(explained) == 0 {
		return nil, e.changesNothing(file)
	}
	return explained, nil
}

// isOf says whether an object is from a file, or is changed by it.
func (x Explanation) isOf(file string) bool {
	return x.Origin != nil && (x.Origin.File == file || slices.Contains(x.Origin.Files, file)) ||
		slices.ContainsFunc(x.Changes, func(c Change) bool {
			return c.Entries != nil && c.File == file || slices.Contains(c.Files, file)
		})
}

func (e explainer) isStepOf(s build.Step, file string) bool {
	return source.Relative(e.Sources.Kustomizations[s.Folder].File) == file ||
		slices.ContainsFunc(s.Loads, func(loaded string) bool { return source.Relative(loaded) == file })
}

// notIn is the error of a file that an environment is not made from.
func (e explainer) notIn(repository *render.Repository, file string) error {
	names, err := repository.Environments()
	if err != nil {
		return err
	}
	var others []string
	for _, name := range names {
		if name == e.Environment {
			continue
		}
		other, err := render.Examine(repository, name, func(string) {})
		if err == nil && slices.Contains(other.Files(), file) {
			others = append(others, "--env "+name)
		}
	}
	if len(others) == 0 {
		return fmt.Errorf("%s is in no environment: no kustomization loads it; list it in one, or remove it", file)
	}
	return fmt.Errorf("%s is not in %s: write %s", file, e.Environment, strings.Join(others, " or "))
}

// changesNothing is the error of a file that is read, and changes no object.
func (e explainer) changesNothing(file string) error {
	for _, k := range e.Sources.Kustomizations {
		if source.Relative(k.File) != file || len(k.Resources)+len(k.Components) == 0 {
			continue
		}
		loaded := slices.Concat(k.Resources, k.Components)
		for i, entry := range loaded {
			at := k.Paths[entry]
			if other := e.Sources.Kustomizations[at]; other != nil {
				at = other.File
			}
			loaded[i] = source.Relative(at)
		}
		return fmt.Errorf("%s changes no object of %s, it only loads others: ask for one of %s", file, e.Environment, strings.Join(loaded, ", "))
	}
	return fmt.Errorf("%s is read for %s, and changes no object there", file, e.Environment)
}

// documents are the objects that people wrote, and the entries that generate some, of the
// environment.
func (e explainer) documents() (documents []source.Document) {
	for _, m := range e.Sources.Manifests {
		for _, text := range m.Texts {
			documents = append(documents, text.Objects...)
		}
	}
	for _, k := range e.Sources.Kustomizations {
		for _, d := range e.Sources.Documents(k.File) {
			if !d.IsInline() && d.APIVersion == "" && (d.Kind == "ConfigMap" || d.Kind == "Secret") {
				documents = append(documents, d)
			}
		}
	}
	slices.SortStableFunc(documents, func(a, b source.Document) int { return strings.Compare(a.At(), b.At()) })
	return documents
}

// errNotBuilt is that of an environment which kustomize cannot build.
var errNotBuilt = errors.New("what changes the object, and what it is rendered to, can be said once the errors are mended")

// unbuilt says where objects are written, of an environment that cannot be built.
func (e explainer) unbuilt(q Question) ([]Explanation, error) {
	explained := []Explanation{}
	for _, d := range e.documents() {
		file, line := d.Position()
		o := candidate{kind: d.Kind, group: d.Group, name: d.Name, namespace: d.Namespace}
		isAsked := q.File == file || q.File == "" && e.kindOf(q.Kind).has(o) && d.Name == q.Name && (q.Namespace == "" || d.Namespace == "" || d.Namespace == q.Namespace)
		if isAsked {
			x := Explanation{Reference: Reference{APIVersion: d.APIVersion, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}, Changes: []Change{}}
			x.Origin = &Origin{Place: Place{file, line}, Object: d.String()}
			explained = append(explained, x)
		}
	}
	if q.File != "" && !slices.Contains(e.Files(), q.File) {
		return nil, fmt.Errorf("%s is not read for %s as it is; it may be once the errors are mended", q.File, e.Environment)
	}
	if len(explained) == 0 && q.File == "" {
		return nil, fmt.Errorf("%s/%s: no such object is written; what others become can be said once the errors are mended", q.Kind, q.Name)
	}
	return explained, errNotBuilt
}

// EnvironmentOf is the environment that a path is of, by its name: one below
// rendered/, or below environments/ where that is no base.
func EnvironmentOf(file string, environments []string) string {
	for _, folder := range []string{tree.Folder, "environments"} {
		if rest, ok := strings.CutPrefix(path.Clean(file), folder+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			if slices.Contains(environments, name) {
				return name
			}
		}
	}
	return ""
}
