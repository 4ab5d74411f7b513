package policy

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"example.com/gatehouse/render/object"
)

// objection is what a policy has against an object.
type objection struct {
	object  object.Object
	policy  *policy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
	message string
	actions []admissionv1.ValidationAction
	doubt   string
}

// problem is an error if the API server would refuse the object, and a warning if it would
// tell somebody of it, or if it is in doubt.
func (o objection) problem(position func(object.Object) string) object.Problem {
	what, message := "denied by", o.message
	isDenied := slices.Contains(o.actions, admissionv1.Deny)
	switch {
	case isDenied && o.doubt != "":
		what = "may be denied by"
		message += " (" + o.doubt + ")"
	case slices.Contains(o.actions, admissionv1.Warn):
		what = "warned of by"
	case !isDenied:
		what = "audited by"
	}
	text := fmt.Sprintf("%s ValidatingAdmissionPolicy %q (binding %q), %s: %s", what, o.policy.Name, o.binding.Name, position(o.policy.object), message)
	p := object.NewProblem(o.object, "", object.Value{}, text)
	p.Warning = !isDenied || o.doubt != ""
	return p
}
