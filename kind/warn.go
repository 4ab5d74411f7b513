package kind

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Warning is about a valid object with a likely mistake.
type Warning struct {
	// Object is one of View.Objects.
	Object metav1.Object

	// Field is the path of the field with the mistake, such as spec.schedule; empty for the
	// whole object.
	Field string

	// Message names the mistake and a remedy.
	Message string

	// IfNew limits the warning to an object that is new in rendered/, or has a new rendered object.
	IfNew bool
}
