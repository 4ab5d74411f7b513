package status

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"example.com/gatehouse/kind/condition"
)

// Equal reports whether two statuses of one kind say the same. Their conditions may be
// in whatever order: the API server keeps that in which they were first written.
func Equal[S any](a, b S) bool {
	return statusEquality.DeepEqual(a, b)
}

var statusEquality = newStatusEquality()

func newStatusEquality() conversion.Equalities {
	equalities := equality.Semantic.Copy()
	err := equalities.AddFunc(func(a, b []metav1.Condition) bool {
		return equality.Semantic.DeepEqual(condition.SortByType(a), condition.SortByType(b))
	})
	if err != nil { // the function is one that compares two values of a type
		panic(err)
	}
	return equalities
}
