package verdict

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/policy"
)

// A panic while an object is judged is a problem of that object, and the others are judged.
func TestAPanicIsAProblemOfItsObject(t *testing.T) {
	config := func(name string) string { return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}" }
	objects := readObjects(t, config("a")+"\n---\n"+config("broken")+"\n---\n"+config("c")+`
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name == 'c'", message: not c}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
`)
	checker, _ := New(nil, gatehouse.All(), 0, nil)
	defer checker.kubernetes.Enter()()
	for name, test := range map[string]struct {
		judge func() []manifest.Problem
		also  string // another problem
	}{
		"the object": {func() (all []manifest.Problem) {
			for _, found := range judgeEach(objects, func(i int) []manifest.Problem {
				if objects[i].GetName() == "broken" {
					panic("value")
				}
				_, problems := checker.judge(objects[i])
				return problems
			}) {
				all = append(all, found...)
			}
			return all
		}, ""},
		"its policies": {func() []manifest.Problem {
			return policy.Check(objects, broken{checker.admitter()}, func(manifest.Object) string { return "here" })
		}, "ConfigMap a: denied by "},
	} {
		problems := test.judge()
		var others []string
		isTold := false
		for _, p := range problems {
			if p.Subject.GetName() == "broken" && strings.HasPrefix(p.String(), "ConfigMap broken: is not judged: example.com/gatehouse/render/verdict.") {
				isTold = true
			} else {
				others = append(others, p.String())
			}
		}
		if got := strings.Join(others, "\n"); !isTold || !strings.HasPrefix(got, test.also) || (got == "") != (test.also == "") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// broken panics for the object of that name.
type broken struct{ *admitter }

func (b broken) Admit(o manifest.Object) (*unstructured.Unstructured, error) {
	if o.GetName() == "broken" {
		panic("value")
	}
	return b.admitter.Admit(o)
}
