package render

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source"
)

// isManifest matches a file of objects.
var isManifest = regexp.MustCompile(`(?m)^apiVersion:(?s:.*)^kind:|^kind:(?s:.*)^apiVersion:`)

// unlisted warns of manifests beside a kustomization of the environment that nothing loads, once for each
// folder below that of the environment. Local config is meant to stay out.
func (in *input) unlisted(repository *Repository) (warnings []manifest.Problem) {
	read := in.sources.FS.FilesRead()
	for folder, k := range in.sources.Kustomizations {
		if !strings.HasPrefix(folder+"/", in.folder+"/") {
			continue
		}
		all, _ := in.sources.FS.List(folder) // kustomize has read it
		var names []string
		for _, name := range all {
			file := path.Join(source.Relative(folder), name)
			_, isRead := slices.BinarySearch(read, file)
			if isRead || !source.IsYAML(name) || name[0] == '.' || slices.Contains(konfig.RecognizedKustomizationFileNames(), name) {
				continue
			}
			content, _ := regular.ReadFile(repository.root, file)
			if isManifest.Match(content) && !strings.Contains(string(content), source.LocalConfig) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			warnings = append(warnings, manifest.Problem{Warning: true, File: source.Relative(k.File), Line: in.sources.Line(k.File, "resources"),
				Message: "no kustomization of the environment lists " + manifest.FirstOf(3, names) + " beside it: list them under resources, or annotate their objects with " + source.LocalConfig + `: "true"`})
		}
	}
	return warnings
}
