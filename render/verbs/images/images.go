// Package images lists the images that the objects of environments run or mount, and the charts that they install,
// before and after a change.
package images

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Image is an image with the places that name it.
type Image struct {
	Image string `json:"image"`
	Use
}

// Chart is a chart with the places that name it. A version may be a range, and a repository may be unknown.
type Chart struct {
	Name       string `json:"name"`
	Version    string `json:"version,omitempty"`
	Repository string `json:"repository,omitempty"`
	Use
}

// Use says where an image or chart is named.
type Use struct {
	// IsOld and IsNew say that only places before the change name it, or only places after it.
	IsOld bool `json:"isOld,omitempty"`
	IsNew bool `json:"isNew,omitempty"`
	// Used has places after the change, or before it if nothing names it any more.
	Used []Place `json:"used"`
}

// Place is a field that names an image, or a HelmRelease, Application or entry of helmCharts that names a chart.
type Place struct {
	Environment string      `json:"environment"`
	Object      manifest.ID `json:"object,omitzero"`
	Field       string      `json:"field,omitempty"`
	// File and Line are the position in the source. They are unknown before the change.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// uses are places before and after a change by what they name.
type uses[K comparable] struct{ before, after map[K][]Place }

func newUses[K comparable]() uses[K] { return uses[K]{map[K][]Place{}, map[K][]Place{}} }

// list returns all uses, in the order of names. Without a comparison none is new.
func list[K comparable, T any](u uses[K], isCompared bool, compareNames func(a, b K) int, named func(K, Use) T) []T {
	names := slices.SortedFunc(maps.Keys(u.after), compareNames)
	for name := range u.before {
		if u.after[name] == nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, compareNames)
	all := make([]T, len(names))
	for i, name := range names {
		use := Use{u.after[name] == nil, isCompared && u.before[name] == nil, u.after[name]}
		if use.IsOld {
			use.Used = u.before[name]
		}
		slices.SortFunc(use.Used, comparePlaces)
		all[i] = named(name, use)
	}
	return all
}

// List returns the images and charts of the environments of a comparison. Source objects and releases name no images:
// the objects that they are rendered to or install do. Without a base only what is after the change counts.
func List(d *compare.Diff) ([]Image, []Chart) {
	images := newUses[string]()
	charts := newUses[[3]string]()
	for _, e := range d.Environments {
		if d.Base != "" {
			add(e, images.before, charts.before, e.Before().Objects, e.OldCharts, nil)
		}
		add(e, images.after, charts.after, e.After().Objects, e.Charts, places(e))
	}
	asImage := func(name string, u Use) Image { return Image{name, u} }
	asChart := func(c [3]string, u Use) Chart { return Chart{c[0], c[1], c[2], u} }
	compareCharts := func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }
	return list(images, d.Base != "", strings.Compare, asImage), list(charts, d.Base != "", compareCharts, asChart)
}

// add adds the uses by the objects of an environment and by its entries of helmCharts. Without locate it leaves out
// files and lines.
func add(e *compare.Comparison, images map[string][]Place, charts map[[3]string][]Place,
	objects []*unstructured.Unstructured, entries []source.Chart,
	locate func(o manifest.ID, field, value string) (file string, line int)) {
	at := func(o manifest.ID, field, value string) Place {
		p := Place{Environment: e.Name, Object: o, Field: field}
		if locate != nil {
			p.File, p.Line = locate(o, field, value)
		}
		return p
	}
	all := make([]manifest.Object, len(objects))
	for i, o := range objects {
		all[i] = manifest.Object{Unstructured: o}
		for field, image := range fieldsOf(e.Kinds, o) {
			images[image] = append(images[image], at(all[i].ID(), field, image))
		}
	}
	for _, r := range release.Find(all, false) {
		c := [3]string{cmp.Or(r.Chart, strings.TrimPrefix(r.Folder, "/")), r.Version, r.Repository}
		if c[0] != "" {
			charts[c] = append(charts[c], at(r.Source.ID(), "", ""))
		}
	}
	for _, entry := range entries {
		c := [3]string{entry.Name, entry.Version, entry.Repo}
		p := Place{Environment: e.Name}
		if locate != nil {
			p.File = strings.TrimPrefix(entry.File, "/")
			p.Line = entry.Node.Line
		}
		charts[c] = append(charts[c], p)
	}
}

// places returns a function that finds the file and line of a field after the change, or nil for an environment that
// is gone.
func places(e *compare.Comparison) func(o manifest.ID, field, value string) (file string, line int) {
	if e.Environment == nil || !e.Environment.IsBuilt() {
		return nil
	}
	known := map[manifest.ID]manifest.Object{}
	for _, o := range e.Environment.Judged() {
		known[o.ID()] = o
	}
	return func(id manifest.ID, field, value string) (string, int) {
		p := manifest.NewProblem(known[id], field, manifest.Value{}, "")
		if value != "" {
			p.Value.Is = value
		}
		if p.Subject.Unstructured == nil {
			return "", 0
		}
		p = e.Environment.LocateProblem(p)
		return p.File, p.Line
	}
}

func comparePlaces(a, b Place) int {
	return cmp.Or(strings.Compare(a.Environment, b.Environment), strings.Compare(a.Object.String(), b.Object.String()),
		strings.Compare(a.Field, b.Field), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// fieldsOf returns the images of an object by their fields: those that are called image, and image volumes.
func fieldsOf(kinds *registry.Kinds, o *unstructured.Unstructured) map[string]string {
	if kinds.Find(o.GroupVersionKind()) != nil {
		return nil
	}
	switch o.GetKind() {
	case "Application", "ApplicationSet", "ConfigMap", "CustomResourceDefinition", "HelmRelease", "Kustomization",
		"ResourceSet", "Secret":
		return nil
	}
	found := map[string]string{}
	for _, f := range (compare.Change{After: o}).Fields() {
		isImage := strings.HasSuffix(f.Path, ".image") || strings.HasSuffix(f.Path, ".image.reference")
		if isImage && f.After != nil && *f.After != "" && !strings.HasPrefix(*f.After, "{") {
			found[f.Path] = *f.After
		}
	}
	return found
}
