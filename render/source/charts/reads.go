package charts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// reads are the paths of values that templates read: true if with all below.
type reads map[string]bool

const separator = "\x00"

func joinPath(keys []string) string { return strings.Join(keys, separator) }

func splitPath(path string) []string { return strings.Split(path, separator) }

func (r reads) add(path string, isWhole bool) { r[path] = r[path] || isWhole }

func (r reads) addAll(others reads) {
	for path, isWhole := range others {
		r.add(path, isWhole)
	}
}

// has reports whether the value at keys is read, or a value around it with all below.
func (r reads) has(keys []string) bool {
	if _, is := r[joinPath(keys)]; is {
		return true
	}
	for i := range keys {
		if r[joinPath(keys[:i])] {
			return true
		}
	}
	return r[""]
}

// all returns the reads of a site and its variables.
func (s *site) all() reads {
	all := maps.Clone(s.reads)
	for _, sources := range s.sources {
		for _, of := range sources {
			all.addAll(of.reads)
		}
	}
	return all
}

// readAt returns the reads at lines of a file, and in the conditions around them.
func (r *run) readAt(file string, from, to int) reads {
	read := reads{}
	for _, s := range r.sites {
		if s.File == file && s.Line <= to && s.end >= from {
			read.addAll(s.all())
		}
	}
	return read
}

// readers returns functions that report whether templates read a value or a part of it, and whether they may read it in
// an expression that did not run.
func (r *run) readers() (isRead, mayRead func(keys []string) bool) {
	read := maps.Clone(r.always)
	for _, s := range r.sites {
		read.addAll(s.reads)
	}
	paths := slices.Collect(maps.Keys(read))
	isRead = func(keys []string) bool {
		isBelow := func(path string) bool { return strings.HasPrefix(path, joinPath(keys)+separator) }
		return read.has(keys) || slices.ContainsFunc(paths, isBelow)
	}
	return isRead, func(keys []string) bool {
		return slices.ContainsFunc(r.chains, func(c chain) bool { return !c.isRun && r.mayBe(c, keys) })
	}
}

// mayBe reports whether a chain may be the value at keys, or a value around it or in it. Of a chain without .Values,
// only the last key counts. One with .Values begins at the values of a chart.
func (r *run) mayBe(c chain, keys []string) bool {
	names := slices.Concat(c.keys, c.items)
	isAbsolute := slices.Contains(c.keys, "Values")
	if isAbsolute {
		names = names[slices.Index(names, "Values")+1:]
	} else if len(names) > 0 {
		names = names[len(names)-1:]
	}
	if len(names) == 0 {
		return isAbsolute && c.isWhole
	}
	roots := r.rootsOf(c.part)
	isRoot := func(above []string) bool {
		return slices.ContainsFunc(roots, func(root []string) bool { return slices.Equal(root, above) })
	}
	if !slices.ContainsFunc(roots, func(root []string) bool { return startsAlike(root, keys) }) {
		return false
	}
	for i := range keys {
		rest := keys[i:]
		shared := min(len(names), len(rest))
		switch {
		case !startsAlike(names, rest):
		case isAbsolute && (r.makesValues || isRoot(keys[:i])):
			return true
		case !isAbsolute && shared == len(names) && (c.isWhole || shared == len(rest)):
			return true
		}
	}
	return isAbsolute && isRoot(keys)
}

// rootsOf returns the roots of the values that a part sees: the ones of its chart, or of any chart for a part that
// others call.
func (r *run) rootsOf(p *part) (roots [][]string) {
	if p.chart != "" {
		return r.roots[p.chart]
	}
	for _, of := range r.roots {
		roots = append(roots, of...)
	}
	return roots
}

// startsAlike reports whether one of two lists begins with the other.
func startsAlike(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// readDependencies records the values that Helm reads of a chart: conditions, tags and imports of Chart.yaml.
func (r *run) readDependencies(c *chart.Chart, keys []string) {
	add := func(isWhole bool, below ...string) { r.always.add(joinPath(slices.Concat(keys, below)), isWhole) }
	for _, d := range c.Metadata.Dependencies {
		for condition := range strings.SplitSeq(d.Condition, ",") {
			add(false, strings.Split(strings.TrimSpace(condition), ".")...)
		}
		for _, tag := range d.Tags {
			r.always.add(joinPath([]string{"tags", tag}), false)
		}
		for _, imported := range d.ImportValues {
			child := fmt.Sprint("exports.", imported)
			if table, is := imported.(map[string]any); is {
				child, _ = table["child"].(string)
			}
			add(true, append([]string{cmp.Or(d.Alias, d.Name)}, strings.Split(child, ".")...)...)
		}
	}
	for _, d := range c.Dependencies() {
		r.readDependencies(d, append(slices.Clip(keys), d.Name()))
	}
}
