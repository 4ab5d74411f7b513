package registry

import (
	"bytes"
	"encoding/json"
	"errors"
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

// expandTwice returns what the kind's own Expand does, which depends on the object alone.
func (k entry) expandTwice(owner kind.Object) ([]kind.Object, error) {
	given := owner.DeepCopyObject().(kind.Object)
	objects, err := k.Expand(given)
	switch {
	case err != nil:
		return nil, err
	case !isSame(given, owner):
		return nil, errors.New("Expand changes the object that it is given: have it change a DeepCopy")
	case len(objects) > maxObjects:
		return nil, fmt.Errorf("Expand returns %d objects: at most %d are rendered from one", len(objects), maxObjects)
	}
	again, err := k.Expand(given)
	if err != nil {
		return nil, fmt.Errorf("Expand returns an error when it is called again: %w", err)
	}
	if difference := differ(objects, again); difference != "" {
		return nil, fmt.Errorf("Expand returns something else when it is called again (%s): have it depend on the object alone, not on time, chance or the order of a map", difference)
	}
	return objects, nil
}

// differ says where two results of Expand differ, nothing where they do not.
func differ(first, second []kind.Object) string {
	if len(first) != len(second) {
		return fmt.Sprintf("%d objects, then %d", len(first), len(second))
	}
	for i := range first {
		if !isSame(first[i], second[i]) {
			return fmt.Sprintf("object %d of %d", i+1, len(first))
		}
	}
	return ""
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
