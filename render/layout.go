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

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/schema"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Rendering is a rendered environment.
type Rendering struct {
	// Environment is its name.
	Environment string
	// Objects are the source objects and their rendered objects, in apply order, each with its
	// file.
	Objects []manifest.Object
	// Files hold one object each, in the same order. After these come the files of deliveries.
	Files []tree.File
	// Beside are the schema for editors, and files that former versions wrote, without content.
	Beside []tree.File
	// Index describes the environment in its index. The index keeps the order of objects if the
	// environment sets sortOptions.
	Index tree.Index
	// Sources are the source files, relative to the root.
	Sources []string
	// CRLF are files of generators with CRLF line ends, relative to the root.
	CRLF []string
	// PostBuild has the variables that Flux substitutes in Objects, if any.
	PostBuild *flux.PostBuild
	// Deliveries are below the entry, charts first. The objects of charts and ApplicationSets are in no file.
	Deliveries []*Delivery
	// Charts are the charts of the kustomizations.
	Charts []source.Chart
	// NameReferences are the fields that configurations of the kustomizations know to name objects.
	NameReferences []references.Configured
}

// count returns the number of written objects, or of a folder also the number of objects that tools make of them.
func (r *Rendering) count() int {
	n := len(r.Objects)
	if !IsFolder(r.Environment) {
		return n + len(slices.DeleteFunc(slices.Clone(r.Files[n:]), func(f tree.File) bool {
			return path.Base(f.Path) == tree.IndexFile
		}))
	}
	for _, d := range r.Deliveries {
		n += len(d.Applied())
	}
	return n
}

// render lays the objects out and adds the warnings. It returns nil after an error.
func (e *Environment) render(repository *Repository) *Rendering {
	objects, files, problems := e.layOut()
	index := tree.Index{KeepsOrder: e.root.sources.Kustomizations[e.root.folder].SortOptions != nil}
	if e.kubernetes != 0 {
		index.Kubernetes = e.kubernetes.String()
	}
	beside, err := schema.File(e.kinds, objects)
	problems = append(problems, e.warnings(objects, repository)...)
	if err != nil {
		problems = append(problems, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
	}
	if e.report(problems) {
		return nil
	}
	return &Rendering{
		Environment: e.name,
		Objects:     objects,
		Files:       files,
		Beside:      []tree.File{{Path: tree.FormerPage}, beside},
		Index:       index,
		Sources:     e.filesRead(),
		CRLF:        e.root.sources.CRLF(),
		PostBuild:   e.root.postBuild,
		Deliveries:  e.root.below(),
		Charts:      e.root.sources.Charts,

		NameReferences: e.nameReferences(),
	}
}

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
func (e *Environment) layOut() (objects []manifest.Object, files []tree.File, problems []manifest.Problem) {
	written := e.written()
	found := make([]laidOut, len(written))
	parallel.For(len(written), func(i int) { found[i] = e.layOutOne(written[i]) })
	for i, d := range written {
		e.setWritten(d, found[i].objects)
		files = append(files, found[i].files...)
		problems = append(problems, found[i].problems...)
	}
	return found[0].objects, files, append(problems, e.staying()...)
}

// layOutOne lays out the objects of a delivery in its folder in rendered/.
func (e *Environment) layOutOne(d *Delivery) (l laidOut) {
	all := slices.Clone(e.objectsOf(d))
	for i := range all {
		all[i] = all[i].Committed() // the sync of a cluster may have some values of its variables
	}
	placed := tree.Layout(all, e.checker.IsNamespaced)
	l.problems = e.root.duplicates(placed)
	if d.isEntry() {
		sorted, unordered := e.order(placed)
		placed = sorted
		l.problems = append(l.problems, unordered...)
	}
	l.objects = make([]manifest.Object, len(placed))
	l.files = make([]tree.File, len(placed))
	names := make([]string, len(placed))
	errs := make([]error, len(placed))
	parallel.For(len(placed), func(i int) {
		o := e.asWritten(placed[i].Object)
		names[i] = placed[i].Path
		l.files[i].Path = path.Join(d.rendered, names[i])
		o.File = path.Join(tree.Folder, e.name, l.files[i].Path)
		if IsFolder(e.name) {
			o.File = o.Origin
		}
		l.files[i].Content, errs[i] = e.yaml(o)
		switch {
		case !tree.IsOwnable(names[i]): // valid objects have no such names
			errs[i] = fmt.Errorf("its kind, namespace or name make no file name: %s", names[i])
		case !d.isEntry() && e.isSource(o):
			errs[i] = fmt.Errorf("nothing is rendered from it in the folder of %s: list it in environments/%s", d.Of,
				e.name)
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
func (e *Environment) order(placed []tree.Placed) (sorted []tree.Placed, problems []manifest.Problem) {
	objects := make([]manifest.Object, len(placed))
	order := make([]int, len(placed))
	for i := range placed {
		objects[i] = placed[i].Object
		order[i] = i
	}
	positions, problems := kustomize.Order(e.root.paths, e.root.known(), objects)
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
func (c *common) yaml(o manifest.Object) ([]byte, error) {
	if o.IsRendered() {
		return o.YAML()
	}
	type result struct {
		content []byte
		err     error
	}
	r := memo.Get(c.memo, yamlKey{o.Unstructured}, func() (r result) {
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
