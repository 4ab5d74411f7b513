package fault

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/manifest"
)

// panicOf returns the error of a function that panics.
func panicOf(do func()) (err error) {
	defer Catch(&err)
	do()
	return nil
}

func ours() { panic("the value of a Secret") }

func TestErrorNamesTheFunctionAndWhoseFaultItIs(t *testing.T) {
	const report = ": report it to Gatehouse, with the files that show it"
	for name, test := range map[string]struct {
		do   func()
		want string
	}{
		"none":             {func() {}, "<nil>"},
		"ours":             {ours, "example.com/gatehouse/render/fault.ours panics, a fault of Gatehouse" + report},
		"in Go itself":     {func() { _ = strings.Repeat("a", -1) }, "example.com/gatehouse/render/fault.TestErrorNamesTheFunctionAndWhoseFaultItIs.func2 panics, a fault of Gatehouse" + report},
		"of a library":     {func() { yaml.MustParse("[") }, "sigs.k8s.io/kustomize/kyaml/yaml.MustParse panics, a fault of Gatehouse or of that library" + report},
		"once more":        {func() { defer func() { panic(recover()) }(); ours() }, "example.com/gatehouse/render/fault.ours panics"},
		"in another place": {func() { defer Raise(); ours() }, "example.com/gatehouse/render/fault.ours panics"},
	} {
		got := "<nil>"
		if err := panicOf(test.do); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || strings.Contains(got, "Secret") {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}

func TestPanicIsAProblemAtItsPlace(t *testing.T) {
	at := func() manifest.Problem { return manifest.Problem{File: "a.yaml", Line: 3, Message: "chart a"} }
	problems := []manifest.Problem{{Message: "before"}}
	func() {
		defer Keep(&problems, at)
		ours()
	}()
	func() {
		defer Part(&problems, at)()
		ours()
	}()
	func() {
		defer Keep(&problems, at)
		defer Part(&problems, at)()
	}()
	const want = "a.yaml:3: chart a: is not judged: example.com/gatehouse/render/fault.ours panics"
	if len(problems) != 3 || !strings.HasPrefix(problems[1].String(), want) || problems[2].String() != problems[1].String() ||
		!problems[1].IsError() || problems[1].Code != manifest.RunFailed {
		t.Errorf("%v, want twice %s", problems, want)
	}
}

// GOTRACEBACK asks for the stack, with the words of the panic, each once.
func TestStackIsPrintedOnDemand(t *testing.T) {
	for level, isPrinted := range map[string]bool{"": false, "none": false, "0": false, "1": true, "all": true} {
		t.Setenv("GOTRACEBACK", level)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		was := stderr
		stderr = w
		if err := panicOf(func() { defer Raise(); ours() }); errors.Is(err, nil) {
			t.Error("no error")
		}
		stderr = was
		_ = w.Close()
		printed, err := io.ReadAll(r)
		if err != nil || strings.Count(string(printed), `panic: "the value of a Secret"`) != map[bool]int{true: 1}[isPrinted] ||
			strings.Contains(string(printed), "goroutine") != isPrinted {
			t.Errorf("%q: %v\n%s", level, err, printed)
		}
	}
}
