package definitions

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/crd"
)

var update = flag.String("update", "", "a `folder` with a folder for each release, such as kustomize-controller@v1.9.4")

//go:embed releases.txt
var releases string

// definitions.zip is what is in the folders of the releases.
func TestUpdate(t *testing.T) {
	if *update == "" {
		t.Skip("no -update")
	}
	folders, err := filepath.Glob(filepath.Join(*update, "*@*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no definitions in %s: %v", *update, err)
	}
	all := map[string][]byte{}
	var lines strings.Builder
	for _, folder := range folders {
		release := strings.ReplaceAll(filepath.Base(folder), "@", " ")
		module, err := os.ReadFile(filepath.Join(folder, "module"))
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.New()
		files, _ := filepath.Glob(filepath.Join(folder, "*.y*ml"))
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			digest.Write(content)
			addDefinitions(t, all, release, content)
		}
		fmt.Fprintf(&lines, "%s %s sha256:%x\n", release, bytes.TrimSpace(module), digest.Sum(nil))
	}
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write(all[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"definitions.zip": buffer.Bytes(), "releases.txt": []byte(lines.String())} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// addDefinitions adds the definitions in a file, as JSON.
func addDefinitions(t *testing.T, all map[string][]byte, release string, content []byte) {
	t.Helper()
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		u := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.Unmarshal(document, &u.Object)
		}
		if err != nil {
			t.Fatal(release, err)
		}
		if !crd.Is(u) {
			continue
		}
		spec := withoutDescriptions(u.Object["spec"]).(map[string]any)
		delete(spec, "conversion") // by a webhook of the cluster
		annotations := map[string]any{ReleaseAnnotation: release}
		if approved := u.GetAnnotations()[apiextensions.KubeAPIApprovedAnnotation]; approved != "" {
			annotations[apiextensions.KubeAPIApprovedAnnotation] = approved // in a group of Kubernetes
		}
		line, err := json.Marshal(map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(),
			"metadata": map[string]any{"name": u.GetName(), "annotations": annotations}, "spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		all[nameOf(crd.Kind(u))] = line
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

// Each project's kinds are there with its version, and only in the versions that it serves.
func TestDefinitionsHaveTheirReleases(t *testing.T) {
	versions := map[string]bool{}
	for line := range strings.Lines(releases) {
		words := strings.Fields(line)
		if len(words) != 4 || !strings.Contains(words[2], "@") || !strings.HasPrefix(words[3], "sha256:") {
			t.Errorf("%s: no name, version, module and digest", line)
			continue
		}
		versions[words[0]+" "+words[1]] = true
	}
	has := map[string]bool{}
	for _, file := range archive().File {
		group, kind, _ := strings.Cut(strings.TrimSuffix(file.Name, ".json"), "/")
		definition := of(schema.GroupKind{Group: group, Kind: kind})
		if !crd.Is(definition) || len(crd.Versions(definition)) == 0 {
			t.Errorf("%s: no definition with versions", file.Name)
			continue
		}
		has[definition.GetAnnotations()[ReleaseAnnotation]] = true
	}
	if !maps.Equal(versions, has) {
		t.Errorf("definitions are of %v, and releases.txt has %v", slices.Sorted(maps.Keys(has)),
			slices.Sorted(maps.Keys(versions)))
	}
	for gvk, isServed := range map[schema.GroupVersionKind]bool{
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}:      true,
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1beta1", Kind: "Kustomization"}: false,
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}:                  true,
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}:                    true,
		{Group: "cert-manager.io", Version: "v1", Kind: "../Certificate"}:                 false,
		{Group: "example.com", Version: "v1", Kind: "Certificate"}:                        false,
	} {
		if (Of(gvk) != nil) != isServed {
			t.Errorf("%s: is served: %t", gvk, !isServed)
		}
	}
	for version, want := range map[string]string{"v1beta1": "v1", "v1": "", "v2": ""} {
		gvk := schema.GroupVersionKind{Group: "external-secrets.io", Version: version, Kind: "ExternalSecret"}
		if served, _ := Instead(gvk); served != want {
			t.Errorf("%s: got %s in its place, want %q", version, served, want)
		}
	}
}
