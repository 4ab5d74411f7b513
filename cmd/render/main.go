// Command render writes the manifests of environments; `render --help` says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stayOffline()
	err := newCommand().ExecuteContext(ctx)
	var code exitCode
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(exitError)
	}
}

// stayOffline takes the network and other programs from this process. Render
// needs neither, but kustomize, told to by a file that it loads, would use them.
func stayOffline() {
	http.DefaultTransport = offline{}
	os.Setenv("PATH", "")
}

type offline struct{}

func (offline) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s is remote: rendering reads only this repository", request.URL)
}
