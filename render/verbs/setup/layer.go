package setup

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// wayTo returns the relative path to a file or folder. Both paths are from the top, with a leading slash.
func wayTo(from, to string) string {
	way, _ := filepath.Rel(from, to) // both are absolute
	return filepath.ToSlash(way)
}

// compose returns a kustomization of the environment. up is the path to the overlay.
func compose(header string, k types.Kustomization, up string) []byte {
	var content map[string]any
	_ = yaml.Unmarshal(manifest.ToYAML(k), &content) // it is a mapping
	maps.DeleteFunc(content, func(name string, _ any) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
	})
	return append([]byte(header), manifest.ToYAML(relocate(content, kustomizationPaths, up))...)
}

// withoutIdle returns a kustomization without the patches that select nothing, by the problems of its environment.
func withoutIdle(form []byte, file string, problems []manifest.Problem) []byte {
	var own struct {
		Patches []any `json:"patches"`
	}
	_ = yaml.Unmarshal(form, &own) // init wrote it
	var kept []byte
	for i, patch := range own.Patches {
		field := fmt.Sprintf("patches[%d].target", i)
		if !slices.ContainsFunc(problems, func(p manifest.Problem) bool { return p.File == file && p.Field == field }) {
			kept = append(kept, manifest.ToYAML([]any{patch})...)
		}
	}
	if len(kept) > 0 {
		kept = append([]byte("patches:\n"), kept...)
	}
	return bytes.Replace(form, manifest.ToYAML(own), kept, 1)
}

// kustomizationPaths are the fields of a kustomization with paths, and entryPaths the fields of their entries.
var (
	kustomizationPaths = strings.Fields("bases components configMapGenerator configurations crds generators openapi " +
		"patches patchesJson6902 patchesStrategicMerge replacements resources secretGenerator transformers validators")
	entryPaths = strings.Fields("env envs files path")
)

// relocate puts up before the paths in these fields, which is the way from their new folder to the old one.
func relocate(content any, fields []string, up string) any {
	switch c := content.(type) {
	case string:
		key, name, isKeyed := strings.Cut(c, "=") // KEY=FILE
		if !isKeyed {
			key = ""
			name = c
		}
		if path.IsAbs(name) || strings.Contains(c, "\n") || strings.Contains(c, "://") {
			return c
		}
		return strings.TrimPrefix(key+"="+path.Join(up, name), "=")
	case []any:
		for i := range c {
			c[i] = relocate(c[i], fields, up)
		}
	case map[string]any:
		for name := range c {
			if slices.Contains(fields, name) {
				c[name] = relocate(c[name], entryPaths, up)
			}
		}
	}
	return content
}
