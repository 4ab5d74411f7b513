package entry

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// root is a vertex without a way from another one, or the first vertex of a circle.
type root struct {
	vertex
	syncs []*sync // that it leads to, and no root before it
	// hasChart reports whether it leads to a chart of objects that deliver.
	hasChart bool
	// synced is the folder that Flux syncs a cluster by, see syncedBy.
	synced string
}

// delivers reports whether a root leads to objects that deliver.
func (r root) delivers() bool { return len(r.syncs) > 0 || r.hasChart }

// walk visits a vertex and all below it, the lowest ones first.
func (g *graph) walk(from vertex, seen map[vertex]bool, leave func(vertex)) {
	if seen[from] {
		return
	}
	seen[from] = true
	for _, v := range g.next(from) {
		g.walk(v, seen, leave)
	}
	leave(from)
}

// starts returns the candidates for roots: objects that deliver, folders that Flux is installed to sync,
// kustomizations, and charts of objects that deliver.
func (g *graph) starts() (all []vertex) {
	for _, s := range g.syncs {
		isAside := s.isFlux && g.folders[path.Dir(s.file)].isHidden // nothing but Flux delivers it
		if !g.loaded[s.file] && !isAside {
			all = append(all, vertex{sync: s})
		}
		if s.instance != "." && g.folders[s.instance] != nil {
			all = append(all, g.at(vertex{folder: s.instance, isFlux: true}))
		}
	}
	for _, f := range append([]listed{{name: ".", isDir: true}}, g.listed...) {
		of := g.folders[f.name]
		if f.isDir && of.isApart && of.kustomization == nil {
			all = append(all, vertex{folder: f.name})
		}
		if f.isDir && of.isApplied() && !g.isTemplate(f.name) {
			all = append(all, vertex{folder: f.name})
		}
	}
	return all
}

// roots returns the roots among the starts, and all that these lead to. The last vertex of a walk from all
// of them is a root, and so is the last vertex beside the ones below this root.
func (g *graph) roots() (all []root, seen map[vertex]bool) {
	var left []vertex
	isStart := map[vertex]bool{}
	isLeft := map[vertex]bool{}
	starts := g.starts()
	for _, v := range starts {
		isStart[v] = true
	}
	for _, v := range starts {
		g.walk(v, isLeft, func(v vertex) {
			if isStart[v] {
				left = append(left, v)
			}
		})
	}
	seen = map[vertex]bool{}
	for _, v := range slices.Backward(left) {
		if seen[v] {
			continue
		}
		r := root{vertex: v}
		g.walk(v, seen, func(v vertex) {
			if v.sync != nil {
				r.syncs = append(r.syncs, v.sync)
			}
			of := g.folders[v.folder]
			r.hasChart = r.hasChart || of != nil && of.isApart
		})
		r.synced = g.syncedBy(r)
		all = append(all, r)
	}
	slices.Reverse(all)
	return all, seen
}

// entries returns the entries of the roots, perhaps several of a name, without the roots in excluded folders or in
// comments of kustomizations.
func (g *graph) entries(isNone func(folder string) bool) (all []Entry) {
	roots, seen := g.roots()
	roots = slices.DeleteFunc(roots, func(r root) bool { return isNone(r.place()) || g.isOff(r) })
	all, synced := g.clusters(roots)
	byFlux, off := g.byFlux(roots, synced)
	var byHand []root
	for _, r := range roots {
		switch {
		case r.sync == nil && g.folders[r.folder].isApart && g.folders[r.folder].kustomization == nil:
			all = append(all, g.ofChart(r.folder)...)
			continue
		case r.synced != "", isBelowAny(r.place(), byFlux): // Flux reads all levels
		case off[r.place()], r.sync == nil && !r.delivers() && g.leadsAnywhere:
			continue
		case r.sync == nil:
			all = append(all, Entry{Name: CleanName("./" + r.folder), WithFolder: true, isDelivered: r.delivers(),
				MayBeSubstituted: slices.ContainsFunc(g.syncs, func(s *sync) bool { return s.isFlux })})
		case !r.isMoved() && !r.sync.isFlux && EnvironmentOf(g.files, r.sync.file) == "":
			byHand = append(byHand, r)
			continue
		}
		all = append(all, spokes(r.syncs)...)
	}
	all = append(all, wholeFolders(roots, byFlux, synced)...)
	for _, group := range clustersOf(byHand) {
		all = append(all, g.appliedByHand(group, seen)...)
	}
	return all
}

