// Package command implements the command render for any list of kinds.
package command

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	_ "time/tzdata" // for schedules with a time zone, on machines without a database

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/fault"
)

// Main runs the command line of the process, and exits.
func Main(kinds ...kind.Kind) {
	errOut := newInert(os.Stderr)
	ending.start(errOut)
	withoutTime := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log.SetOutput(withoutHelm{errOut})
	// of Helm, whose warnings are problems with a file and a line
	slog.SetDefault(slog.New(slog.NewTextHandler(errOut,
		&slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: withoutTime})))
	log.SetFlags(0)
	exit(run(kinds, errOut))
}

// withoutHelm drops the warnings of Helm about values, which quote these without a file.
type withoutHelm struct{ io.Writer }

var ofHelm = regexp.MustCompile(`^(?:warning: |Warning: Dependenc(?:y|ies) |Conflict: |key \S+ is table)`)

// Write implements io.Writer.
func (w withoutHelm) Write(message []byte) (int, error) {
	if ofHelm.Match(message) {
		return len(message), nil
	}
	return w.Writer.Write(message)
}

func run(all []kind.Kind, errOut *inert) (status int) {
	defer func() {
		if err := fault.Recovered(recover()); err != nil {
			fmt.Fprintln(errOut, "error:", err)
			status = exitError
		}
	}()
	kinds := &registry.Kinds{All: all}
	cmd := newCommand(kinds, os.Args[1:])
	cmd.SetOut(newInert(os.Stdout))
	cmd.SetErr(errOut)
	if name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), "kubectl-"); ok {
		helpAsPlugin(cmd, "kubectl "+name)
	}
	err := cmd.Execute()
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		if match := exclusive.FindStringSubmatch(err.Error()); match != nil {
			err = errors.New("use only one of --" + strings.ReplaceAll(match[1], " ", " and --"))
		}
		if wrong := kinds.Check(); wrong != nil { // flags come from kinds, so a broken kind may be the cause
			err = wrong
		}
		paint(errOut, "error:", color.FgRed)
		fmt.Fprintln(errOut, "", err)
		return exitError
	}
	return 0
}

// exclusive matches the error of cobra for flags that exclude each other.
var exclusive = regexp.MustCompile(`none of the others can be; \[(.*)\] were all set$`)

// examples matches calls of render in examples.
var examples = regexp.MustCompile(`(?m)^  render`)

// helpAsPlugin changes render to a plugin, such as kubectl gatehouse, in the help of a command and its subcommands.
func helpAsPlugin(cmd *cobra.Command, plugin string) {
	if !cmd.HasParent() {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: plugin}
	}
	cmd.Example = examples.ReplaceAllString(cmd.Example, "  "+plugin)
	for _, c := range cmd.Commands() {
		helpAsPlugin(c, plugin)
	}
}
