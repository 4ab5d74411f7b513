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

// laidOut are the objects of a delivery in apply order, and their files in rendered/.
type laidOut struct {
	objects  []manifest.Object // each with its file
	files    []tree.File       // of the objects, and the index of a folder
	problems []manifest.Problem
}

// written returns the deliveries with files in rendered/, the entry first.
func (b *built) written() []*Delivery {
	return slices.DeleteFunc(b.root.open(), func(d *Delivery) bool { return !d.isEntry() && d.rendered == "" })
}

// layOut returns the objects of the entry in apply order, and the files of all deliveries, the entry first.
func (p *pipeline) layOut() (objects []manifest.Object, files []tree.File, problems []manifest.Problem) {
	written := p.written()
	found := make([]laidOut, len(written))
	parallel.For(len(written), func(i int) { found[i] = p.layOutOne(written[i]) })
	for i, d := range written {
		p.setWritten(d, found[i].objects)
		files = append(files, found[i].files...)
		problems = append(problems, found[i].problems...)
	}
	return found[0].objects, files, append(problems, p.staying()...)
}

// layOutOne lays out the objects of a delivery in its folder in rendered/.
func (p *pipeline) layOutOne(d *Delivery) (l laidOut) {
	all := slices.Clone(p.objectsOf(d))
	for i := range all {
		all[i] = all[i].Committed() // the sync of a cluster may have some values of its variables
	}
	placed := tree.Layout(all, p.checker.IsNamespaced)
	l.problems = p.duplicates(placed)
	if d.isEntry() {
		sorted, unordered := p.order(placed)
		placed = sorted
		l.problems = append(l.problems, unordered...)
	}
	l.objects = make([]manifest.Object, len(placed))
	l.files = make([]tree.File, len(placed))
	names := make([]string, len(placed))
	errs := make([]error, len(placed))
	parallel.For(len(placed), func(i int) {
		o := p.asWritten(placed[i].Object)
		names[i] = placed[i].Path
		l.files[i].Path = path.Join(d.rendered, names[i])
		o.File = path.Join(tree.Folder, p.name, l.files[i].Path)
		if IsFolder(p.name) {
			o.File = o.Origin
		}
		l.files[i].Content, errs[i] = p.yaml(o)
		switch {
		case !tree.IsOwnable(names[i]): // valid objects have no such names
			errs[i] = fmt.Errorf("its kind, namespace or name make no file name: %s", names[i])
		case !d.isEntry() && p.isSource(o):
			errs[i] = fmt.Errorf("nothing is rendered from it in the folder of %s: list it in environments/%s", d.Of,
				p.name)
		}
		l.objects[i] = o
	})
	l.problems = append(l.problems, problemsOfErrors(l.objects, errs)...)
	if !d.isEntry() {
		l.files = append(l.files, tree.File{Path: path.Join(d.rendered, tree.IndexFile),
			Content: tree.FolderIndex(names)})
	}
	return l
}

// order sorts placed objects by the sortOptions of the environment.
func (p *pipeline) order(placed []tree.Placed) (sorted []tree.Placed, problems []manifest.Problem) {
	objects := make([]manifest.Object, len(placed))
	order := make([]int, len(placed))
	for i := range placed {
		objects[i] = placed[i].Object
		order[i] = i
	}
	positions, problems := kustomize.Order(p.root.paths, p.root.known(), objects)
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
		if !strings.HasPrefix(folder+"/", in.folder+"/") || in.from.IsByHand() && folder == in.folder {
			continue
		}
		all, _ := in.sources.FS.List(folder) // kustomize has read it
		entries, _ := repository.files.ReadFile(source.Relative(k.File))
		var names []string
		for _, name := range all {
			file := path.Join(source.Relative(folder), name)
			_, isRead := slices.BinarySearch(read, file)
			isComment := strings.Contains(string(entries), name) // it is left out on purpose
			if isRead || isComment || !source.IsYAML(name) || name[0] == '.' ||
				slices.Contains(konfig.RecognizedKustomizationFileNames(), name) {
				continue
			}
			content, _ := repository.files.ReadFile(file)
			if isManifest.Match(content) && !strings.Contains(string(content), konfig.IgnoredByKustomizeAnnotation) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			warnings = append(warnings, manifest.Problem{Code: manifest.OtherFile, Cause: "unlisted files",
				Warning: true, File: source.Relative(k.File),
				Line: in.sources.Line(k.File, "resources"),
				Message: "no kustomization of the environment lists these files of its folder: " +
					manifest.FirstOf(3, names) + ": list them under resources, or annotate their objects with " +
					konfig.IgnoredByKustomizeAnnotation + `: "true"`})
		}
	}
	return warnings
}
