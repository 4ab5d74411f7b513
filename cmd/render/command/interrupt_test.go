package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A signal ends a run that writes, without remains, or the run completes.
func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, waitForFile := range []bool{false, true} {
		root := changed(t)
		for i := range 60 {
			writeFile(t, root, fmt.Sprintf("../e%d/kustomization.yaml", i), "resources: [a.yaml]\n")
			writeFile(t, root, fmt.Sprintf("../e%d/a.yaml", i), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
		}
		before := filesBelow(t, root)
		var out bytes.Buffer
		cmd := process(t, "", "--all", "--root", root)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		isStaged := func() bool {
			found, _ := filepath.Glob(filepath.Join(root, "rendered/*/.render-*"))
			return len(found) > 0
		}
		for deadline := time.Now().Add(time.Minute); waitForFile && !isStaged() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if !waitForFile {
			time.Sleep(500 * time.Millisecond)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Skip(err)
		}
		var exit *exec.ExitError
		err := cmd.Wait()
		isEarly := errors.As(err, &exit) && exit.ExitCode() == -1 && out.Len() == 0 // on a slow machine
		if err == nil {
			t.Logf("completed: %s", &out)
		} else if after := filesBelow(t, root); isEarly && after == before {
			t.Log("interrupted before it began")
		} else if after := filesBelow(t, root); !errors.As(err, &exit) || exit.ExitCode() != 130 || after != before ||
			!strings.Contains(out.String(), "interrupted: nothing was changed\n") {
			t.Errorf("%v: %s; changed to %s", err, &out, after)
		}
		if after := filesBelow(t, root); strings.Contains(after, ".render-") {
			t.Errorf("remains: %s", after)
		}
	}
}
