package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/delivery/resourceset"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// world has the objects of an environment that its deliveries refer to.
type world struct {
	objects  map[manifest.ID]manifest.Object // the first of each ID
	own      manifest.ID                     // the source of the environment itself, or nothing
	sync     *folder.Place                   // of the environment, if Flux syncs it, or nil
	clusters []manifest.Object               // Secrets that register clusters of Argo CD
	inputs   []manifest.Object               // ResourceSetInputProviders
	scopes   map[schema.GroupKind]bool       // of custom kinds: whether they have a namespace
	given    map[string]map[string]string    // values by the settings of the repository
	origin   application.Origin              // tells whether a source is the tree
	// addsVariables reports whether the cluster may add variables to Kustomizations.
	addsVariables bool
	// instances returns the objects of flux-operator by all FluxInstances in files.
	instances func() []manifest.Object
}

func newWorld(objects []manifest.Object, in *input) *world {
	w := &world{objects: map[manifest.ID]manifest.Object{}, scopes: map[schema.GroupKind]bool{}, given: in.known.Values}
	w.add(objects, in)
	return w
}

// add adds objects, and what flux-operator makes of them. The Kustomization that syncs the folder of the
// environment has its source.
func (w *world) add(objects []manifest.Object, in *input) {
	for _, o := range slices.Concat(objects, in.instanceObjects(objects)) {
		if _, isThere := w.objects[o.ID()]; !isThere {
			w.objects[o.ID()] = o
		}
		if crd.Is(o.Unstructured) {
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			w.scopes[crd.Kind(o.Unstructured)] = scope != "Cluster"
		}
		if applicationset.IsCluster(o) {
			w.clusters = append(w.clusters, o)
		}
		w.addsVariables = w.addsVariables || flux.AddsVariables(o)
		if resourceset.IsProvider(o) {
			w.inputs = append(w.inputs, o)
		}
		if w.own == (manifest.ID{}) && in.syncs(o) {
			w.sync = &folder.Places(o)[0]
			w.own = w.sync.Source
		}
	}
}

// Find implements resourceset.World: a variable that is left in an object is of a delivery with unknown values.
func (w *world) Find(id manifest.ID) (o manifest.Object, isKnown bool) {
	o, isKnown = w.objects[id]
	return o, isKnown && !flux.HasVariables(o.Object)
}

// Providers implements resourceset.World.
func (w *world) Providers() []manifest.Object { return w.inputs }

// findSource adds a source that nothing here has brought, and a FluxInstance in a file of the repository makes: a
// delivery of this source may bring that instance.
func (w *world) findSource(id manifest.ID) {
	if _, isThere := w.objects[id]; isThere {
		return
	}
	for _, o := range w.instances() {
		if o.ID() == id {
			w.objects[id] = o
		}
	}
}

// apply puts the objects of a delivery as they are applied in place of the ones in git.
func (w *world) apply(d *Delivery) {
	for _, o := range d.objects {
		if w.objects[o.known.ID()].Delivery == d {
			w.objects[o.known.ID()] = o.applied
		}
	}
}

// values returns the ConfigMap or Secret with values that a reference names, and its known values: a variable that is
// left in a value is of a delivery with unknown values, and SOPS encrypts values. What git does not tell, the settings
// may.
func (w *world) values(kind, namespace, name string) (from manifest.Object, values map[string]string, areKnown bool) {
	id := manifest.ID{Kind: kind, Namespace: namespace, Name: name}
	given, isGiven := w.given[id.String()]
	from, isThere := w.objects[id]
	isPlain := isThere && kind == "ConfigMap" && from.Object["sops"] == nil
	if !isPlain && !isGiven {
		return from, nil, false
	}
	areKnown = true
	values = map[string]string{}
	maps.Copy(values, given)
	if !isThere {
		return from, values, true
	}
	for _, field := range []string{"data", "stringData"} {
		data, _ := from.Object[field].(map[string]any)
		for key, value := range data {
			_, isKnown := given[key]
			if isPlain && !flux.HasVariables(value) {
				values[key], _ = value.(string)
				isKnown = true
			}
			areKnown = areKnown && isKnown
		}
	}
	return from, values, areKnown
}

// instanceObjects returns the objects that flux-operator makes by the FluxInstances among objects, and by the values of
// the chart flux-instance, with the patches of these.
func (in *input) instanceObjects(objects []manifest.Object) (all []manifest.Object) {
	add := func(spec any, of manifest.Object, namespace string) {
		instance, ok := flux.InstanceOf(spec)
		if !ok {
			return
		}
		made := instance.Objects(namespace)
		for _, patch := range instance.Kustomize.Patches { // others are of objects that are not here
			patched, err := kustomize.PostRender(in.sources, map[string]any{"patches": []any{patch}}, made)
			if err == nil {
				made = patched
			}
		}
		for _, o := range made {
			o.Delivery = of.Delivery
			all = append(all, o)
		}
	}
	isOther := func(o manifest.Object) bool {
		return release.Is(o) && !manifest.Contains(o.Object["spec"], func(_ string, value any) bool {
			text, _ := value.(string)
			return strings.Contains(text, instanceChart)
		})
	}
	for _, o := range objects {
		if flux.IsInstance(o) {
			add(o.Object["spec"], o, o.GetNamespace())
		}
	}
	for _, r := range release.Find(slices.DeleteFunc(slices.Clone(objects), isOther), false) {
		if r.Chart == instanceChart {
			add(r.Values["instance"], r.Source, r.Namespace)
		}
	}
	return all
}

// instanceChart is the chart that installs a FluxInstance.
const instanceChart = "flux-instance"

