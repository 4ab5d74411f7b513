package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// serviceAccount matches the user name of a service account in an expression.
var serviceAccount = regexp.MustCompile(`\bsystem:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+`)

// PolicyUsers returns the problems of policies on gates whose expressions name a service account other
// than the controller's. kustomize does not rename users in expressions, and such a policy would
// neither restrict the controller nor let it open gates.
func PolicyUsers(kinds *registry.Kinds, objects []manifest.Object,
	isController func(manifest.Object) bool) (problems []manifest.Problem) {
	for _, controller := range objects {
		if !isController(controller) {
			continue
		}
		user := userOf(controller)
		for _, o := range objects {
			for field, expression := range gateExpressions(kinds, o) {
				named := serviceAccount.FindAllString(expression, -1)
				if len(named) == 0 || slices.Contains(named, user) {
					continue
				}
				problems = append(problems, manifest.NewProblem(o, field, manifest.Value{Is: expression}, fmt.Sprintf(
					"%s: names %s, but %s runs as %s: write that, here or by a JSON patch (namespace: and "+
						"namePrefix: change no expression), or leave the controller its namespace and name, and "+
						"write namespace: in the kustomization of a folder beside it",
					field, named[0], controller, user)).As(manifest.MissingController))
			}
		}
	}
	return problems
}

// userOf returns the user name of a workload's Pods.
func userOf(workload manifest.Object) string {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(workload.Object, "spec", "template", "spec", name)
		return value
	}
	return serviceaccount.MakeUsername(workload.NamespaceOrDefault(),
		cmp.Or(field("serviceAccountName"), field("serviceAccount"), "default"))
}

// gateExpressions returns the expressions of a ValidatingAdmissionPolicy on the gate of a kind, by
// field; nil for any other object.
func gateExpressions(kinds *registry.Kinds, o manifest.Object) map[string]string {
	if o.GetKind() != "ValidatingAdmissionPolicy" {
		return nil
	}
	text, _ := json.Marshal(o.Object)
	if !slices.ContainsFunc(kinds.Gates(), func(gate string) bool { return strings.Contains(string(text), gate) }) {
		return nil
	}
	expressions := map[string]string{}
	for _, list := range []string{"matchConditions", "variables", "validations"} {
		items, _, _ := unstructured.NestedSlice(o.Object, "spec", list)
		for i, item := range items {
			fields, _ := item.(map[string]any)
			expressions[fmt.Sprintf("spec.%s[%d].expression", list, i)], _ = fields["expression"].(string)
		}
	}
	return expressions
}
