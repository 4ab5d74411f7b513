package apiserver

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/decoding"
)

var updateSince = flag.Bool("update", false, "write since.txt")

// k8s.io/api has objects with all fields for each version.
func TestSinceIsComplete(t *testing.T) {
	versions := map[string]Version{ // of types outside of k8s.io/api
		fieldName(reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionCondition](), "observedGeneration"): 35,
		fieldName(reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionStatus](), "observedGeneration"):    35,
	}
	for _, v := range slices.Backward(Versions()) { // an earlier version overwrites a later one
		for name := range namesIn(t, v) {
			versions[name] = v
		}
	}
	maps.DeleteFunc(versions, func(_ string, v Version) bool { return v == Oldest })
	var lines []string
	for name, v := range versions {
		lines = append(lines, v.String()+" "+name+"\n")
	}
	slices.Sort(lines)
	want := strings.Join(lines, "")
	if *updateSince {
		if err := os.WriteFile("since.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if sinceText != want {
		t.Errorf("since.txt is out of date for %s: go test ./render/verdict/apiserver -run TestSinceIsComplete -update", Release)
	}
}

// namesIn returns the names of the kinds of a version, and of the fields of their types.
func namesIn(t *testing.T, v Version) map[string]bool {
	t.Helper()
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := v.String() + ".0"
	if v == Newest {
		folder = "HEAD"
	} else {
		folder = "v" + folder
	}
	names := map[string]bool{}
	for gvk, k := range kinds() {
		content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(module)), "testdata", folder, fileName(gvk)))
		if os.IsNotExist(err) {
			continue
		}
		var object any
		if err != nil || json.Unmarshal(content, &object) != nil {
			t.Fatalf("%s: %v", fileName(gvk), err)
		}
		names[kindName(gvk)] = true
		addFields(names, object, k.Type)
	}
	if len(names) < 1000 {
		t.Fatalf("%s has %d names", folder, len(names))
	}
	return names
}

func fileName(gvk schema.GroupVersionKind) string {
	group := gvk.Group
	if group == "" {
		group = "core"
	}
	return group + "." + gvk.Version + "." + gvk.Kind + ".json"
}

// addFields adds the fields in content of a Go type.
func addFields(names map[string]bool, content any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch content := content.(type) {
	case []any:
		for _, item := range content {
			addFields(names, item, t.Elem())
		}
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, value := range content {
				addFields(names, value, t.Elem())
			}
			return
		}
		for _, f := range decoding.Fields(t) {
			if value, ok := content[f.Name]; ok {
				names[fieldName(t, f.Name)] = true
				addFields(names, value, f.Type)
			}
		}
	}
}
