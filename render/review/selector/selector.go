// Package selector compares label selectors, at a bounded cost.
package selector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Selector is a label selector with its cost, and the texts of its requirements. Labels match if they meet all.
type Selector struct {
	labels.Selector
	Texts []string // sorted
	Cost  int      // of a match
}

// Read returns a selector, unless it is not valid.
func Read(s *metav1.LabelSelector) (read Selector, ok bool) {
	selects, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return Selector{}, false
	}
	read = Selector{Selector: selects, Cost: 1}
	requirements, _ := selects.Requirements()
	for _, r := range requirements {
		read.Texts = append(read.Texts, r.String())
		read.Cost += 1 + r.Values().Len()/4
	}
	slices.Sort(read.Texts)
	return read, true
}

// Covers reports whether s requires nothing that other does not require.
func (s *Selector) Covers(other *Selector) bool {
	for _, text := range s.Texts {
		if _, ok := slices.BinarySearch(other.Texts, text); !ok {
			return false
		}
	}
	return true
}

// Budget bounds the cost of a comparison.
type Budget struct {
	Steps      int // the rest
	IsExceeded bool
}

// Spend takes steps from the budget, and reports whether it has them.
func (b *Budget) Spend(steps int) bool {
	if steps > b.Steps {
		b.IsExceeded = true
		return false
	}
	b.Steps -= steps
	return true
}
