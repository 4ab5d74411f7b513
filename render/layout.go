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

// admit returns the problems that the admission of a cluster has with valid objects. A problem of an installed
// object is one of its release.
func (in *input) admit(checker *verdict.Checker, objects []manifest.Object, b built) []manifest.Problem {
	applied, originals := checker.Applied(objects)
	own := applied
	applied = slices.Concat(applied, b.admissible())
	original := func(o manifest.Object) manifest.Object {
		if original, ok := originals[o.Unstructured]; ok {
			return original
		}
		return o
	}
	position := func(p manifest.Problem) string {
		if r, is := b.releaseOf[p.Subject.Unstructured]; is {
			p = r.Blame(p)
		}
		p.Subject = original(p.Subject)
		return in.locate(p).Position()
	}
	refused := checker.Admit(applied, position, warn.IsController)
	for i, p := range refused {
		if r, is := b.releaseOf[p.Subject.Unstructured]; is {
			refused[i] = r.Blame(p)
			continue
		}
		refused[i].Subject = original(p.Subject)
		if p.Subject.IsRendered() && p.Field != "" && in.locate(p).Line == 0 { // no source file has the field
			refused[i] = blameSource(p, "")
		}
	}
	if len(originals) == 0 || in.postBuild.Values == nil {
		return refused
	}
	return append(refused, in.sameNames(tree.Layout(own, checker.IsNamespaced), original)...)
}

// sameNames returns the problems of applied objects that are one object in the cluster by the values of
// their variables.
func (in *input) sameNames(placed []tree.Placed, original func(manifest.Object) manifest.Object) (problems []manifest.Problem) {
	for _, p := range placed {
		if p.Taken == nil {
			continue
		}
		o, other := original(p.Object), original(*p.Taken)
		if o.ID() != other.ID() { // or else the layout finds it
			where := in.locate(manifest.NewProblem(other, "", manifest.Value{}, "")).Position()
			message := fmt.Sprintf("duplicate object: with the values of its variables it is %s, like %s in %s; remove or rename one", p.Object, other, where)
			problems = append(problems, manifest.NewProblem(o, "", manifest.Value{}, message))
		}
	}
	return problems
}

// duplicates returns the problems of objects that share a file.
func (in *input) duplicates(placed []tree.Placed) (problems []manifest.Problem) {
	for _, p := range placed {
		if p.Taken != nil {
			problems = append(problems, in.duplicate(p))
		}
	}
	return problems
}

// duplicate returns the problem of an object whose file another object has.
func (in *input) duplicate(p tree.Placed) manifest.Problem {
	problem := in.locate(manifest.NewProblem(p.Object, "", manifest.Value{}, ""))
	other := in.locate(manifest.NewProblem(*p.Taken, "", manifest.Value{}, ""))
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

// layOut returns the objects in apply order, and the file of each.
func (p *pipeline) layOut() (objects []manifest.Object, files []tree.File, problems []manifest.Problem) {
	placed := tree.Layout(p.objects, p.checker.IsNamespaced)
	if problems = p.duplicates(placed); len(problems) > 0 {
		return nil, nil, problems
	}
	sources := p.objects[:len(p.built.objects)]
	positions, problems := kustomize.Order(p.paths, sources, p.objects)
	slices.SortStableFunc(placed, func(a, b tree.Placed) int { return cmp.Compare(positions[a.Unstructured], positions[b.Unstructured]) })
	objects, files = make([]manifest.Object, len(placed)), make([]tree.File, len(placed))
	errs := make([]error, len(placed))
	parallel.For(len(placed), func(i int) {
		objects[i], files[i].Path = placed[i].Object, placed[i].Path
		objects[i].File = path.Join(tree.Folder, p.name, placed[i].Path)
		files[i].Content, errs[i] = p.yaml(placed[i].Object)
		if !tree.IsOwnable(placed[i].Path) { // valid objects have no such names
			errs[i] = fmt.Errorf("its kind, namespace or name make no file name: %s", placed[i].Path)
		}
	})
	return objects, files, append(problems, problemsOfErrors(objects, errs)...)
}

// yamlKey is the memo key of the YAML of an object.
type yamlKey struct{ *unstructured.Unstructured }

// yaml returns the YAML of an object. The memo keeps the YAML of source objects; rendered objects are
// new in each rendering.
func (in *input) yaml(o manifest.Object) ([]byte, error) {
	if o.IsRendered() {
		return o.YAML()
	}
	type result struct {
		content []byte
		err     error
	}
	r := memo.Get(in.memo, yamlKey{o.Unstructured}, func() (r result) {
		r.content, r.err = o.YAML()
		return r
	})
	return r.content, r.err
}
