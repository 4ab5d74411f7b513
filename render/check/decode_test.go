package check

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/object"
)

// largeConfigMap returns a ConfigMap of so many values, of which some are numbers, and
// decodingsOf returns how many values of a ConfigMap are decoded until all of them that
// are numbers, not text, were found.
func decodingsOf(t *testing.T, values, numbers int) int {
	t.Helper()
	data := map[string]any{}
	for i := range values {
		data[fmt.Sprintf("key-%d", i)] = "text"
	}
	for i := range numbers {
		data[fmt.Sprintf("key-%d", i*values/numbers)] = int64(i)
	}
	o := object.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": data,
	}}}
	decodings := 0
	kind, _ := apiserver.Lookup(o.GroupVersionKind())
	_, problems := decode(o, func(content []byte) (runtime.Object, error) {
		decodings += strings.Count(string(content), `"key-`)
		return kind.Decode(content)
	})
	if len(problems) != numbers {
		t.Errorf("%d problems of %d", len(problems), numbers)
	}
	return decodings
}

// However many values are wrong, each is decoded a few times.
func TestDecodingCost(t *testing.T) {
	const values = 4096
	for numbers, most := range map[int]int{1: 10, 64: 24, values: 40} {
		if decodings := decodingsOf(t, values, numbers) / values; decodings > most {
			t.Errorf("with %d wrong ones of %d, each value is decoded %d times, want at most %d", numbers, values, decodings, most)
		}
	}
}