// isOff reports whether a comment in a kustomization lists a root.
func (g *graph) isOff(r root) bool {
	if r.sync != nil {
		return g.off[r.sync.file]
	}
	return g.off[r.folder]
}

// valuesOf matches the file of the values of an environment, beside a chart.
var valuesOf = regexp.MustCompile(`^values-(.+)\.ya?ml$`)

// ofChart returns the entries of a chart that nothing here installs: one for each file values-NAME.yaml beside it, or
// else one with its own values.
func (g *graph) ofChart(folder string) (all []Entry) {
	alone := Entry{Name: CleanName("./" + folder), IsChart: true, IsAssumed: true, isDelivered: true}
	for _, file := range g.folders[folder].names {
		if match := valuesOf.FindStringSubmatch(path.Base(file)); match != nil && g.said.ValueFiles(alone.Name) == nil {
			each := alone
			each.Name += clusterMark + match[1]
			each.ValueFiles = []string{file}
			all = append(all, each)
		}
	}
	if len(all) == 0 {
		return []Entry{alone}
	}
	return all
}

// clusters returns the entries of the folders that Flux syncs a cluster by, and these folders.
func (g *graph) clusters(roots []root) (all []Entry, synced map[string]bool) {
	synced = map[string]bool{}
	for _, r := range roots {
		if r.synced != "" && !g.isListed(r.synced) { // of a listed one, another cluster has all
			synced[r.synced] = true
			all = append(all, Entry{Name: CleanName("./" + r.synced), isDelivered: true})
		}
	}
	return all, synced
}

// wholeFolders returns the entries of folders that Flux is installed to sync, without the ones below another.
func wholeFolders(roots []root, byFlux, synced map[string]bool) (all []Entry) {
	for folder := range byFlux {
		if !isBelowAny(path.Dir(folder), byFlux) {
			all = append(all, Entry{Name: CleanName("./" + folder), Resources: aside(roots, folder, synced),
				isDelivered: true})
		}
	}
	return all
}

// appliedByHand returns the entry of roots of one cluster, and the entries of other clusters below.
func (g *graph) appliedByHand(group []root, seen map[vertex]bool) []Entry {
	e := Entry{Name: CleanName("./" + above(filesOf(group))), isDelivered: true}
	var syncs []*sync
	for _, r := range group {
		e.Resources = append(e.Resources, r.sync.file)
		e.Resources = append(e.Resources, g.beside(r.sync.file, seen)...)
		syncs = append(syncs, r.syncs...)
	}
	return append([]Entry{e}, spokes(syncs)...)
}

// aside returns the files of roots in a folder of Flux that are in none of the clusters there; nothing without such a
// cluster, as Flux reads the whole folder then.
func aside(roots []root, folder string, synced map[string]bool) (files []string) {
	hasClusters := false
	for cluster := range synced {
		hasClusters = hasClusters || source.IsWithin(cluster, folder)
	}
	for _, r := range roots {
		if hasClusters && r.sync != nil && source.IsWithin(r.place(), folder) && !isBelowAny(r.place(), synced) {
			files = append(files, r.sync.file)
		}
	}
	return files
}

// place returns the folder of a root, or of its file.
func (r root) place() string {
	if r.sync != nil {
		return path.Dir(r.sync.file)
	}
	return r.folder
}

