package policy

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"example.com/gatehouse/render/manifest"
)

// objection is a failed validation of an object.
type objection struct {
	object  manifest.Object
	policy  *policy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	message string
	action  admissionv1.ValidationAction
	doubt   string // why the API server may not object
}

// actions are all actions, most severe first.
var actions = []admissionv1.ValidationAction{admissionv1.Deny, admissionv1.Warn, admissionv1.Audit}

func mostSevere(of []admissionv1.ValidationAction) admissionv1.ValidationAction {
	for _, action := range actions {
		if slices.Contains(of, action) {
			return action
		}
	}
	return admissionv1.Audit
}

// withoutRepeated drops an objection if another binding has the same one with a more severe action.
func withoutRepeated(objections []objection) []objection {
	return slices.DeleteFunc(slices.Clone(objections), func(o objection) bool {
		return slices.ContainsFunc(objections, func(other objection) bool {
			return other.policy == o.policy && other.message == o.message &&
				slices.Index(actions, other.action) < slices.Index(actions, o.action)
		})
	})
}

// problem returns an error if the API server denies the object, and a warning if it only warns or
// audits, or if the denial is in doubt.
func (o objection) problem(position func(manifest.Object) string) manifest.Problem {
	name := fmt.Sprintf("ValidatingAdmissionPolicy %q (binding %q)", o.policy.Name, o.binding.Name)
	switch {
	case o.action == admissionv1.Warn:
		name = fmt.Sprintf("against ValidatingAdmissionPolicy %q (binding %q only warns)", o.policy.Name,
			o.binding.Name)
	case o.action == admissionv1.Audit:
		name = fmt.Sprintf("against ValidatingAdmissionPolicy %q (binding %q only audits)", o.policy.Name,
			o.binding.Name)
	case o.doubt != "":
		name = "may be denied by " + name
	default:
		name = "denied by " + name
	}
	text := fmt.Sprintf("%s, %s: %s", name, position(o.policy.object), o.message)
	if o.doubt != "" {
		text += " (" + o.doubt + ")"
	}
	p := manifest.NewProblem(o.object, "", manifest.Value{}, text).As(manifest.PolicyDenied)
	p.Warning = o.action != admissionv1.Deny || o.doubt != ""
	return p
}
