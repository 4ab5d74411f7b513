package buildpath

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/source"
)

// Generator is an entry of a kustomization that generates an object, or changes a generated object.
type Generator struct {
	types.GeneratorArgs
	Kind     string
	Index    int // in its field
	Document source.Document
}

// findGenerators returns the generators of a kustomization. It leaves out generators in misspelled
// fields, such as a field with a capital letter.
func findGenerators(s *source.Sources, k *source.Kustomization) (found []Generator) {
	documents := s.Documents(k.File)
	add := func(kind string, i int, g types.GeneratorArgs) {
		if len(documents) > 0 && documents[0].Kind == kind && documents[0].Name == g.Name {
			found = append(found, Generator{g, kind, i, documents[0]})
			documents = documents[1:]
		}
	}
	for i, g := range k.ConfigMapGenerator {
		add("ConfigMap", i, g.GeneratorArgs)
	}
	for i, g := range k.SecretGenerator {
		add("Secret", i, g.GeneratorArgs)
	}
	return found
}

// Field returns the field of the kustomization that has the generator.
func (g Generator) Field() string {
	if g.Kind == "Secret" {
		return "secretGenerator"
	}
	return "configMapGenerator"
}

// creates reports whether the generator creates an object instead of changing one. kustomize
// ignores an unknown behavior.
func (g Generator) creates() bool {
	behavior := types.NewGenerationBehavior(g.Behavior)
	return behavior != types.BehaviorMerge && behavior != types.BehaviorReplace
}

// changes reports whether the generator merges into a candidate or replaces it.
func (g Generator) changes(c Candidate) bool { return !g.creates() && g.matches(c) }

// matches reports whether the generator has the kind and name of a candidate.
func (g Generator) matches(c Candidate) bool {
	return g.Kind == c.GVK.Kind && c.isNamed(g.Name, g.Namespace)
}

// Files returns the entries that load files, some of them empty.
func (g Generator) Files() []string {
	return slices.Concat(g.FileSources, g.EnvSources, []string{g.EnvSource})
}

// GVK returns the kind of the generated object.
func (g Generator) GVK() resid.Gvk { return resid.NewGvk("", "v1", g.Kind) }

// SelectsGenerated reports whether a selector selects the kinds that generators create.
func SelectsGenerated(selector resid.Gvk) bool {
	return slices.ContainsFunc([]string{"ConfigMap", "Secret"}, func(kind string) bool {
		return Generator{Kind: kind}.GVK().IsSelected(&selector)
	})
}
