// Command render writes the manifests of environments; `render --help` says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func main() {
	os.Exit(run())
}

func run() int {
	// No signal is caught: a run that is killed leaves what the next completes.
	err := newCommand().ExecuteContext(context.Background())
	var code exitCode
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	return 0
}
