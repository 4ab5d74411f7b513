package status

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"example.com/gatehouse/kind/condition"
)

// Equal reports whether two statuses of one kind are equal. The order of conditions does not
// matter: the API server keeps the order of the first write.
func Equal[S any](a, b S) bool {
	return statusEquality.DeepEqual(a, b)
}

var statusEquality = newStatusEquality()

func newStatusEquality() conversion.Equalities {
	equalities := equality.Semantic.Copy()
	err := equalities.AddFunc(func(a, b []metav1.Condition) bool {
		return equality.Semantic.DeepEqual(condition.SortByType(a), condition.SortByType(b))
	})
	if err != nil { // impossible: the function compares two values of one type
		panic(err)
	}
	return equalities
}
