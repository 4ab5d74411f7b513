package kind

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Warning is about an object that the API server accepts and that may not be what was meant.
type Warning struct {
	// Object is one of View.Objects.
	Object metav1.Object

	// Field is the path of the field that the warning is about, such as spec.schedule; empty
	// where it is about all of the object.
	Field string

	// Message says what is wrong, and what to write instead.
	Message string
}
