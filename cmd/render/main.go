// Command render writes the manifests of environments; `render --help` says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
)

func main() {
	os.Exit(run())
}

func run() int {
	err := stayOffline()
	if err == nil {
		// No signal is caught: a run that is killed leaves what the next completes.
		err = newCommand().ExecuteContext(context.Background())
	}
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

// stayOffline takes the network and other programs from this process. Render
// needs neither, but kustomize, told to by a file that it loads, would use them.
func stayOffline() error {
	http.DefaultTransport = offline{}
	return os.Setenv("PATH", "")
}

type offline struct{}

func (offline) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s is remote: rendering reads only this repository", request.URL)
}