// byFlux returns the folders with objects of Flux that nothing in the repository delivers: Flux is installed to sync
// them. Apps are switched off if there are others, and so are apps that the kustomization of a cluster does not list.
func (g *graph) byFlux(roots []root, synced map[string]bool) (folders, off map[string]bool) {
	folders = map[string]bool{}
	apps := map[string]bool{}
	hasCluster := len(synced) > 0
	for _, r := range roots {
		isFlux := len(r.syncs) > 0 && !slices.ContainsFunc(r.syncs, func(s *sync) bool { return !s.isFlux })
		switch {
		case !isFlux || r.synced != "" || r.sync != nil && r.instance != "." || r.isMoved():
		case r.place() == "." || EnvironmentOf(g.files, r.place()) != "":
		case g.isApp(r):
			apps[r.place()] = true
		case !isBelowAny(r.place(), synced):
			folders[r.place()] = true
		}
	}
	if len(folders) == 0 && !hasCluster {
		return apps, nil
	}
	return folders, apps
}

// isApp reports whether a root delivers only a folder beside it, or a missing one.
func (g *graph) isApp(r root) bool {
	return !slices.ContainsFunc(r.syncs, func(s *sync) bool {
		isApart := func(p place) bool {
			return g.folders[p.path] != nil && !p.isComponent && !source.IsWithin(p.path, r.place())
		}
		return s.isKustomization() && slices.ContainsFunc(s.places, isApart)
	})
}

// isListed reports whether a kustomization lists a folder.
func (g *graph) isListed(folder string) bool {
	for _, of := range g.folders {
		if slices.Contains(of.kustomization, folder) {
			return true
		}
	}
	return false
}

// isBelowAny reports whether a folder is one of others, or below one.
func isBelowAny(folder string, others map[string]bool) bool {
	for at := folder; at != "."; at = path.Dir(at) {
		if others[at] {
			return true
		}
	}
	return false
}

// syncedBy returns the folder that Flux syncs a cluster by: a root has its own path, or is the path of what installs
// Flux, or is in a circle; or else nothing. An app may have its own path, too, and its kustomization does not list it.
func (g *graph) syncedBy(r root) string {
	isInstalled := func(s *sync) bool { return s.instance != "." && s.instance == r.folder }
	if r.sync == nil && slices.ContainsFunc(g.syncs, isInstalled) {
		return r.folder
	}
	isOther := func(s *sync) bool { return !s.isKustomization() }
	isAlone := len(slices.DeleteFunc(slices.Clone(r.syncs), isOther)) == 1
	for _, s := range r.syncs {
		for _, p := range s.places {
			of := g.folders[p.path]
			listsItself := of != nil && slices.Contains(of.kustomization, s.file)
			isCluster := s.isKustomization() && (!isAlone || s.Name == bootstrapped || listsItself)
			isOwn := p.path == "." || source.IsWithin(r.place(), p.path)
			if isCluster && isOwn && source.IsWithin(path.Dir(s.file), r.place()) {
				return p.path
			}
		}
	}
	return g.circle(r)
}

// circle returns the smallest folder of the Kustomizations in a circle with a root: Flux begins with one of them, and a
// larger one has most of the apps. It returns nothing without a circle of two or more.
func (g *graph) circle(r root) (folder string) {
	isBack := func(from vertex) (is bool) {
		g.walk(from, map[vertex]bool{}, func(v vertex) { is = is || v == r.vertex })
		return is
	}
	if !slices.ContainsFunc(g.next(r.vertex), isBack) {
		return ""
	}
	count := 0
	for _, s := range r.syncs {
		if !s.isKustomization() || s.cluster != "" || !isBack(vertex{sync: s}) {
			continue
		}
		count++
		for _, p := range s.places {
			if g.folders[p.path] != nil && (folder == "" || g.size(p.path) < g.size(folder)) {
				folder = p.path
			}
		}
	}
	if count < 2 {
		return ""
	}
	return folder
}

// size returns the number of files in a folder and below it.
func (g *graph) size(folder string) int {
	of := g.folders[folder]
	n := len(of.names)
	for _, below := range of.folders {
		n += g.size(below)
	}
	return n
}

// isMoved reports whether a root delivers rendered/ alone.
func (r root) isMoved() bool {
	isRendered := func(p place) bool { return source.IsWithin(p.path, tree.Folder) }
	var places []place
	for _, s := range r.syncs {
		places = append(places, s.places...)
	}
	return len(places) > 0 && !slices.ContainsFunc(places, func(p place) bool { return !isRendered(p) })
}

