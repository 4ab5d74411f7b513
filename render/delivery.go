package render

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/verdict"
)

// Delivery is a node of an environment: the objects that a cluster gets from one place of the tree. Nobody delivers the
// entry of the environment. Each other node has an object that delivers: for Flux or Argo CD from a folder, a set (an
// ApplicationSet or a ResourceSet) from its template, and for Helm from a chart.
type Delivery struct {
	// Place has the object that delivers and its folder. The entry has none, and neither set nor chart has a folder.
	folder.Place
	// Parent delivers the object; nil for the entry.
	Parent *Delivery
	// Children are the deliveries among the objects.
	Children []*Delivery
	// Chart is the chart of a release; nil for any other delivery.
	Chart *release.Installed
	// Looks are the paths that making the delivery looks at, and the files whose content it consumes.
	Looks *source.Looks
	// Unknown are the reasons why not all objects are known. Without a reason all are. The part before a colon is
	// common to deliveries of a class: "chart not here: chart web 1.0.0".
	Unknown []string

	*input                        // of a set and a chart, the parent's
	paths   *kustomize.Paths      // nil without a build
	overlay *folder.Kustomization // as the tool builds it; nil for the entry and a set
	objects []delivered
	upgrade *Delivery // the chart in an upgrade, if it differs; nil otherwise
	// postBuild has the values of the variables in the objects, if Flux substitutes any.
	postBuild *flux.PostBuild
	// ineffective are the warnings of entries that change nothing.
	ineffective []manifest.Problem
	// sync is Flux's place of an entry; nil if nothing here says so.
	sync *folder.Place
	// artifact has the files that the folder is built from, if a generator makes them.
	artifact *generated
	// templates are the fields of a ResourceSet that make its objects.
	templates map[manifest.ID]string
	// rendered is the folder in rendered/NAME, and stays the reason to have none; see setRendered.
	rendered, stays string
}

// delivered is an object of a delivery, in its stages.
type delivered struct {
	inGit   manifest.Object // as built, with its variables
	known   manifest.Object // with the known values of variables, if the cluster alone has others
	applied manifest.Object // as the tool applies it
	// isRepeated reports whether another delivery has brought the object before, differs whether with other content.
	isRepeated, differs bool
}

// NewDelivery returns the delivery of some objects from a place, with the values of their variables, if Flux
// substitutes any.
func NewDelivery(from folder.Place, objects []manifest.Object, variables *flux.PostBuild) *Delivery {
	d := &Delivery{Place: from, Parent: &Delivery{}, postBuild: variables}
	d.setBuilt(objects)
	return d
}

// setBuilt sets the objects of a delivery as they are built.
func (d *Delivery) setBuilt(objects []manifest.Object) {
	d.objects = make([]delivered, len(objects))
	for i, o := range objects {
		d.objects[i] = delivered{inGit: o, known: o, applied: o}
	}
}

// InGit returns all objects of the delivery as they are in git.
func (d *Delivery) InGit() []manifest.Object {
	return d.stage(true, func(o delivered) manifest.Object { return o.inGit })
}

// Applied returns the objects as the tool applies them, but for those that another delivery brings as well.
func (d *Delivery) Applied() []manifest.Object {
	return d.stage(false, func(o delivered) manifest.Object { return o.applied })
}

// withDefaults returns Applied with the defaults of variables whose values only the cluster has.
func (d *Delivery) withDefaults() []manifest.Object {
	objects := d.Applied()
	if d.postBuild == nil || d.postBuild.Values != nil {
		return objects
	}
	for i, o := range objects {
		if d.postBuild.Substitutes(o) {
			objects[i] = flux.WithDefaults(o)
			objects[i].InGit = cmp.Or(o.InGit, &o)
		}
	}
	return objects
}

// whole returns all objects as the tool applies them.
func (d *Delivery) whole() []manifest.Object {
	return d.stage(true, func(o delivered) manifest.Object { return o.applied })
}

// known returns the objects with the known values of their variables, but for those that another delivery brings as
// well.
func (d *Delivery) known() []manifest.Object {
	return d.stage(false, func(o delivered) manifest.Object { return o.known })
}

func (d *Delivery) stage(withRepeated bool, of func(delivered) manifest.Object) (objects []manifest.Object) {
	for _, o := range d.objects {
		if withRepeated || !o.isRepeated {
			objects = append(objects, of(o))
		}
	}
	return objects
}

// isEntry reports whether the delivery is the entry of the environment, isSet whether it is an ApplicationSet or a
// ResourceSet.
func (d *Delivery) isEntry() bool { return d.Parent == nil }
func (d *Delivery) isSet() bool   { return !d.isEntry() && d.Chart == nil && d.Folder == "" }

