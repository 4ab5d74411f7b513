package render

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/warn"
)

// admit returns what the admission of a cluster has against valid objects. It drops from
// them what the API server takes for nothing.
func (e *environment) admit(checker *verdict.Checker, objects []manifest.Object) []manifest.Problem {
	checker.DropEmpty(objects)
	position := func(p manifest.Problem) string { return e.locate(p).Position() }
	refused := checker.Admit(objects, position, warn.IsController)
	for i, p := range refused {
		if p.Subject.IsRendered() && p.Field != "" && e.locate(p).Line == 0 { // nobody wrote the field
			refused[i] = problemOfSpec(p, "")
		}
	}
	return refused
}

// duplicates returns the problems of objects whose file is that of another.
func (e *environment) duplicates(placed []tree.Placed) (problems []manifest.Problem) {
	for _, p := range placed {
		if p.Taken != nil {
			problems = append(problems, e.duplicate(p))
		}
	}
	return problems
}

// duplicate returns the problem of an object whose file is that of another.
func (e *environment) duplicate(p tree.Placed) manifest.Problem {
	problem := e.locate(manifest.NewProblem(p.Object, "", manifest.Value{}, ""))
	other := e.locate(manifest.NewProblem(*p.Taken, "", manifest.Value{}, ""))
	if cmp.Or(cmp.Compare(other.File, problem.File), cmp.Compare(other.Line, problem.Line)) > 0 {
		problem, other = other, problem
	}
	switch {
	case problem.Object != other.Object:
		problem.Message = fmt.Sprintf("duplicate object: %s in %s would be the same file, %s; remove or rename one", other.Object, other.Position(), p.Path)
	case other.Subject.String() != other.Object:
		problem.Message = fmt.Sprintf("duplicate object: %s in %s is rendered to it as well; remove or rename one", other.Subject, other.Position())
	default:
		problem.Message = manifest.Duplicate(other.Position()).Message
	}
	return problem
}

// layOut sorts the objects in apply order and returns the file of each.
func (s *stages) layOut() (files []tree.File, problems []manifest.Problem) {
	placed := tree.Layout(s.objects, s.checker.IsNamespaced)
	if problems = s.duplicates(placed); len(problems) > 0 {
		return nil, problems
	}
	positions, problems := kustomize.Order(s.sources, s.folder, s.built.objects, s.objects)
	slices.SortStableFunc(placed, func(a, b tree.Placed) int { return cmp.Compare(positions[a.Unstructured], positions[b.Unstructured]) })
	s.objects, files = make([]manifest.Object, len(placed)), make([]tree.File, len(placed))
	errs := make([]error, len(placed))
	parallel.For(len(placed), func(i int) {
		s.objects[i], files[i].Path = placed[i].Object, placed[i].Path
		s.objects[i].File = path.Join(tree.Folder, s.name, placed[i].Path)
		files[i].Content, errs[i] = s.yaml(placed[i].Object)
		if !tree.IsOwnable(placed[i].Path) { // the names of a valid object make no such path
			errs[i] = fmt.Errorf("its kind, namespace or name make no file name: %s", placed[i].Path)
		}
	})
	return files, append(problems, problemsOfErrors(s.objects, errs)...)
}

// writtenOut is what the YAML of an object is made from.
type writtenOut struct{ *unstructured.Unstructured }

// yaml returns the YAML of an object. The memo keeps that of the objects that people wrote.
func (e *environment) yaml(o manifest.Object) ([]byte, error) {
	if o.IsRendered() { // anew each time
		return o.YAML()
	}
	type result struct {
		content []byte
		err     error
	}
	r := memo.Get(e.memo, writtenOut{o.Unstructured}, func() (r result) {
		r.content, r.err = o.YAML()
		return r
	})
	return r.content, r.err
}
