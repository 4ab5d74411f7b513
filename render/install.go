package render

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/apiserver"
)

// findReleases returns the charts that tools install by objects, but for other clusters with an entry of their own.
func (c *common) findReleases(objects []manifest.Object) []release.Release {
	isOther := func(o manifest.Object) bool { return release.Is(o) && c.isEntry(targetOf(o)) }
	return release.Find(slices.DeleteFunc(slices.Clone(objects), isOther), c.from.IsByHand())
}

// Delivers reports whether a tool may make other objects by an object.
func Delivers(o manifest.Object) bool { return release.Is(o) || folder.Delivers(o) }

// Install returns the objects that tools make by applied objects, with the folders and charts of a repository, which
// may be at another revision, by their deliveries. Each object has the name of a file.
func (e *Environment) Install(objects []manifest.Object, repository *Repository) ([]*Delivery, []manifest.Problem) {
	files := repository.fileSystem()
	root := &Delivery{input: e.root.input}
	root.setBuilt(objects)
	by := tools{repository: repository, files: files, charts: files, cluster: e.cluster}
	_, problems := by.deliver(root)
	for _, d := range root.below() {
		d.setNamespace(e.checker)
	}
	for _, d := range root.charts() {
		d.placeInChart(e.checker)
	}
	return root.below(), problems
}

// placeInChart gives each object of a release a name of a file in its chart.
func (d *Delivery) placeInChart(checker *verdict.Checker) {
	if d.upgrade != nil {
		d.upgrade.placeInChart(checker)
	}
	var placed []manifest.Object
	for _, p := range tree.Layout(d.Applied(), checker.IsNamespaced) {
		if p.Taken == nil {
			p.File = path.Join(d.Chart.Archive, p.Path)
			placed = append(placed, p.Object)
		}
	}
	d.setBuilt(placed)
}

// deliver adds the objects that tools make of applied objects, and their CustomResourceDefinitions.
func (b *built) deliver(repository *Repository) {
	root := b.root
	b.files = repository.fileSystem()
	b.cluster = sync.OnceValue(func() charts.Cluster { // most environments have no releases
		b.addDefinitions(root.delivered())
		return root.clusterOf(root.sources.Kustomizations[root.folder],
			definitionsIn(slices.Concat(root.known(), b.local)))
	})
	var apart []release.Release
	if from := root.from; from.IsChart {
		apart = append(apart, release.Apart(b.files, root.folder, from.ValueFiles, from.IsAssumed))
	}
	by := tools{repository: repository, files: b.files, charts: root.sources.FS, cluster: b.cluster}
	releases, problems := by.deliver(root, apart...)
	b.releases = releases
	b.invalid = blameDeliveries(problems)
	all := slices.Concat(root.known(), root.delivered())
	for _, d := range root.charts() {
		all = append(all, d.Chart.Objects...)
	}
	root.setUnset(all)
	b.addDefinitions(all)
	b.addDefinitions(root.otherDefinitions(repository, all))
}

// tools make objects of applied objects.
type tools struct {
	repository *Repository
	files      *source.FileSystem // of followed folders
	charts     *source.FileSystem
	cluster    func() charts.Cluster // that charts are rendered for
}

// deliver adds the deliveries below a node: those of folders, those of the charts of the releases among their objects
// and of others, and again those of the objects of these charts. Each is followed once: a chart may install itself.
func (t tools) deliver(root *Delivery, others ...release.Release) (all []release.Release,
	problems []manifest.Problem) {
	installer := root.installer(t.charts, t.cluster, root.sourceOrigin(t.repository, root.Applied()))
	var queue []*Delivery
	install := func(releases []release.Release) {
		installed, found := installer.Install(releases)
		problems = append(problems, found...)
		for _, r := range installed {
			queue = append(queue, root.addChart(r))
		}
		all = append(all, releases...)
	}
	isSeen := map[manifest.ID]bool{}
	isKnown := func(o manifest.Object) bool {
		id := o.ID()
		id.Namespace = "" // a chart leaves it to its release
		isAgain := isSeen[id]
		isSeen[id] = true
		return isAgain || !Delivers(o)
	}
	problems = root.follow(t.repository, t.files)
	for _, o := range slices.Concat(root.Applied(), root.delivered()) {
		isKnown(o)
	}
	install(append(root.findReleases(root.judged()), others...))
	for ; len(queue) > 0; queue = queue[1:] {
		top := &Delivery{input: root.input}
		top.setBuilt(slices.DeleteFunc(slices.Clone(queue[0].Chart.Objects), isKnown))
		if len(top.objects) > 0 {
			problems = append(problems, top.follow(t.repository, t.files)...)
			queue[0].adopt(top)
			install(root.findReleases(top.judged()))
		}
	}
	return all, problems
}

// installer returns the installer of charts in files.
func (in *input) installer(files *source.FileSystem, cluster func() charts.Cluster,
	origin application.Origin) release.Installer {
	return release.Installer{Files: files, Cluster: cluster, Origin: origin, Memo: in.shared, Sources: in.sources,
		Locate: in.locateText}
}

