// Package fault turns a panic into a problem of the delivery, the object or the environment that was worked on: all
// others are judged. Each function here recovers where its caller defers it, in the goroutine of that work: a panic
// that leaves a goroutine ends the process.
package fault

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/watchdog"
)

// Error is the error of a panic in a function. It has none of the words of the panic, which may quote a Secret.
type Error struct{ function string }

// Error implements error.
func (e *Error) Error() string {
	of := "Gatehouse"
	if !strings.HasPrefix(e.function, "example.com/gatehouse/") {
		of += " or of that library"
	}
	return fmt.Sprintf("%s panics, a fault of %s: report it to Gatehouse, with the files that show it", e.function, of)
}

// Recovered returns the error of a panic by its cause, the result of recover; nil without a panic. It prints the stack
// if the environment sets GOTRACEBACK to more than none.
func Recovered(cause any) error {
	if cause == nil {
		return nil
	}
	if err, isKnown := cause.(*Error); isKnown { // of another goroutine
		return err
	}
	switch os.Getenv("GOTRACEBACK") {
	case "", "none", "0":
	default:
		fmt.Fprintf(stderr, "panic: %q\n%s", fmt.Sprint(cause), debug.Stack())
	}
	return &Error{panicking()}
}

// stderr stays: kustomize runs without os.Stderr.
var stderr = os.Stderr

// panicking returns the function that panics, or that calls a function of Go itself that does.
func panicking() string {
	function := "example.com/gatehouse/render"
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	isBelow := false // the first function below a panic; the last panic is the first one in time
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		host, _, hasPath := strings.Cut(frame.Function, "/")
		switch {
		case frame.Function == "runtime.gopanic":
			isBelow = true
		case isBelow && hasPath && strings.Contains(host, "."):
			function = frame.Function
			isBelow = false
		}
	}
	return function
}

// Catch sets the error of a panic.
func Catch(err *error) {
	if caught := Recovered(recover()); caught != nil {
		*err = caught
	}
}

// Keep adds the problem of a panic, at its place.
func Keep(problems *[]manifest.Problem, place func() manifest.Problem) {
	keep(recover(), problems, place)
}

// Part is Keep for a part of the run that the watchdog names. It begins the part, and the caller defers its end.
func Part(problems *[]manifest.Problem, place func() manifest.Problem) (end func()) {
	endPart := watchdog.Part(place)
	return func() {
		endPart()
		keep(recover(), problems, place)
	}
}

// In returns the place of an object.
func In(o manifest.Object) func() manifest.Problem {
	return func() manifest.Problem { return manifest.NewProblem(o, "", manifest.Value{}, "") }
}

func keep(cause any, problems *[]manifest.Problem, place func() manifest.Problem) {
	if err := Recovered(cause); err != nil {
		p := place()
		p.Code = manifest.RunFailed
		p.Message = strings.TrimPrefix(p.Message+": is not judged: "+err.Error(), ": ")
		*problems = append(*problems, p)
	}
}

// Raise panics again, by an error that another goroutine can get.
func Raise() {
	if err := Recovered(recover()); err != nil {
		panic(err)
	}
}
