package render

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// Problems of rendered objects are reported once, for the spec, with the line of the field in the error.
func TestExpandErrorsBlameSpec(t *testing.T) {
	const invalid = "environments/prod/all.yaml:7: Fleet shop/f: is rendered to an invalid Pod shop/f-0-"
	for name, test := range map[string]struct {
		expand func(*testkind.Fleet) ([]kind.Object, error)
		want   []string // the start of each problem
	}{
		"a field":   {func(*testkind.Fleet) ([]kind.Object, error) { return nil, errors.New("spec.message: too loud") }, []string{"environments/prod/all.yaml:15: Fleet shop/f: spec.message: too loud"}},
		"no field":  {func(*testkind.Fleet) ([]kind.Object, error) { return nil, errors.New("specious: no") }, []string{"environments/prod/all.yaml:7: Fleet shop/f: specious: no"}},
		"a mapping": {func(*testkind.Fleet) ([]kind.Object, error) { return nil, errors.New(`metadata.labels[a b]: no`) }, []string{"environments/prod/all.yaml:12: Fleet shop/f: metadata.labels[a b]: no"}},
		"field errors": {func(*testkind.Fleet) ([]kind.Object, error) {
			return nil, field.ErrorList{
				field.Invalid(field.NewPath("spec", "message"), "hi", "is too loud"),
				field.Forbidden(field.NewPath("metadata", "labels").Key("a b"), "is not for you"),
			}.ToAggregate()
		}, []string{
			`environments/prod/all.yaml:12: Fleet shop/f: metadata.labels[a b]: Forbidden: is not for you`,
			`environments/prod/all.yaml:15: Fleet shop/f: spec.message: Invalid value: "hi": is too loud`,
		}},
		"joined errors": {func(*testkind.Fleet) ([]kind.Object, error) {
			return nil, fmt.Errorf("nobody says that: %w", errors.Join(errors.New("one"), errors.New("two")))
		}, []string{
			"environments/prod/all.yaml:7: Fleet shop/f: nobody says that: one",
			"environments/prod/all.yaml:7: Fleet shop/f: nobody says that: two",
		}},
		"several": {func(*testkind.Fleet) ([]kind.Object, error) { return []kind.Object{nil, nil}, nil }, []string{
			"environments/prod/all.yaml:7: Fleet shop/f: object 1 of 2: it is nil: leave it out",
			"environments/prod/all.yaml:7: Fleet shop/f: object 2 of 2: it is nil: leave it out",
		}},
		"Pod Security": {testkind.Definition().Expand, []string{invalid, invalid, invalid, invalid}},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := testkind.Definition()
			fleet.Expand = test.expand
			kinds, err := registry.New(kind.Define(fleet))
			if err != nil {
				t.Fatal(err)
			}
			root := write(t, `
-- environments/prod/kustomization.yaml --
resources: [all.yaml]
-- environments/prod/all.yaml --
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {pod-security.kubernetes.io/enforce: restricted}
---
apiVersion: testing.example.com/v1
kind: Fleet
metadata:
  name: f
  namespace: shop
  labels: {a: b}
spec:
  pods: 1
  message: hello
`)
			repository, err := Open(root, kinds, Options{})
			if err != nil {
				t.Fatal(err)
			}
			problems := repository.Load("prod", LoadOptions{}).Problems
			if len(problems) != len(test.want) {
				t.Fatalf("%d problems, want %d: %v", len(problems), len(test.want), problems)
			}
			for i, p := range problems {
				if !strings.HasPrefix(p.String(), test.want[i]) {
					t.Errorf("got  %s\nwant %s...", p, test.want[i])
				}
			}
			if _, err := os.Stat(root + "/rendered"); err == nil {
				t.Error("rendered is written")
			}
		})
	}
}