// IsFolder reports whether a tool builds a folder.
func (d *Delivery) IsFolder() bool { return !d.isEntry() && d.Folder != "" }

// isOpen reports whether the objects of a folder or set are there to be judged.
func (d *Delivery) isOpen() bool {
	return d.paths != nil && d.Chart == nil || d.isSet() && d.objects != nil
}

// unknown adds a reason why the objects are not all known.
func (d *Delivery) unknown(reasons ...string) { d.Unknown = append(d.Unknown, reasons...) }

// all returns the delivery and all below it, a parent before its children.
func (d *Delivery) all() []*Delivery {
	nodes := []*Delivery{d}
	for i := 0; i < len(nodes); i++ { // level by level
		nodes = append(nodes, nodes[i].Children...)
	}
	return nodes
}

// open returns the folders and sets whose objects are there to be judged: the delivery itself, and those below it.
func (d *Delivery) open() (open []*Delivery) {
	for _, each := range d.all() {
		if each == d || each.isOpen() {
			open = append(open, each)
		}
	}
	return open
}

// followed returns the folders and sets below the delivery whose objects are there to be judged.
func (d *Delivery) followed() []*Delivery { return d.open()[1:] }

// charts returns the charts below the delivery.
func (d *Delivery) charts() []*Delivery {
	return slices.DeleteFunc(d.all(), func(each *Delivery) bool { return each.Chart == nil })
}

// below returns the deliveries below the delivery that may have objects, charts first.
func (d *Delivery) below() []*Delivery { return append(d.charts(), d.followed()...) }

// delivered returns the objects of the folders and sets below the delivery, as tools apply them.
func (d *Delivery) delivered() (all []manifest.Object) {
	for _, each := range d.followed() {
		all = append(all, each.Applied()...)
	}
	return all
}

// Brought returns the objects as the tool applies them, also if another delivery brings one with other content: the
// tools apply one over the other.
func (d *Delivery) Brought() []manifest.Object {
	return d.applied(func(o delivered) bool { return !o.isRepeated || o.differs })
}

// Upgraded returns Brought of a release that was there before.
func (d *Delivery) Upgraded() []manifest.Object { return cmp.Or(d.upgrade, d).Brought() }

// Repeated returns the objects that another delivery brings as they are.
func (d *Delivery) Repeated() []manifest.Object {
	return d.applied(func(o delivered) bool { return o.isRepeated && !o.differs })
}

func (d *Delivery) applied(are func(delivered) bool) (objects []manifest.Object) {
	for _, o := range d.objects {
		if are(o) {
			objects = append(objects, o.applied)
		}
	}
	return objects
}

// By returns the object that delivers: of a chart an Application or a HelmRelease, which a set may make. It is empty
// for the entry.
func (d *Delivery) By() manifest.ID {
	if d.isEntry() {
		return manifest.ID{}
	}
	if id := d.Of.ID(); d.Chart == nil || d.Chart.ID.Kind == id.Kind {
		return id
	}
	return d.Chart.ID
}

// IsMissing reports whether the objects of a chart are unknown.
func (d *Delivery) IsMissing() bool { return d.Chart != nil && d.Chart.Objects == nil }

// parentOf returns the delivery of an object below this one.
func (d *Delivery) parentOf(o manifest.Object) *Delivery {
	if parent, isDelivered := o.Delivery.(*Delivery); isDelivered {
		return parent
	}
	return d
}

// addChart adds the chart of a release below the delivery, and returns it.
func (d *Delivery) addChart(r *release.Installed) *Delivery {
	parent := d.parentOf(r.Source)
	node := &Delivery{Place: folder.Place{Of: r.Source, InCluster: r.Source, DefaultNamespace: r.Namespace},
		Parent: parent, Chart: r, Looks: r.Noted, input: parent.input, Unknown: r.UnknownReasons()}
	node.setBuilt(r.Objects)
	if r.Upgrade != nil {
		upgrade := *node
		node.upgrade = &upgrade
		node.upgrade.setBuilt(r.Upgrade)
	}
	parent.Children = append(parent.Children, node)
	return node
}

// outer returns the values of the variables in the object that delivers, if Flux substitutes any.
func (d *Delivery) outer() *flux.PostBuild {
	if d.isEntry() || d.isSet() && !d.IsFlux { // a controller of Argo CD makes the objects of an ApplicationSet
		return nil
	}
	return d.Parent.postBuild
}

// checker returns the judge of the objects of the delivery.
func (d *Delivery) checker(of *verdict.Checker) *verdict.Checker {
	if of.PostBuild == d.postBuild {
		return of
	}
	checker := *of
	checker.PostBuild = d.postBuild
	return &checker
}

