package command

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// shape is an object of a kind that requires a field of each type.
type shape struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              shapeSpec   `json:"spec"`
	Status            kind.Status `json:"status,omitempty"`
}

type shapeSpec struct {
	Names  []string          `json:"names"`
	Ports  []shapePort       `json:"ports"`
	Labels map[string]string `json:"labels"`
	Mode   string            `json:"mode"`
	Code   string            `json:"code"`
	Until  string            `json:"until"`
	Count  int32             `json:"count"`
	Ratio  float64           `json:"ratio"`
	Loud   bool              `json:"loud"`
	Quiet  bool              `json:"quiet,omitempty"`
}

type shapePort struct {
	Name string `json:"name"`
	Port int32  `json:"port"`
}

type shapeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []shape `json:"items"`
}

func (s *shape) DeepCopyObject() runtime.Object     { return jsonCopy(s) }
func (l *shapeList) DeepCopyObject() runtime.Object { return jsonCopy(l) }

func jsonCopy[T any](value *T) *T {
	encoded, err := json.Marshal(value)
	copied := new(T)
	if err == nil {
		err = json.Unmarshal(encoded, copied)
	}
	if err != nil {
		panic(err)
	}
	return copied
}

const shapeCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shapes.test.example.org}
spec:
  group: test.example.org
  names: {kind: Shape, listKind: ShapeList, plural: shapes, singular: shape}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Quiet, type: boolean, jsonPath: .spec.quiet}]
    schema:
      openAPIV3Schema:
        description: Shape has fields of all types.
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [names, ports, labels, mode, code, until, count, ratio, loud]
            properties:
              names: {type: array, minItems: 2, x-kubernetes-list-type: set, items: {type: string, pattern: '^[a-z]+$'}}
              ports: {type: array, items: {type: object, required: [name, port], properties: {name: {type: string, maxLength: 3}, port: {type: integer, format: int32, minimum: 1024}}}}
              labels: {type: object, minProperties: 1, additionalProperties: {type: string}}
              mode: {type: string, enum: [it's fast, slow]}
              code: {type: string, pattern: '^v\d+(-[a-z]+)?$', minLength: 3}
              until: {type: string, format: date-time}
              count: {type: integer, format: int32, minimum: 2}
              ratio: {type: number, minimum: 0, maximum: 0.5}
              loud: {type: boolean}
              quiet: {type: boolean}
          status:
            type: object
            default: {observedGeneration: -1}
            x-kubernetes-preserve-unknown-fields: true
            properties:
              observedGeneration: {type: integer, format: int64}
`

func shapeKind() kind.Kind {
	version := schema.GroupVersion{Group: "test.example.org", Version: "v1"}
	config := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	return kind.Define(kind.Definition[shape, kind.Status]{
		GVK: version.WithKind("Shape"),
		AddToScheme: func(s *runtime.Scheme) error {
			s.AddKnownTypeWithName(version.WithKind("Shape"), &shape{})
			s.AddKnownTypeWithName(version.WithKind("ShapeList"), &shapeList{})
			metav1.AddToGroupVersion(s, version)
			return nil
		},
		CRD:      []byte(shapeCRD),
		Children: []kind.Child{{GVK: config, Unobserved: true}},
		Expand: func(s *shape) ([]kind.Object, error) {
			return []kind.Object{&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"code": s.Spec.Code}}}, nil
		},
	})
}

// Examples in help work as they are for any kind, except for values with a note.
func TestNewExamplesWork(t *testing.T) {
	kinds, err := registry.New(slices.Concat(gatehouse.Kinds, []kind.Kind{testkind.Kind, shapeKind()})...)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (output string, err error) {
		var out bytes.Buffer
		cmd := newCommand(kinds, args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err = cmd.Execute()
		return out.String(), err
	}
	examples := 0
	for _, command := range []string{"", "at", "memcached", "fleet", "shape"} {
		help, err := run(strings.Fields("new " + command + " --help")...)
		if err != nil {
			t.Fatal(err)
		}
		const note = "\n  # CODE must match ^v\\d+(-[a-z]+)?$\n"
		if isNoted := strings.Contains(help, note); isNoted != (command == "" || command == "shape") {
			t.Errorf("new %s: %s", command, help)
		}
		for line := range strings.Lines(help) {
			line = strings.Replace(line, "--code CODE", "--code v10", 1)
			if !strings.HasPrefix(line, "  render new ") || !strings.Contains(line, " sample ") {
				continue
			}
			examples++
			words, err := exec.Command("sh", "-c", `render() { printf '%s\n' "$@"; }; `+line).Output()
			if err != nil {
				t.Skip("no shell:", err)
			}
			args := strings.Split(strings.TrimSpace(string(words)), "\n")
			if output, err := run(append(args, "--root", repository(t))...); err != nil {
				t.Errorf("%s: %v: %s", strings.TrimSpace(line), err, output)
			}
		}
	}
	if want := 8; examples != want {
		t.Errorf("%d examples, want %d", examples, want)
	}
}