// isSame reports whether two sources of Flux are one repository and, as far as both name one, one branch.
func (w *world) isSame(a, b manifest.ID) bool {
	text := func(id manifest.ID, keys ...string) string {
		if w.objects[id].Unstructured == nil {
			return ""
		}
		value, _, _ := unstructured.NestedString(w.objects[id].Object, append([]string{"spec"}, keys...)...)
		return value
	}
	branch := func(id manifest.ID) string {
		return cmp.Or(strings.TrimPrefix(text(id, "ref", "name"), "refs/heads/"), text(id, "ref", "commit"),
			text(id, "ref", "semver"), text(id, "ref", "tag"), text(id, "ref", "branch"))
	}
	isBranch := branch(a) == "" || branch(b) == "" || branch(a) == branch(b)
	return isBranch && text(a, "url") != "" && a.Kind == b.Kind &&
		application.IsSame(text(a, "url"), text(b, "url"))
}

// setUnset tells all deliveries how Flux treats unset variables: by its Deployment among objects, or its
// FluxInstance.
func (d *Delivery) setUnset(objects []manifest.Object) {
	unset := flux.MayRefuse
	for _, o := range slices.Concat(objects, d.instanceObjects(objects)) {
		if by, isController := flux.UnsetBy(o); isController {
			unset = max(unset, by)
		}
	}
	for _, each := range d.all() {
		if each.postBuild != nil {
			each.postBuild.Unset = unset
		}
	}
}

// isNamespaced reports whether an object has a namespace, as far as is known before charts are rendered.
func (c *common) isNamespaced(o manifest.Object, w *world) bool {
	gvk := o.GroupVersionKind()
	if kind, isBuiltin := cmp.Or(c.kubernetes, apiserver.Newest).Lookup(gvk); isBuiltin {
		return kind.IsNamespaced()
	}
	isNamespaced, isCustom := w.scopes[gvk.GroupKind()]
	return isNamespaced || !isCustom
}

// substitute sets the values of variables from the object of a place and from the ConfigMaps of the world. If some are
// in the cluster alone, the known ones are substituted here and the others are unknown.
func (d *Delivery) substitute(by folder.Place, w *world) (problems []manifest.Problem) {
	defer fault.Keep(&problems, fault.In(by.Of.Committed()))
	p := by.PostBuild
	outer := d.outer()
	// Variables that are left in the object are in its objects as well.
	isPartial := outer != nil && outer.Values == nil && flux.HasVariables(by.InCluster.Object["spec"]) ||
		by.IsFlux && w.addsVariables
	isAlways := p.SubstituteStrategy == "Always"
	substitutes := isPartial || isAlways || len(p.Substitute)+len(p.SubstituteFrom) > 0
	if !substitutes && (d.isEntry() || !by.IsFlux) { // the message of a variable names the place of its value
		return nil
	}
	d.postBuild = &flux.PostBuild{Values: map[string]string{}, Always: isAlways,
		In: "spec.postBuild of " + by.Of.String()}
	for _, from := range p.SubstituteFrom {
		o, values, areKnown := w.values(from.Kind, by.Of.GetNamespace(), from.Name)
		isPartial = isPartial || !areKnown
		problems = append(problems, checkNames(o, by, values)...)
		d.postBuild.Add(values)
	}
	d.postBuild.Add(p.Substitute)
	if !isPartial {
		return problems
	}
	for i := range d.objects {
		o := d.objects[i].inGit
		if d.postBuild.Substitutes(o) {
			known, err := flux.WithKnown(o, d.postBuild.Values)
			if err != nil {
				problems = append(problems, manifest.NewProblem(o, "", manifest.Value{},
					fmt.Sprintf("Flux cannot substitute variables: %v", err)).As(manifest.InvalidVariable))
				continue
			}
			known.InGit = &o
			d.objects[i].known = known
		}
	}
	d.postBuild.Values = nil
	return problems
}

// checkNames returns the errors of names of values in a ConfigMap, or in the Kustomization that takes them.
func checkNames(in manifest.Object, by folder.Place, values map[string]string) (problems []manifest.Problem) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if flux.IsName(name) || by.IsElsewhere || in.Unstructured == nil {
			continue
		}
		keys := []string{"data", name}
		if in.Unstructured == by.Of.Unstructured {
			keys = []string{"spec", "postBuild", "substitute", name}
		}
		field := manifest.JoinField(keys)
		problems = append(problems, manifest.NewProblem(in.Committed(), field, manifest.Value{},
			fmt.Sprintf("%s: Flux refuses %q as the name of a variable, and all objects of %s with it: write "+
				"letters, digits and underscores", field, name, by.Of)).As(manifest.InvalidVariable))
	}
	return blameDeliveries(problems)
}

// substituteOwn sets the values of variables by the Kustomization among the objects of an entry that syncs its folder.
func (d *Delivery) substituteOwn() []manifest.Problem {
	objects := d.InGit()
	for _, o := range slices.Concat(objects, d.instanceObjects(objects)) {
		if d.syncs(o) {
			return d.substitute(folder.Places(o)[0], newWorld(objects, d.input))
		}
	}
	hasVariables := func(o manifest.Object) bool { return flux.HasVariables(o.Object) }
	if d.from.MayBeSubstituted && slices.ContainsFunc(objects, hasVariables) {
		d.postBuild = &flux.PostBuild{In: "spec.postBuild of the Kustomization that delivers it"}
		d.unknown("variables that nothing here sets")
	}
	return nil
}

// syncs reports whether an object is the Kustomization that syncs the folder of the environment.
func (c *common) syncs(o manifest.Object) bool {
	return folder.IsKustomization(o) &&
		slices.ContainsFunc(folder.Places(o), func(p folder.Place) bool { return c.isOwn(p.Folder) })
}
