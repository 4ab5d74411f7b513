package definitions

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/crd"
)

var update = flag.String("update", "", "a `folder` with a folder for each release, such as kustomize-controller@v1.9.4")

// definitions.json.gz is what is in the folders of the releases.
func TestUpdate(t *testing.T) {
	if *update == "" {
		t.Skip("no -update")
	}
	files, err := filepath.Glob(filepath.Join(*update, "*@*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in %s: %v", *update, err)
	}
	var buffer bytes.Buffer
	compressor, _ := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition map[string]any
		if err := yaml.UnmarshalStrict(content, &definition); err != nil {
			t.Fatal(err)
		}
		metadata := definition["metadata"].(map[string]any)
		release := strings.ReplaceAll(filepath.Base(filepath.Dir(file)), "@", " ")
		line, err := json.Marshal(map[string]any{"apiVersion": definition["apiVersion"], "kind": definition["kind"],
			"metadata": map[string]any{"name": metadata["name"],
				"annotations": map[string]any{ReleaseAnnotation: release}},
			"spec": withoutDescriptions(definition["spec"])})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = compressor.Write(append(line, '\n'))
	}
	if err := compressor.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("definitions.json.gz", buffer.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withoutDescriptions removes the descriptions of schemas, and no field of that name, and the lists of kinds that
// notification-controller takes: flux-operator adds its own.
func withoutDescriptions(content any) any {
	switch content := content.(type) {
	case map[string]any:
		maps.DeleteFunc(content, func(key string, value any) bool {
			_, isText := value.(string)
			list, isList := value.([]any)
			return key == "description" && isText || key == "enum" && isList && slices.Contains(list, any("HelmRelease"))
		})
		for key, value := range content {
			content[key] = withoutDescriptions(value)
		}
	case []any:
		for i, value := range content {
			content[i] = withoutDescriptions(value)
		}
	}
	return content
}

// Each tool's kinds are there with its version, and only in the versions that it serves.
func TestDefinitionsHaveTheirReleases(t *testing.T) {
	releases := map[string]bool{}
	for kind, definition := range all() {
		if !crd.Is(definition) || len(crd.Versions(definition)) == 0 {
			t.Errorf("%s: no definition with versions", kind)
		}
		releases[definition.GetAnnotations()[ReleaseAnnotation]] = true
	}
	for _, tool := range []string{"kustomize-controller", "source-controller", "helm-controller",
		"notification-controller", "image-automation-controller", "image-reflector-controller", "flux-operator", "argo-cd"} {
		isThere := func(release string) bool { return strings.HasPrefix(release, tool+" v") }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(releases)), isThere) {
			t.Errorf("no definition of %s", tool)
		}
	}
	for gvk, isServed := range map[schema.GroupVersionKind]bool{
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}:      true,
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1beta1", Kind: "Kustomization"}: false,
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}:                  true,
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}:                     false,
	} {
		if (Of(gvk) != nil) != isServed {
			t.Errorf("%s: is served: %t", gvk, !isServed)
		}
	}
}
