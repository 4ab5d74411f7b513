// Package kindtest is for the tests of a kind: it renders objects as render does, and decides their
// status as the controller does, without files and without a cluster.
//
// Others are, in every function, the other kinds of the program that matter to the kind: the version
// that an older one is converted to.
package kindtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"example.com/gatehouse/kind"
)

// Check fails a test where the Go type of a kind and its CustomResourceDefinition differ, and
// where its Expand or Convert, called with an object, changes it or returns something else when
// called again: they depend on the object alone, not on time, chance or the order of a map.
func Check(t testing.TB, k kind.Kind, objects ...kind.Object) {
	t.Helper()
	for _, difference := range typeDifferences(k) {
		t.Errorf("%s: %s: run controller-gen", k.GVK().Kind, difference)
	}
	for _, object := range objects {
		if err := checkPure(k, object); err != nil {
			t.Errorf("%s %s: %v", k.GVK().Kind, object.GetName(), err)
		}
	}
}

// checkPure calls the function that renders an object, or converts it, twice.
func checkPure(k kind.Kind, object kind.Object) error {
	call := func(o kind.Object) (any, error) { return k.Expand(o) }
	if k.IsConverted() {
		call = func(o kind.Object) (any, error) { return k.Convert(o) }
	}
	given := object.DeepCopyObject().(kind.Object)
	first, err := call(given)
	if err != nil {
		return err
	}
	before, err := json.Marshal(first)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(given, object) {
		return fmt.Errorf("the object that is given is changed: change a DeepCopy")
	}
	second, err := call(given)
	if err != nil {
		return fmt.Errorf("called again: %w", err)
	}
	after, err := json.Marshal(second)
	if err == nil && !bytes.Equal(before, after) {
		return fmt.Errorf("called again, it returns\n%s\ninstead of\n%s", after, before)
	}
	return err
}
