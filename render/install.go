package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/release"
	"example.com/gatehouse/render/source/charts"
)

// install returns the objects that controllers install by the built objects, as Flux applies those. Files
// have the charts.
func (b *built) install(in *input, files charts.Files, objects []manifest.Object) ([]release.Installed, []manifest.Problem) {
	originals := map[*unstructured.Unstructured]manifest.Object{}
	applied := make([]manifest.Object, len(objects))
	for i, r := range in.postBuild.Substitute(objects, nil) {
		applied[i] = r.Object
		originals[r.Object.Unstructured] = objects[i]
	}
	b.releases = release.Find(applied)
	for i, r := range b.releases {
		b.releases[i].Source = originals[r.Source.Unstructured]
	}
	return release.Installer{
		Files: files, Cluster: b.cluster, Memo: in.memo,
		PostRender: func(k map[string]any, objects []manifest.Object) ([]manifest.Object, error) {
			return kustomize.PostRender(in.sources, k, objects)
		},
	}.Install(b.releases)
}

// addInstalled adds the objects that controllers install, and their CustomResourceDefinitions to local
// unless it has them.
func (b *built) addInstalled(in *input) {
	b.cluster = clusterOf(in.sources.Kustomizations[in.folder])
	known := map[string]bool{}
	for _, o := range append(b.objects[:len(b.objects):len(b.objects)], b.local...) {
		if crd.Is(o.Unstructured) {
			known[o.GetName()] = true
			b.cluster.APIVersions = append(b.cluster.APIVersions, servedVersions(o)...)
		}
	}
	b.installed, b.invalid = b.install(in, in.sources.FS.Charts(), b.objects)
	for _, r := range b.installed {
		for _, o := range r.Objects {
			if crd.Is(o.Unstructured) && !known[o.GetName()] {
				known[o.GetName()] = true
				b.local = append(b.local, o)
			}
		}
	}
}

// servedVersions returns the versions and kinds that a CustomResourceDefinition serves, as Helm names them.
func servedVersions(definition manifest.Object) (all []string) {
	spec := manifest.As[struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}](definition.Unstructured).Spec
	for _, v := range spec.Versions {
		if v.Served {
			all = append(all, spec.Group+"/"+v.Name, spec.Group+"/"+v.Name+"/"+spec.Names.Kind)
		}
	}
	return all
}

// judgeInstalled returns the problems of installed objects, and of their CustomResourceDefinitions, as
// problems of their releases.
func (b *built) judgeInstalled(invalid []manifest.Problem) []manifest.Problem {
	of := map[*unstructured.Unstructured]release.Installed{}
	for i, r := range b.installed {
		for j, o := range r.Objects {
			r.Objects[j] = b.checker.WithNamespace(o, r.Namespace)
			of[o.Unstructured], of[r.Objects[j].Unstructured] = r, r
		}
		invalid = append(invalid, b.checker.Installed(b.installed[i].Objects)...)
	}
	for i, p := range invalid {
		if r, is := of[p.Subject.Unstructured]; is {
			invalid[i] = r.Blame(p)
		}
	}
	return invalid
}
