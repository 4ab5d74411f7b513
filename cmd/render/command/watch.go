package command

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/verbs/watch"
	"example.com/gatehouse/render/watchdog"
)

// watchEnvironments renders again whenever a source file changes, until the process is interrupted.
func watchEnvironments(cmd *cobra.Command, kinds *registry.Kinds, f flags) error {
	switch {
	case f.check:
		return errors.New("--watch writes rendered/, and --check does not: omit --check, and use git diff to see " +
			"changes")
	case f.staged:
		return errors.New("--staged is for hooks, and --watch does not end: omit one of them")
	case f.output == "github":
		return errors.New("--output github is for workflows, and --watch does not end: omit --watch")
	}
	repository, err := openRepository(f.root, kinds)
	if err != nil {
		return err
	}
	f.root = repository.Dir()
	f.memo = &memo.Memo{}
	repository.Close()
	for isFirst := true; ; isFirst = false {
		if err := renderAndWait(cmd, kinds, f, isFirst); err != nil {
			return err
		}
	}
}

// renderAndWait renders, prints the result, and waits until a source file changes. It returns errors that
// no edit fixes, and any error of the first run.
func renderAndWait(cmd *cobra.Command, kinds *registry.Kinds, f flags, isFirst bool) error {
	watcher, err := watch.New(f.root)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was moved or removed: run render again in its new place", f.root)
	}
	if err != nil {
		return err
	}
	defer watcher.Close()
	state := "up to date"
	watcher.Look("environments")
	watchdog.Again()
	err = renderOnce(cmd, kinds, f, watcher.Look)
	var code exitCode
	switch {
	case errors.As(err, &code):
		state = "nothing was written: fix the errors above"
	case err != nil && isFirst:
		return err
	case err != nil:
		state = "error: " + err.Error()
	}
	if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s %s; waiting for changes, Ctrl-C ends\n",
		time.Now().Format(time.TimeOnly), state); err != nil {
		return err
	}
	runtime.GC() // while idle
	return watcher.Wait(cmd.Context())
}
