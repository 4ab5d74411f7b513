package decoding_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
)

type embedded struct {
	Name string `json:"name"`
	Both string `json:"both"`
}

type document struct {
	embedded `json:",inline"`
	Both     int                            `json:"both"`
	Small    int8                           `json:"small"`
	Count    *uint                          `json:"count"`
	Ratio    float64                        `json:"ratio"`
	Bytes    []byte                         `json:"bytes"`
	Any      any                            `json:"any"`
	Hidden   string                         `json:"-"`
	Nested   map[string][]document          `json:"nested"`
	Since    metav1.MicroTime               `json:"since"`
	Limits   corev1.ResourceList            `json:"limits"`
	Spec     *appsv1.RollingUpdateDaemonSet `json:"spec"`
}

func TestFindReportsEveryMisfit(t *testing.T) {
	for content, want := range map[string]string{
		"{name: a, both: 1, small: 127, count: 1, ratio: 0.5, bytes: YQ==, any: {a: [b]}}":                              "",
		"{name: null, nested: {a: [null, {nested: null}]}, since: null, limits: {cpu: null}}":                           "",
		"{limits: {cpu: 1, memory: 1Gi}, spec: {maxSurge: 25%, maxUnavailable: 1}, since: 2027-01-01T00:00:00.000000Z}": "",
		"{Name: a, Hidden: a}":                            "Hidden ?, Name ?",
		"{name: 1, both: a, small: 128, count: -1}":       "both int, count uint, name string, small int8",
		"{ratio: a, small: 1.5, count: 1e30}":             "count uint, ratio float64, small int8",
		"{bytes: '*', nested: {a: [{bytes: 1}, {b: c}]}}": "bytes must be base64, nested.a.[0].bytes must be base64, nested.a.[1].b ?",
		"{nested: []}":                                         "nested object",
		"{nested: {a: {}, b: [[]]}}":                           "nested.a array, nested.b.[0] object",
		"{limits: {cpu: x, memory: {}}}":                       "limits.cpu must be a quantity, limits.memory must be a quantity",
		"{limits: {cpu: '1e-999999999'}}":                      "limits.cpu must be a quantity",
		"{spec: {maxSurge: true, maxUnavailable: 4000000000}}": "spec.maxSurge string or number, spec.maxUnavailable int32",
		"{since: noon}":                                        "since must be an RFC 3339 time",
	} {
		var value any
		if err := yaml.Unmarshal([]byte(content), &value); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range decoding.Find(value, reflect.TypeFor[document](), decoding.Options{}) {
			form, _, _ := strings.Cut(m.Form, ",")
			if form == "" {
				form = strings.Join(m.Wants, " or ")
			}
			if m.Unknown {
				form = "?"
			}
			got = append(got, strings.Join(m.Path, ".")+" "+form)
		}
		if slices.Sort(got); strings.Join(got, ", ") != want {
			t.Errorf("%s: %s, want %s", content, strings.Join(got, ", "), want)
		}
	}
}

func TestFindIgnoresCaseAsEncodingJSONDoes(t *testing.T) {
	found := decoding.Find(map[string]any{"NAME": "a", "nme": "b"}, reflect.TypeFor[document](), decoding.Options{FoldCase: true})
	if len(found) != 1 || found[0].Path[0] != "nme" || !slices.Contains(found[0].Siblings, "name") {
		t.Errorf("%v", found)
	}
}

// FuzzFind compares Find with encoding/json, which must refuse exactly the documents with misfits.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{`{"name": "a"}`, `{"small": 1e2, "bytes": "YQ"}`, `{"nested": {"a": [{"count": 1.0}]}}`, `{"bytes": [1, 256]}`, `{"spec": {"maxSurge": {}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value map[string]any
		if json.Unmarshal([]byte(text), &value) != nil || strings.ContainsAny(text, "eE") {
			return
		}
		encoded, _ := json.Marshal(value) // it was JSON
		decoder := json.NewDecoder(strings.NewReader(string(encoded)))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&document{})
		if found := decoding.Find(value, reflect.TypeFor[document](), decoding.Options{FoldCase: true}); (len(found) == 0) != (err == nil) {
			t.Errorf("%s: %s, but %v", encoded, fmt.Sprint(found), err)
		}
	})
}