// judged returns the objects of the delivery, and of the folders and sets below it, as the releases among them are
// judged.
func (d *Delivery) judged() (all []manifest.Object) {
	for _, each := range d.open() {
		all = append(all, each.withDefaults()...)
	}
	return all
}

// adopt takes the children of another node.
func (d *Delivery) adopt(other *Delivery) {
	d.stays = "a chart makes it"
	for _, child := range other.Children {
		child.Parent = d
		d.Children = append(d.Children, child)
	}
}

// addDefinitions adds the CustomResourceDefinitions among objects to local, unless there is one of the name.
func (b *built) addDefinitions(objects []manifest.Object) {
	known := map[string]bool{}
	for _, o := range definitionsIn(slices.Concat(b.root.known(), b.local)) {
		known[o.GetName()] = true
	}
	for _, o := range objects {
		if crd.Is(o.Unstructured) && !known[o.GetName()] {
			known[o.GetName()] = true
			b.local = append(b.local, o)
		}
	}
}

// otherDefinitions returns the definitions in files of the repository that nothing delivers, or of this program, for
// the kinds of objects, if they serve each version that an object has: others may be of another release of the tool.
func (c *common) otherDefinitions(repository *Repository, objects []manifest.Object) (all []manifest.Object) {
	found := map[schema.GroupKind]*unstructured.Unstructured{}
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		// most environments have no others, and reading the definitions takes time
		if apiserver.IsGroup(gvk.Group) || c.kinds.Find(gvk) != nil {
			continue
		}
		definition, _ := repository.undelivered(gvk)
		if definition == nil {
			definition = definitions.Of(gvk)
		}
		if other, isFound := found[gvk.GroupKind()]; !isFound || other != nil {
			found[gvk.GroupKind()] = definition
		}
	}
	for _, definition := range found {
		if definition != nil {
			all = append(all, manifest.Object{Unstructured: definition, Written: definition})
		}
	}
	slices.SortFunc(all, func(a, b manifest.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all
}

// admissible returns the installed objects whose values are known. A message could quote the values of a Secret.
func (b *built) admissible() (objects []manifest.Object) {
	for _, d := range b.root.charts() {
		if len(d.Chart.Unknown) == 0 {
			objects = append(objects, d.Applied()...)
		}
	}
	return slices.DeleteFunc(objects, func(o manifest.Object) bool {
		return manifest.IsSecret(o.Unstructured) || flux.HasVariables(o.Object)
	})
}

// judgeInstalled returns the problems of installed objects, and of their CustomResourceDefinitions, as
// problems of their releases.
func (b *built) judgeInstalled(invalid []manifest.Problem) []manifest.Problem {
	for _, o := range b.root.known() {
		if release.Is(o) && !b.hasOwnDefinition(o) {
			invalid = append(invalid, b.misfits(o)...)
		}
	}
	for _, d := range b.root.charts() { // Flux substitutes variables in the release
		invalid = append(invalid, d.Parent.checker(b.checker).Installed(d.Applied())...)
		invalid = append(invalid, repeatedIn(d)...)
		d.placeInChart(b.checker)
	}
	return blameDeliveries(invalid)
}

// repeatedIn returns a warning of the objects that a chart makes twice: the tool applies one over the other. Helm
// installs a file of a definition before a template of it.
func repeatedIn(d *Delivery) []manifest.Problem {
	first := map[manifest.ID]manifest.Object{}
	var names []string
	for _, o := range d.Applied() {
		other, isRepeated := first[o.IDInNamespace()]
		switch {
		case !isRepeated:
			first[o.IDInNamespace()] = o
		case !release.IsCRDFile(other) || !reflect.DeepEqual(o.Object["spec"], other.Object["spec"]):
			names = append(names, fmt.Sprintf("%s (%s and %s)", o, other.Origin, o.Origin))
		}
	}
	if len(names) == 0 {
		return nil
	}
	p := d.Chart.Warning("makes an object twice, and one is applied over the other: " + manifest.FirstOf(3, names))
	p.Code = manifest.DuplicateObject
	return []manifest.Problem{p}
}

// hasOwnDefinition reports whether a definition of the repository judges an object, and none of this program.
func (b *built) hasOwnDefinition(o manifest.Object) bool {
	definition := definitions.Of(o.GroupVersionKind())
	_, isKnown := b.checker.IsNamespaced(o.GroupVersionKind())
	return isKnown && !slices.ContainsFunc(b.judges, func(judge manifest.Object) bool {
		return definition != nil && judge.Unstructured == definition
	})
}

// misfits returns the values of a release that its controller cannot read, and that the definition accepts.
func (b *built) misfits(o manifest.Object) []manifest.Problem {
	misfits := release.Misfits(o)
	if len(misfits) == 0 {
		return nil
	}
	_, found := b.checker.Objects([]manifest.Object{o})
	return slices.DeleteFunc(misfits, func(p manifest.Problem) bool {
		return slices.ContainsFunc(found, func(other manifest.Problem) bool { return other.Field == p.Field })
	})
}
