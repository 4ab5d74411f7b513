package command

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// Examples in help work as they are for a kind with an example in its schema for each required field.
func TestNewExamplesWork(t *testing.T) {
	kinds, err := registry.New(slices.Concat(gatehouse.Kinds, []kind.Kind{testkind.Kind})...)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (output string, err error) {
		var out bytes.Buffer
		cmd := newCommand(kinds, args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err = cmd.Execute()
		return out.String(), err
	}
	examples := 0
	for _, command := range []string{"", "at", "memcached", "fleet"} {
		help, err := run(strings.Fields("new " + command + " --help")...)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(help) {
			if !strings.HasPrefix(line, "  render new ") || !strings.Contains(line, " sample ") {
				continue
			}
			examples++
			words, err := exec.Command("sh", "-c", `render() { printf '%s\n' "$@"; }; `+line).Output()
			if err != nil {
				t.Skip("no shell:", err)
			}
			args := strings.Split(strings.TrimSpace(string(words)), "\n")
			if output, err := run(append(args, "--root", repository(t))...); err != nil {
				t.Errorf("%s: %v: %s", strings.TrimSpace(line), err, output)
			}
		}
	}
	if want := 6; examples != want {
		t.Errorf("%d examples, want %d", examples, want)
	}
}