// clustersOf divides roots that are applied by hand into those of one cluster each. Folders are of several clusters if
// objects in them, or objects that these lead to, have the same name.
func clustersOf(roots []root) (all [][]root) {
	if len(roots) == 0 {
		return nil
	}
	count := map[manifest.ID]int{}
	top := above(filesOf(roots))
	parts := map[string][]root{}
	isUnique := true
	for _, r := range roots {
		own := map[manifest.ID]bool{}
		for _, s := range r.syncs {
			own[s.ID] = true
		}
		for id := range own {
			count[id]++
			isUnique = isUnique && count[id] == 1
		}
		part, _, isBelow := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.sync.file, top), "/"), "/")
		if !isBelow {
			part = ""
		}
		parts[part] = append(parts[part], r)
	}
	if isUnique || len(parts) == 1 {
		return [][]root{roots}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, clustersOf(parts[part])...)
	}
	return all
}

func filesOf(roots []root) (names []string) {
	for _, r := range roots {
		names = append(names, r.sync.file)
	}
	return names
}

// above returns the lowest folder that has all files.
func above(names []string) string {
	folder := path.Dir(names[0])
	for _, name := range names {
		for folder != "." && !source.IsWithin(name, folder) {
			folder = path.Dir(folder)
		}
	}
	return folder
}

// spokes returns an entry for each other cluster that syncs deliver to, with the files that have these.
func spokes(syncs []*sync) (all []Entry) {
	files := map[string][]string{}
	for _, s := range syncs {
		if s.cluster != "" {
			files[s.cluster] = append(files[s.cluster], s.file)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(files)) {
		all = append(all, Entry{Name: CleanName("./"+above(files[cluster])) + clusterMark + cluster, Cluster: cluster,
			Resources: files[cluster], isDelivered: true})
	}
	return all
}

// beside returns the files of objects beside one that is applied by hand, unless a kustomization or an object that
// delivers has them.
func (g *graph) beside(name string, seen map[vertex]bool) (names []string) {
	of := g.folders[path.Dir(name)]
	if of.kustomization != nil {
		return nil
	}
	for _, name := range of.names {
		if g.objects[name] && !g.loaded[name] && g.in[name] == nil && !seen[vertex{file: name}] {
			names = append(names, name)
		}
	}
	return names
}

// undelivered returns the folders with YAML files of objects that no entry has, that no kustomization lists, also none
// in a comment, and that no object delivers; beside a kustomization, the files themselves. A path that is a variable
// may lead to any.
func (g *graph) undelivered(entries []Entry) (names []string) {
	if g.leadsAnywhere || len(entries) == 0 {
		return nil
	}
	isHad := g.hadBy(entries)
	for name, isObject := range g.objects {
		folder := path.Dir(name)
		switch {
		case !isObject, !source.IsYAML(name), isHad(name), g.isAside(name):
		case g.folders[folder].kustomization != nil:
			names = append(names, name)
		default:
			names = append(names, folder)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hadBy returns a function that reports whether an entry, a kustomization or an object that delivers has a file.
func (g *graph) hadBy(entries []Entry) func(name string) bool {
	had := map[string]bool{}   // files
	whole := map[string]bool{} // folders that a tool reads with all below
	for _, e := range entries {
		for _, name := range e.Resources {
			had[name] = true
		}
		if !e.IsByHand() && !e.WithFolder && !e.IsChart {
			whole[FolderOf(e.Name)] = true
		}
	}
	for _, of := range g.folders {
		for _, name := range of.kustomization {
			had[name] = true
		}
	}
	_, seen := g.roots()
	return func(name string) bool {
		return had[name] || whole["."] || isBelowAny(path.Dir(name), whole) || g.loaded[name] || g.in[name] != nil ||
			seen[vertex{file: name}]
	}
}

// isAside reports whether a file is switched off, hidden, or of environments/ or rendered/.
func (g *graph) isAside(name string) bool {
	folder := path.Dir(name)
	return g.off[name] || isBelowAny(folder, g.off) || g.folders[folder].isHidden ||
		EnvironmentOf(g.files, folder) != "" || source.IsWithin(folder, tree.Folder)
}
