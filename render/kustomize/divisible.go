package kustomize

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
)

// isDivisible reports whether no kustomization has a field that may concern all objects. The
// order in which all are built is known only where they are built together.
func (d *division) isDivisible() bool {
	if isFIFO(d.reached[d.folder]) {
		return false
	}
	isKustomization := map[string]bool{}
	for _, k := range d.reached {
		isKustomization[k.File] = true
		switch {
		case len(k.Vars)+len(k.Crds)+len(k.OpenAPI)+len(k.HelmCharts) > 0, k.HelmGlobals != nil,
			slices.Contains(k.BuildMetadata, types.TransformerAnnotations),
			k.Kind == types.ComponentKind && k.NamePrefix+k.NameSuffix+k.Namespace != "",
			slices.ContainsFunc(addedMetadata(k), mentionsKustomize):
			return false
		}
	}
	for _, k := range d.reached {
		// A part has less of some files, which only those who load them as resources may see.
		if slices.ContainsFunc(otherFiles(k), func(file string) bool {
			return file == "" || isKustomization[file] || len(d.loaders[file]) > 0
		}) {
			return false
		}
	}
	return !slices.ContainsFunc(d.manifests, func(m *source.Manifest) bool { return isKustomization[m.File] || !d.isDivisibleManifest(m) })
}

// separatedBadly is the separator of documents that kustomize refuses, as a document
// starts on its line.
var separatedBadly = regexp.MustCompile(`(?m)^---[ \t]*[^\s#]`)

// isDivisibleManifest reports whether the documents of a file can be told apart, and ask
// nothing of kustomize.
func (d *division) isDivisibleManifest(m *source.Manifest) bool {
	content, err := d.sources.FS.ReadFile(m.File)
	if err != nil || separatedBadly.Match(content) {
		return false
	}
	return !slices.ContainsFunc(m.Texts, func(text *source.Text) bool {
		return isSpec(d.sources, text) && !isPlain(text.Objects[0])
	})
}

// addedMetadata returns the labels and annotations that a kustomization gives objects. Its
// configurations may turn one into the other.
func addedMetadata(k *source.Kustomization) []map[string]string {
	added := []map[string]string{k.CommonLabels, k.CommonAnnotations}
	for _, label := range k.Labels {
		added = append(added, label.Pairs)
	}
	all := generators(k)
	all = append(all, types.GeneratorArgs{Options: k.GeneratorOptions})
	for _, g := range all {
		if g.Options != nil {
			added = append(added, g.Options.Labels, g.Options.Annotations)
		}
	}
	return added
}

// otherFiles returns the files that a kustomization loads, but not as resources. It has an empty
// name for a file that was not found, as where its field is not spelled as it should be.
func otherFiles(k *source.Kustomization) (files []string) {
	add := func(entry string) {
		if entry != "" && !strings.Contains(entry, "\n") {
			files = append(files, k.Paths[entry])
		}
	}
	for _, g := range generators(k) {
		for _, entry := range slices.Concat(g.FileSources, g.EnvSources) {
			add(entry)
		}
	}
	for _, entry := range k.PatchesStrategicMerge {
		add(string(entry))
	}
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) {
		add(p.Path)
	}
	for _, r := range k.Replacements {
		add(r.Path)
	}
	for _, entry := range slices.Concat(k.Configurations, k.Generators, k.Transformers, k.Validators) {
		add(entry)
	}
	return files
}

// isPlain reports whether a spec has a name and asks nothing of kustomize.
func isPlain(spec source.Document) bool {
	return spec.Name != "" && !mentionsKustomize(spec.Annotations())
}

// mentionsKustomize reports whether an annotation is one that kustomize acts on.
func mentionsKustomize(annotations map[string]string) bool {
	for key := range annotations {
		if isForKustomize(key) {
			return true
		}
	}
	return false
}

// isForKustomize reports whether kustomize acts on an annotation with a key: it may drop the
// object, or change its name.
func isForKustomize(key string) bool {
	return strings.Contains(key, "config.kubernetes.io/") || strings.Contains(key, "kustomize.config.k8s.io/")
}
