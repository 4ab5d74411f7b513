package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	"example.com/gatehouse/kind"
)

// maxObjects is how many objects one may be rendered to: more is a mistake, and no reviewer
// reads it.
const maxObjects = 1000

// callTwice returns what a function of a kind does, which depends on the object alone. Differ
// says whether two results differ, and where.
func callTwice[T any](name string, call func(kind.Object) (T, error), object kind.Object, differ func(first, second T) (where string, is bool)) (result T, err error) {
	var none T
	given := object.DeepCopyObject().(kind.Object)
	result, err = call(given)
	switch {
	case err != nil:
		return none, err
	case !isSame(given, object):
		return none, fmt.Errorf("%s changes the object that it is given: have it change a DeepCopy", name)
	}
	again, err := call(given)
	if err != nil {
		return none, fmt.Errorf("%s returns an error when it is called again: %w", name, err)
	}
	if where, is := differ(result, again); is {
		return none, fmt.Errorf("%s returns something else when it is called again%s: have it depend on the object alone, not on time, chance or the order of a map", name, where)
	}
	return result, nil
}

// expandFew is the kind's own Expand, but for more objects than there may be.
func (k entry) expandFew(owner kind.Object) ([]kind.Object, error) {
	objects, err := k.Expand(owner)
	if err == nil && len(objects) > maxObjects {
		return nil, fmt.Errorf("Expand returns %d objects: at most %d are rendered from one", len(objects), maxObjects)
	}
	return objects, err
}

// differ says where two results of Expand differ.
func differ(first, second []kind.Object) (where string, is bool) {
	if len(first) != len(second) {
		return fmt.Sprintf(" (%d objects, then %d)", len(first), len(second)), true
	}
	for i := range first {
		if !isSame(first[i], second[i]) {
			return fmt.Sprintf(" (object %d of %d)", i+1, len(first)), true
		}
	}
	return "", false
}

// isSame says whether two objects are written the same. What cannot be written is an error
// elsewhere.
func isSame(a, b kind.Object) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	first, errA := json.Marshal(a)
	second, errB := json.Marshal(b)
	return errA != nil || errB != nil || bytes.Equal(first, second)
}

// isNil says whether an object is nil, or a pointer that is.
func isNil(o kind.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// panicSite says in which line of a kind's package its own function panics; nothing where
// something else does. It is for a deferred function that recovers.
func panicSite() string {
	callers := make([]uintptr, 1024)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	var within []runtime.Frame // of the function, which is the last of them
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, kindPackage+".Define[") {
			break
		}
		if !more {
			return ""
		}
		within = append(within, frame)
	}
	own := packageOf(within[len(within)-1])
	for _, frame := range within {
		if packageOf(frame) == own && !strings.HasPrefix(frame.Function, kindPackage+".(*kind.Kind)") {
			return fmt.Sprintf(" at %s:%d", path.Join(path.Base(path.Dir(frame.File)), path.Base(frame.File)), frame.Line)
		}
	}
	return ""
}

var kindPackage = reflect.TypeFor[kind.Kind]().PkgPath()

// packageOf is the import path of the package that the function of a frame is in.
func packageOf(frame runtime.Frame) string {
	slash := strings.LastIndex(frame.Function, "/") + 1
	name, _, _ := strings.Cut(frame.Function[slash:], ".")
	return frame.Function[:slash] + name
}
