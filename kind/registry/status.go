package registry

import (
	"example.com/gatehouse/kind"
)

// Decide returns what a kind that has Status says of an object of its Go type.
func Decide(k *kind.Kind, owner kind.Object, seen kind.Observation) (kind.Decision[any], error) {
	return call("Status", func() (kind.Decision[any], error) { return k.Status(owner, seen), nil })
}
