package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/gatehouse/render/source/fetched"
)

// short are bounds that a test can wait for.
var short = times{all: time.Second, one: 400 * time.Millisecond, wait: 200 * time.Millisecond}

// impatient returns a fetcher with short bounds.
func impatient(t *testing.T, trust *Trust) *Fetcher {
	t.Helper()
	f, err := newFetcher(t.Context(), t.TempDir(), trust, nil, short)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// drip sends a text again and again, until the client goes away: a test does not end before.
func drip(to io.Writer, text string, gone <-chan struct{}) {
	for {
		if _, err := io.WriteString(to, text); err != nil {
			return
		}
		if flusher, ok := to.(http.Flusher); ok {
			flusher.Flush()
		}
		select {
		case <-gone:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// dripBody sends a body that has no end.
func dripBody(w http.ResponseWriter, r *http.Request, text string) {
	if r.Method != http.MethodHead { // whose answer is whole by its header
		drip(w, text, r.Context().Done())
	}
}

// onWire answers by bytes on the connection, which need not be HTTP.
func onWire(head, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		_, _ = io.WriteString(connection, head)
		drip(connection, again, nil)
	}
}

// slowAnswers are answers that do not end, or not in time.
var slowAnswers = map[string]http.HandlerFunc{
	"no answer":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"a slow body": func(w http.ResponseWriter, r *http.Request) { dripBody(w, r, "a") },
	"a slow body of a length": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		w.Header().Set("Docker-Content-Digest", digestOf(nil))
		dripBody(w, r, "a")
	},
	"a slow status":              onWire("HTTP/1.1", " "),
	"endless headers":            onWire("HTTP/1.1 200 OK\r\n", "X-Again: 1\r\n"),
	"an endless header":          onWire("HTTP/1.1 200 OK\r\nX-Long: ", "a"),
	"endless hints":              onWire("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
	"endless sizes of chunks":    onWire("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
	"endless trailers of chunks": onWire("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-Again: 1\r\n"),
	"endless redirects": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path+"a", http.StatusFound)
	},
	"slow redirects": func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(short.wait / 2)
		http.Redirect(w, r, r.URL.Path+"a", http.StatusFound)
	},
	"slow pages": func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(short.wait / 4)
		w.Header().Set("Link", "<"+r.URL.Path+">; rel=next")
		_, _ = io.WriteString(w, `{"tags": ["a"]}`)
	},
	"slow tokens": func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/token") {
			dripBody(w, r, " ")
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"x\"", "http://"+r.Host+"/token"))
		w.WriteHeader(http.StatusUnauthorized)
	},
	"tokens without an end": func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/token") {
			_, _ = io.WriteString(w, `{"token": "a"}`)
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"x\"", "http://"+r.Host+"/token"))
		w.WriteHeader(http.StatusUnauthorized)
	},
	"references of git": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
		dripBody(w, r, "003d"+strings.Repeat("a", 40)+" refs/heads/release\n")
	},
}

// A server of the base may be slow, or broken into.
func TestFetchingEndsInTime(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for name, answer := range slowAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := record(t, answer)
			trust := &Trust{Base: named(s.URL, "oci://"+s.host, s.URL+"/apps.git")}
			sources := map[string]fetched.Source{
				"a chart":            {Repository: s.URL, Chart: "web", Version: "1.0.0"},
				"a chart of OCI":     {Repository: "oci://" + s.host, Chart: "web", Version: "1.0.0", IsPlain: true},
				"a range of OCI":     {Repository: "oci://" + s.host, Chart: "web", Range: "1.x", IsPlain: true},
				"an artifact of OCI": {Repository: "oci://" + s.host + "/web", Version: "latest", IsPlain: true},
				"a file":             {Repository: s.URL + "/a.yaml", IsFile: true},
			}
			if _, err := exec.LookPath("git"); err == nil {
				sources["git"] = fetched.Source{Repository: s.URL + "/apps.git", IsGit: true, Version: "main"}
			}
			var all sync.WaitGroup
			inTime := func(kind string, fetch func(*Fetcher) error) {
				all.Go(func() {
					start := time.Now()
					err := fetch(impatient(t, trust))
					if took := time.Since(start); took > 20*short.one {
						t.Errorf("%s took %s: %v", kind, took, err)
					}
				})
			}
			for kind, from := range sources {
				inTime(kind, func(f *Fetcher) error {
					_, err := f.Fetch(from)
					if err == nil && !from.IsFile { // which may be anything
						err = errors.New("is fetched")
						t.Error(kind, err)
					}
					return err
				})
			}
			inTime("an image", func(f *Fetcher) error {
				_, err := f.Image(s.host+"/web:1.0.0", true)
				return err
			})
			all.Wait()
		})
	}
}

// Many slow sources take no longer than a run may.
func TestARunEndsInTime(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s := record(t, slowAnswers["a slow body"])
	f := impatient(t, &Trust{Base: named(s.URL)})
	start := time.Now()
	var all sync.WaitGroup
	for n := range 20 * atATime {
		all.Go(func() {
			_, err := f.Fetch(fetched.Source{Repository: fmt.Sprintf("%s/%d", s.URL, n), Chart: "web", Version: "1.0.0"})
			if err == nil {
				t.Errorf("%d is fetched", n)
			}
		})
	}
	all.Wait()
	if took := time.Since(start); took > 8*short.all {
		t.Errorf("took %s", took)
	}
	if _, err := f.Image(s.host+"/web:1.0.0", true); err == nil {
		t.Error("asks for an image after the end")
	}
}
