package verdict

import (
	"slices"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/policy"
)

// Mutations returns the changes of applied objects by the MutatingAdmissionPolicies among them, nil without
// policies, and the problems of the policies.
func (c *Checker) Mutations(objects []manifest.Object) ([]policy.Mutation, []manifest.Problem) {
	defer c.kubernetes.Enter()()
	return policy.Mutate(objects, c.admitter())
}

// mutated returns objects as policies leave them, and the problems of the changed ones.
func (c *Checker) mutated(objects []manifest.Object, mutations []policy.Mutation) (all []manifest.Object,
	problems []manifest.Problem) {
	all = slices.Clone(objects)
	for i, m := range mutations {
		if m.After == nil {
			continue
		}
		if custom, ok := c.custom[objects[i].GroupVersionKind()]; ok {
			// the API server drops unknown fields of policies
			m.After, _ = custom.defaulted(manifest.Object{Unstructured: m.After})
		}
		all[i] = manifest.Object{Unstructured: m.After, Written: m.After, InGit: &objects[i], ChangedBy: m.Names()}
		if !manifest.IsSecret(m.After) { // its values are unknown
			_, found := c.check(all[i])
			problems = append(problems, slices.DeleteFunc(found, func(p manifest.Problem) bool { return p.Warning })...)
		}
	}
	return all, problems
}
