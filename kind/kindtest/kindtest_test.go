package kindtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

func everythings(change func(*kind.Definition[everything.Everything, everything.ObservedStatus])) kind.Kind {
	d := kind.Definition[everything.Everything, everything.ObservedStatus]{
		GVK: everything.GroupVersion.WithKind("Everything"),
		CRD: everything.CRD,
		Expand: func(*everything.Everything) ([]kind.Object, error) {
			return []kind.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, nil
		},
	}
	if change != nil {
		change(&d)
	}
	return kind.Define(d)
}

// The types that controller-gen takes, and those of Gatehouse, are those of their
// CustomResourceDefinitions.
func TestCheckTakesWhatControllerGenWrites(t *testing.T) {
	Check(t, everythings(nil), &everything.Everything{})
	for _, k := range gatehouse.Kinds {
		Check(t, k)
	}
}

func TestTypeDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		oldnew, want []string
	}{
		"types": {
			[]string{
				"              text:\n                type: string", "              text:\n                type: integer",
				"              uint16:\n                type: integer", "              uint16:\n                type: number",
				"              intOrString:\n", "              bool2:\n                type: boolean\n              intOrString:\n",
				"              int32:\n                format: int32\n                type: integer\n", "",
				"                  fifth:\n                    type: boolean", "                  fifth:\n                    x-kubernetes-int-or-string: true",
				"              strings:\n                items:\n                  type: string", "              strings:\n                items:\n                  type: boolean",
				"              map:\n                additionalProperties:\n                  type: string", "              map:\n                additionalProperties:\n                  type: array",
				"              pointers:\n                items:\n                  properties:\n                    first:\n                      type: string\n", "              pointers:\n                items:\n                  properties:\n",
				"              time:\n                format: date-time\n                type: string", "              time:\n                type: integer",
				"              quantity:\n                anyOf:\n                - type: integer\n                - type: string", "              quantity:\n                type: boolean",
				"              fourth:\n                type: boolean\n", "",
			},
			[]string{
				`spec.named.fifth: string or number in the CustomResourceDefinition, bool in the Go type`,
				`spec.text: number in the CustomResourceDefinition, string in the Go type`,
				`spec.int32: in the Go type, not in the CustomResourceDefinition`,
				`spec.uint16: number in the CustomResourceDefinition, uint16 in the Go type`,
				`spec.strings[*]: bool in the CustomResourceDefinition, string in the Go type`,
				`spec.map[*]: array in the CustomResourceDefinition, string in the Go type`,
				`spec.pointers[*].first: in the Go type, not in the CustomResourceDefinition`,
				`spec.time: number in the CustomResourceDefinition, v1.Time in the Go type`,
				`spec.quantity: bool in the CustomResourceDefinition, resource.Quantity in the Go type`,
				`spec.fourth: in the Go type, not in the CustomResourceDefinition`,
				`spec.bool2: in the CustomResourceDefinition, not in the Go type`,
			},
		},
		"a struct for a mapping": {
			[]string{
				"              second:\n                properties:\n                  third:\n                    additionalProperties:\n                      format: int64\n                      type: integer\n                    type: object\n",
				"              second:\n                additionalProperties:\n                  type: string\n",
			},
			[]string{`spec.second: any keys in the CustomResourceDefinition, a struct in the Go type`},
		},
		"fields of a status": {
			[]string{"              readyObjects:\n                format: int32\n                type: integer\n", ""},
			[]string{`status.readyObjects: in the Go type, not in the CustomResourceDefinition`, `status.readyObjects: in the Go type, not in the CustomResourceDefinition`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(everything.CRD)
			for i := 0; i < len(c.oldnew); i += 2 {
				if !strings.Contains(text, c.oldnew[i]) {
					t.Fatalf("the CustomResourceDefinition has no %q", c.oldnew[i])
				}
				text = strings.Replace(text, c.oldnew[i], c.oldnew[i+1], 1)
			}
			got := typeDifferences(everythings(func(d *kind.Definition[everything.Everything, everything.ObservedStatus]) { d.CRD = []byte(text) }))
			slices.Sort(got)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestCheckPure(t *testing.T) {
	calls := 0
	type object = *everything.Everything
	for name, c := range map[string]struct {
		expand func(object) ([]kind.Object, error)
		want   string
	}{
		"an error":         {func(object) ([]kind.Object, error) { return nil, errors.New("no") }, "no"},
		"a changed object": {func(o object) ([]kind.Object, error) { o.Name = "b"; return nil, nil }, "the object that is given is changed"},
		"an error, once again": {func(object) ([]kind.Object, error) {
			calls++
			return nil, map[bool]error{true: errors.New("no")}[calls > 1]
		}, "called again: no"},
		"another object": {
			func(object) ([]kind.Object, error) {
				calls++
				return []kind.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a", calls)}}}, nil
			},
			"called again, it returns\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls = 0
			err := checkPure(everythings(func(d *kind.Definition[everything.Everything, everything.ObservedStatus]) { d.Expand = c.expand }), &everything.Everything{})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