// hasMetadata reports whether Flux sets metadata in the built objects.
func (d *Delivery) hasMetadata() bool {
	return len(d.CommonMetadata.Labels)+len(d.CommonMetadata.Annotations) > 0
}

// setNamespace gives objects without a namespace the one of an Application or a release.
func (d *Delivery) setNamespace(checker *verdict.Checker) {
	if d.DefaultNamespace == "" {
		return
	}
	if d.upgrade != nil {
		d.upgrade.setNamespace(checker)
	}
	for i, o := range d.objects {
		d.objects[i].inGit = checker.WithNamespace(o.inGit, d.DefaultNamespace)
		d.objects[i].known = checker.WithNamespace(o.known, d.DefaultNamespace)
		if !o.isRepeated {
			d.objects[i].applied = d.objects[i].known // neither Argo CD nor Helm substitutes anything
		}
	}
}

// Object implements manifest.Delivery.
func (d *Delivery) Object() manifest.Object { return d.Of }

// Blame implements manifest.Delivery. It adds the source file and line, or those of the object that delivers if its own
// fields are to blame.
func (d *Delivery) Blame(p manifest.Problem) manifest.Problem {
	switch {
	case d.Chart != nil:
		return d.Chart.Blame(p)
	case d.isEntry():
		return locate(d.input, d.paths, p)
	case d.isSet():
		return d.blameSet(p)
	}
	p.Subject = p.Subject.Committed()
	if keys := d.CommonMetadata.Setter(p); keys != nil {
		return d.blameObject(p, manifest.JoinField(keys), p.Value, p.Object+": "+p.Message)
	}
	located := locate(d.input, d.paths, p)
	set := d.overlay.Setter(d.sources, located.File, located.Line)
	located.Line = set.Line
	if set.Field == "" {
		located.File = d.fromArtifact(located.File)
		return located
	}
	message := strings.TrimPrefix(located.Object+": "+located.Message, ": ")
	field := manifest.JoinField(append(manifest.SplitField(set.Field), set.Below...))
	if rest, ok := strings.CutPrefix(p.Field, set.Entry); ok {
		field = set.Field + rest
		message = field + strings.TrimPrefix(p.Message, p.Field)
	}
	return d.blameObject(p, field, set.Value, message)
}

// blame adds the source files and lines of problems.
func (d *Delivery) blame(problems []manifest.Problem) []manifest.Problem {
	return manifest.Each(problems, d.Blame)
}

// blameObject turns a problem into one of the field of the object that causes it.
func (d *Delivery) blameObject(p manifest.Problem, field string, value manifest.Value,
	message string) manifest.Problem {
	of := manifest.NewProblem(d.Of, field, value, message).As(p.Code)
	of.Warning = p.Warning
	of.Cause = p.Cause
	if d.Parent.isSet() {
		return d.Parent.Blame(of)
	}
	return of
}

// MetadataField returns the field of the object that delivers by which its tool sets metadata of built objects; empty
// if it sets none.
func (d *Delivery) MetadataField() string {
	switch {
	case d.isEntry() || d.Chart != nil || d.isSet():
		return ""
	case d.hasMetadata():
		return "spec.commonMetadata"
	case d.DefaultNamespace != "":
		return "spec.destination.namespace"
	}
	return ""
}

// Sources returns the source files that the delivery is built from.
func (d *Delivery) Sources() *source.Sources { return d.sources }

// Paths returns the build paths of the objects; nil for a chart and a set.
func (d *Delivery) Paths() *kustomize.Paths { return d.paths }

// Folders returns the folders that a tool may apply, from the root: in git, and in rendered/ if it is there.
func (d *Delivery) Folders() []string {
	if d.rendered == "" {
		return []string{d.Folder}
	}
	return []string{d.Folder, path.Join(d.renderedFolder(), d.rendered)}
}

// Variables returns the values of the variables in the objects, if Flux substitutes any.
func (d *Delivery) Variables() *flux.PostBuild { return d.postBuild }

// blameDeliveries turns problems of delivered objects into ones of their deliveries, or locates them in their files.
func blameDeliveries(problems []manifest.Problem) []manifest.Problem {
	return manifest.Each(problems, func(p manifest.Problem) manifest.Problem {
		for p.Subject.Delivery != nil && p.File == "" {
			p = p.Subject.Delivery.Blame(p)
		}
		return p
	})
}

// isWritten reports whether a source file of the object that delivers has a field. One that a patch adds to many
// deliveries may be for others.
func (d *Delivery) isWritten(field string) bool {
	if d.Parent.paths == nil {
		return false
	}
	built := d.Parent.paths.Find(d.Of)
	if built == nil {
		return false
	}
	entry := field[:strings.LastIndex(field, "]")+1]
	_, value := node.Walk(built.Document.Node(), manifest.SplitField(entry), nil)
	return value != nil
}
