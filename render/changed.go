package render

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
)

// changed returns the environments among names that changed files may change. It reads their sources
// and builds nothing, so an environment counts as changed if a build may read more files.
func (r *Repository) changed(names, files []string) (changed []string) {
	may := make([]bool, len(names))
	onDisk := source.NewFileSystem(r.files, r.dir, nil)
	parallel.For(len(names), func(i int) {
		looks := &source.Looks{}
		areAll := r.looksAt(names[i], looks)
		for _, file := range files {
			file = strings.TrimSuffix(file, "/") // a repository in this one
			may[i] = may[i] || !areAll || mayChangeAll(file) || isLookedAt(looks, onDisk, file) ||
				isBelow(file, source.Relative(folderOf(names[i]))) ||
				isBelow(file, path.Join(tree.Folder, names[i]))
		}
	})
	for i, name := range names {
		if may[i] {
			changed = append(changed, name)
		}
	}
	return changed
}

// IsAnyLookedAt reports whether one of some changed files is looked at.
func (r *Repository) IsAnyLookedAt(looks *source.Looks, files []string) bool {
	onDisk := source.NewFileSystem(r.files, r.dir, nil)
	return slices.ContainsFunc(files, func(file string) bool { return isLookedAt(looks, onDisk, file) })
}

// isLookedAt reports whether a file, or a folder that is gone with it, is looked at: git names the files of a removed
// folder, where perhaps only the folder was looked for.
func isLookedAt(looks *source.Looks, onDisk *source.FileSystem, file string) bool {
	for at := file; at != "."; at = path.Dir(at) {
		folder := path.Dir(at)
		switch {
		case looks.Has(at), looks.Has(folder + "/"):
			return true
		case onDisk.Exists("/" + folder):
			return false
		}
	}
	return false
}

// AddLooks adds the paths that reading an environment looks at.
func (r *Repository) AddLooks(environment string, to *source.Looks) { r.looksAt(environment, to) }

// looksAt adds the paths that reading an environment looks at, and the paths in its kustomizations. It reports whether
// these are all. A build may read more files if there are errors, charts in git that are installed, or
// generators and transformers with files of their own.
func (r *Repository) looksAt(name string, looks *source.Looks) (areAll bool) {
	in, problems := readEntry(r.Recording(looks), name, LoadOptions{})
	if in.sources == nil || manifest.HasErrors(problems) {
		return false
	}
	areAll = !in.from.IsChart
	for _, m := range in.sources.Manifests {
		for _, t := range m.Texts {
			areAll = areAll && !slices.ContainsFunc(t.Objects, installsFolder)
		}
	}
	for _, k := range in.sources.Kustomizations {
		areAll = areAll && len(k.Generators)+len(k.Transformers)+len(k.Validators) == 0
		for _, patches := range k.Documents {
			areAll = areAll && !slices.ContainsFunc(patches, installsFolder)
		}
		for _, file := range k.Paths {
			looks.Add(file)
		}
	}
	for _, file := range in.sources.FS.FilesRead() { // at the ends of links
		looks.Add(file)
	}
	return areAll
}

// installsFolder reports whether an object, or a patch of it, names a folder in git, perhaps of a chart, which a later
// stage reads. A HelmRelease with a chartRef takes the chart of a HelmChart.
func installsFolder(d source.Document) bool {
	switch d.Kind {
	case "ApplicationSet":
		return true
	case "Kustomization":
		return node.Text(node.Field(d.Node(), "spec"), "path") != ""
	case "HelmRelease", "HelmChart":
		spec := node.Field(d.Node(), "spec")
		kind := cmp.Or(node.Text(spec, "sourceRef", "kind"), node.Text(spec, "chart", "spec", "sourceRef", "kind"))
		return kind != "" && kind != "HelmRepository"
	case "Application":
		spec := node.Field(d.Node(), "spec")
		return node.Text(spec, "source", "path") != "" ||
			slices.ContainsFunc(node.Items(node.Field(spec, "sources")), func(s *yaml.Node) bool {
				return node.Text(s, "path") != ""
			})
	}
	return false
}

// mayChangeAll reports whether a file may change every environment: a chart, a file that may name the version of
// render, in the top folder or in one such as .github, or by its name, or one that sets the ends of lines.
func mayChangeAll(file string) bool {
	top, _, isBelow := strings.Cut(file, "/")
	switch path.Base(file) {
	case ".gitattributes", "Dockerfile", "Makefile", "go.mod", "go.sum":
		return true
	}
	return top == charts.Folder || path.Ext(file) == ".go" ||
		path.Ext(file) != ".md" && (!isBelow || strings.HasPrefix(top, "."))
}

func isBelow(file, folder string) bool { return strings.HasPrefix(file, folder+"/") }
