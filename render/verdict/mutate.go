package verdict

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/policy"
	"example.com/gatehouse/render/verdict/secret"
)

// Mutations returns the changes of applied objects by the MutatingAdmissionPolicies among them, nil without
// policies, and the problems of the policies.
func (c *Checker) Mutations(objects []manifest.Object) ([]policy.Mutation, []manifest.Problem) {
	defer c.kubernetes.Enter()()
	return policy.Mutate(objects, &admitter{Checker: c, versions: sync.OnceValue(c.servedVersions)})
}

// Mutated is an object as policies leave it.
type Mutated struct {
	Original manifest.Object
	By       string // the policies
}

// Mutated returns applied objects as the MutatingAdmissionPolicies among them leave them, the changed ones, and the
// problems of both.
func (c *Checker) Mutated(objects []manifest.Object) (all []manifest.Object, changed map[*unstructured.Unstructured]Mutated, problems []manifest.Problem) {
	mutations, problems := c.Mutations(objects)
	defer c.kubernetes.Enter()()
	all, changed = slices.Clone(objects), map[*unstructured.Unstructured]Mutated{}
	for i, m := range mutations {
		if m.After == nil {
			continue
		}
		if custom, ok := c.custom[objects[i].GroupVersionKind()]; ok { // the API server drops unknown fields of policies
			m.After, _ = custom.defaulted(manifest.Object{Unstructured: m.After})
		}
		if !objects[i].IsRendered() {
			all[i].Written = m.After
		}
		all[i].Unstructured = m.After
		changed[m.After] = Mutated{objects[i], m.Names()}
		if secret.Is(m.After) {
			continue // its values are unknown
		}
		_, found := c.check(all[i])
		problems = append(problems, slices.DeleteFunc(found, func(p manifest.Problem) bool { return p.Warning })...)
	}
	return all, changed, problems
}
