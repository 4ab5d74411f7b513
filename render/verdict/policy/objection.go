package policy

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"example.com/gatehouse/render/manifest"
)

// objection is what a policy has against an object.
type objection struct {
	object  manifest.Object
	policy  *policy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	message string
	// action is what the API server does about it.
	action admissionv1.ValidationAction
	doubt  string
}

// actions are in the order of their weight.
var actions = []admissionv1.ValidationAction{admissionv1.Deny, admissionv1.Warn, admissionv1.Audit}

// weightiest returns the action that people notice first.
func weightiest(of []admissionv1.ValidationAction) admissionv1.ValidationAction {
	for _, action := range actions {
		if slices.Contains(of, action) {
			return action
		}
	}
	return admissionv1.Audit
}

// withoutEchoes leaves out objections that another binding has the API server act on with
// more weight.
func withoutEchoes(objections []objection) []objection {
	return slices.DeleteFunc(slices.Clone(objections), func(o objection) bool {
		return slices.ContainsFunc(objections, func(other objection) bool {
			return other.policy == o.policy && other.message == o.message && slices.Index(actions, other.action) < slices.Index(actions, o.action)
		})
	})
}

// problem returns an error if the API server would refuse the object, and a warning if it would
// only warn or audit, or if that is in doubt.
func (o objection) problem(position func(manifest.Object) string) manifest.Problem {
	name := fmt.Sprintf("ValidatingAdmissionPolicy %q (binding %q)", o.policy.Name, o.binding.Name)
	switch {
	case o.action == admissionv1.Warn:
		name = fmt.Sprintf("against ValidatingAdmissionPolicy %q (binding %q only warns)", o.policy.Name, o.binding.Name)
	case o.action == admissionv1.Audit:
		name = fmt.Sprintf("against ValidatingAdmissionPolicy %q (binding %q only audits)", o.policy.Name, o.binding.Name)
	case o.doubt != "":
		name = "may be denied by " + name
	default:
		name = "denied by " + name
	}
	text := fmt.Sprintf("%s, %s: %s", name, position(o.policy.object), o.message)
	if o.doubt != "" {
		text += " (" + o.doubt + ")"
	}
	p := manifest.NewProblem(o.object, "", manifest.Value{}, text)
	p.Warning = o.action != admissionv1.Deny || o.doubt != ""
	return p
}
