package render

import (
	"path"
	"strings"
	"sync"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/tree"
)

// changed returns the environments among names that changed files may change. It reads their sources
// and builds nothing, so an environment with errors in its sources counts as changed.
func (r *Repository) changed(names, files []string) (changed []string) {
	may := make([]bool, len(names))
	parallel.For(len(names), func(i int) {
		looks, hasErrors := r.looksAt(names[i])
		for _, file := range files {
			may[i] = may[i] || hasErrors || mayChangeAll(file) || looks[file] || looks[path.Dir(file)+"/"] ||
				isBelow(file, path.Join(tree.EnvironmentsFolder, names[i])) || isBelow(file, path.Join(tree.Folder, names[i]))
		}
	})
	for i, name := range names {
		if may[i] {
			changed = append(changed, name)
		}
	}
	return changed
}

// looksAt returns the paths that reading an environment looks at, see Look, and the paths in its kustomizations.
func (r *Repository) looksAt(name string) (looks map[string]bool, hasErrors bool) {
	var mu sync.Mutex
	looks, reading := map[string]bool{}, *r
	reading.Look = func(name string) {
		mu.Lock()
		defer mu.Unlock()
		looks[name] = true
	}
	in, problems := readInput(&reading, name)
	if in.sources == nil || manifest.HasErrors(problems) {
		return looks, true
	}
	for _, k := range in.sources.Kustomizations {
		for _, file := range k.Paths {
			looks[strings.TrimPrefix(file, "/")] = true
		}
	}
	return looks, false
}

// mayChangeAll reports whether a file may change every environment: a chart, or a file that may name
// the version of render, in the top folder or in one such as .github.
func mayChangeAll(file string) bool {
	top, _, isBelow := strings.Cut(file, "/")
	return path.Ext(file) != ".md" && (!isBelow || strings.HasPrefix(top, ".") || top == charts.Folder)
}

func isBelow(file, folder string) bool { return strings.HasPrefix(file, folder+"/") }
