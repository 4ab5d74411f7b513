package render

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// duplicate returns the problem of an object whose file another object has.
func (in *input) duplicate(p tree.Placed) manifest.Problem {
	problem := in.locate(manifest.NewProblem(p.Committed(), "", manifest.Value{}, ""))
	other := in.locate(manifest.NewProblem(p.Taken.Committed(), "", manifest.Value{}, ""))
	if cmp.Or(cmp.Compare(other.File, problem.File), cmp.Compare(other.Line, problem.Line)) > 0 {
		problem, other = other, problem
	}
	switch {
	case problem.Object != other.Object && (p.InGit != nil || p.Taken.InGit != nil):
		problem.Message = fmt.Sprintf("duplicate object: with the values of its variables it is %s, like %s in %s; "+
			"remove or rename one", p.Object, other.Object, other.Position())
	case problem.Object != other.Object:
		problem.Message = fmt.Sprintf("duplicate object: %s in %s would be the same file, %s; remove or rename one",
			other.Object, other.Position(), p.Path)
	case other.Subject.String() != other.Object:
		problem.Message = fmt.Sprintf("duplicate object: %s in %s is rendered to it as well; remove or rename one",
			other.Subject, other.Position())
	default:
		problem.Message = manifest.Duplicate(other.Position()).Message
	}
	return problem.As(manifest.DuplicateObject)
}

// layOut returns the objects in apply order, and the file of each.
func (p *pipeline) layOut() (objects []manifest.Object, files []tree.File, problems []manifest.Problem) {
	all := slices.Clone(p.objects)
	for i := range all {
		all[i] = all[i].Committed() // the sync of a cluster may have some values of its variables
	}
	placed := tree.Layout(all, p.checker.IsNamespaced)
	if problems = p.duplicates(placed); len(problems) > 0 {
		return nil, nil, problems
	}
	placed, problems = p.order(placed)
	objects = make([]manifest.Object, len(placed))
	files = make([]tree.File, len(placed))
	errs := make([]error, len(placed))
	parallel.For(len(placed), func(i int) {
		objects[i] = p.asWritten(placed[i].Object)
		files[i].Path = placed[i].Path
		objects[i].File = path.Join(tree.Folder, p.name, placed[i].Path)
		if IsFolder(p.name) {
			objects[i].File = placed[i].Origin
		}
		files[i].Content, errs[i] = p.yaml(objects[i])
		if !tree.IsOwnable(placed[i].Path) { // valid objects have no such names
			errs[i] = fmt.Errorf("its kind, namespace or name make no file name: %s", placed[i].Path)
		}
	})
	return objects, files, append(problems, problemsOfErrors(objects, errs)...)
}

// order sorts placed objects by the sortOptions of the environment.
func (p *pipeline) order(placed []tree.Placed) (sorted []tree.Placed, problems []manifest.Problem) {
	objects := make([]manifest.Object, len(placed))
	order := make([]int, len(placed))
	for i := range placed {
		objects[i] = placed[i].Object
		order[i] = i
	}
	positions, problems := kustomize.Order(p.paths, p.built.objects, objects)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(positions[i], positions[j]) })
	for _, i := range order {
		sorted = append(sorted, placed[i])
	}
	return sorted, problems
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

// isManifest matches a file of objects.
var isManifest = regexp.MustCompile(`(?m)^apiVersion:(?s:.*)^kind:|^kind:(?s:.*)^apiVersion:`)

// unlisted warns of manifests beside a kustomization of the environment that nothing loads, once for each
// folder in the folder of the environment. Local config is meant to stay out.
func (in *input) unlisted(repository *Repository) (warnings []manifest.Problem) {
	read := in.sources.FS.FilesRead()
	for folder, k := range in.sources.Kustomizations {
		if !strings.HasPrefix(folder+"/", in.folder+"/") || in.isByHand && folder == in.folder {
			continue
		}
		all, _ := in.sources.FS.List(folder) // kustomize has read it
		var names []string
		for _, name := range all {
			file := path.Join(source.Relative(folder), name)
			_, isRead := slices.BinarySearch(read, file)
			if isRead || !source.IsYAML(name) || name[0] == '.' ||
				slices.Contains(konfig.RecognizedKustomizationFileNames(), name) {
				continue
			}
			content, _ := repository.files.ReadFile(file)
			if isManifest.Match(content) && !strings.Contains(string(content), konfig.IgnoredByKustomizeAnnotation) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			warnings = append(warnings, manifest.Problem{Code: manifest.OtherFile,
				Warning: true, File: source.Relative(k.File),
				Line: in.sources.Line(k.File, "resources"),
				Message: "no kustomization of the environment lists " + manifest.FirstOf(3, names) +
					" beside it: list them under resources, or annotate their objects with " +
					konfig.IgnoredByKustomizeAnnotation + `: "true"`})
		}
	}
	return warnings
}
