package kustomize

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
)

// isDivisible reports whether no kustomization has a field that may concern all objects, and no
// file is more than a list of objects. The order in which all are built is known only where they
// are built together.
func (d *division) isDivisible() bool {
	if isFIFO(d.loaded[d.folder]) {
		return false
	}
	isShared := map[string]bool{} // a part has less of these files
	for _, m := range d.sources.Manifests {
		if isShared[m.File] = true; !d.isDivisibleManifest(m) {
			return false
		}
	}
	for _, k := range d.loaded {
		if isShared[k.File] {
			return false
		}
		isShared[k.File] = true
	}
	hasReferrer := slices.ContainsFunc(d.sources.Manifests, d.hasReferrer)
	for _, k := range d.loaded {
		if !d.isDivisibleKustomization(k) || hasReferrer && len(k.Replacements) > 0 ||
			slices.ContainsFunc(d.otherFiles(k), func(file string) bool { return file == "" || isShared[file] }) {
			return false
		}
	}
	return true
}

// isDivisibleKustomization reports whether a kustomization changes each object by itself, apart
// from replacements, and leaves alone what tells specs, and what they refer to, from others.
func (d *division) isDivisibleKustomization(k *source.Kustomization) bool {
	switch {
	case len(k.Vars)+len(k.Crds)+len(k.OpenAPI)+len(k.Generators)+len(k.Transformers)+len(k.Validators) > 0,
		slices.Contains(k.BuildMetadata, types.TransformerAnnotations),
		k.Kind == types.ComponentKind && k.NamePrefix+k.NameSuffix+k.Namespace != "",
		slices.ContainsFunc(d.addedMetadata(k), mentionsKustomize),
		slices.ContainsFunc(k.Replacements, mayRename),
		len(d.generators[k.Folder]) < len(k.ConfigMapGenerator)+len(k.SecretGenerator):
		return false
	}
	return !slices.ContainsFunc(d.patches[k.Folder], func(p patch) bool {
		return p.err != nil || p.changesKind() || p.changesIdentity() && p.selectsKind(slices.Concat(d.references.kinds, d.specKinds)) ||
			// A part may lack what another document names.
			len(p.documents) > 1 && p.target == nil && p.selectsKind(d.references.kinds)
	})
}

// mayRename reports whether a replacement may change the name of an object.
func mayRename(r types.ReplacementField) bool {
	return r.Path != "" || slices.ContainsFunc(r.Targets, func(target *types.TargetSelector) bool {
		return target == nil || len(target.FieldPaths) == 0 || slices.ContainsFunc(target.FieldPaths, func(path string) bool {
			return isForKustomize(path) || isOfIdentity(strings.Split(path, "."))
		})
	})
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
		return d.isSpec(text) && !isPlain(text.Objects[0]) || slices.ContainsFunc(text.Objects, d.isRenamedReferent)
	})
}

// hasReferrer reports whether a file has an object that may refer to specs.
func (d *division) hasReferrer(m *source.Manifest) bool {
	return slices.ContainsFunc(m.Texts, func(text *source.Text) bool { return slices.ContainsFunc(text.Objects, d.references.isReferrer) })
}

// isRenamedReferent reports whether specs may refer to an object that tells kustomize about
// names that it had.
func (d *division) isRenamedReferent(o source.Document) bool {
	if !slices.Contains(d.references.kinds, o.Kind) {
		return false
	}
	for key := range o.Annotations() {
		if strings.HasPrefix(key, "internal.config.kubernetes.io/") {
			return true
		}
	}
	return false
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

// addedMetadata returns the labels and annotations that a kustomization gives objects. Its
// configurations may turn one into the other.
func (w *Ways) addedMetadata(k *source.Kustomization) []map[string]string {
	added := []map[string]string{k.CommonLabels, k.CommonAnnotations}
	for _, label := range k.Labels {
		added = append(added, label.Pairs)
	}
	add := func(options *types.GeneratorOptions) {
		if options != nil {
			added = append(added, options.Labels, options.Annotations)
		}
	}
	add(k.GeneratorOptions)
	for _, g := range w.generators[k.Folder] {
		add(g.Options)
	}
	return added
}

// otherFiles returns the files that a kustomization loads, but not as resources. It has an empty
// name for a file that was not found, as where its field is not spelled as it should be.
func (w *Ways) otherFiles(k *source.Kustomization) (files []string) {
	add := func(entries ...string) {
		for _, entry := range entries {
			if entry != "" && !strings.Contains(entry, "\n") {
				files = append(files, k.Paths[entry])
			}
		}
	}
	for _, g := range w.generators[k.Folder] {
		add(g.files()...)
	}
	for _, p := range w.patches[k.Folder] {
		add(p.Path)
	}
	for _, r := range k.Replacements {
		add(r.Path)
	}
	add(k.Configurations...)
	return files
}
