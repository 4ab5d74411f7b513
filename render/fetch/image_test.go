package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// serveImages serves manifests by their tags and digests, and returns the host and a function that returns the requests.
func serveImages(t *testing.T, manifests map[string]string) (host string, requests func() []string) {
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path)
		mu.Unlock()
		_, at, _ := strings.Cut(r.URL.Path, "/manifests/")
		for tag, manifest := range manifests {
			if at == tag || at == digestOf([]byte(manifest)) {
				w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
				w.Header().Set("Docker-Content-Digest", digestOf([]byte(manifest)))
				_, _ = w.Write([]byte(manifest))
				return
			}
		}
		if at == "private" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func TestImagesAreThoseOfTheirRegistry(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	index := `{"manifests": [{"platform": {"os": "linux", "architecture": "arm64"}}, {"platform": {"os": "unknown", "architecture": "unknown"}}]}`
	host, requests := serveImages(t, map[string]string{"1.0.0": index, "single": `{"layers": []}`, "latest": "{}"})
	own, other := digestOf([]byte(index)), digestOf(nil)
	trust := &Trust{Base: named("oci://" + host + "/others")}
	for name, want := range map[string]string{
		"/web:1.0.0":            own + "  [linux/arm64]",
		"/web:1.0.0@" + own:     own + "  [linux/arm64]",
		"/web:1.0.0@" + other:   own + " " + other + " []",
		"/web@" + own:           "  [linux/arm64]",
		"/web@" + other:         " " + other + " []",
		"/web:2.0.0":            " 2.0.0 []",
		"/web:single":           digestOf([]byte(`{"layers": []}`)) + "  []",
		"/web":                  digestOf([]byte("{}")) + "  []",
		"/web:private":          "error",
		"/Web:${TAG}":           "error",
		"/web:1.0.0@sha256:abc": "error",
	} {
		image, err := fetcherFor(t, t.TempDir(), trust).Image(host+name, true)
		got := fmt.Sprint(image.Digest, " ", image.Missing, " ", image.Platforms)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	for _, request := range requests() {
		if !strings.Contains(request, "/manifests/") {
			t.Errorf("asked %s, and only manifests are read", request)
		}
	}
}

func TestOnlyRegistriesOfTheBaseAreAskedForImages(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	host, requests := serveImages(t, map[string]string{"1.0.0": "{}"})
	for name, trust := range map[string]*Trust{
		"another registry": {Base: named("https://example.com")}, "no known base": {}, "an address inside": {IsTree: true, Base: named()},
	} {
		if _, err := fetcherFor(t, t.TempDir(), trust).Image(host+"/web:1.0.0", true); err == nil {
			t.Errorf("%s is asked", name)
		}
	}
	f := fetcherFor(t, t.TempDir(), &Trust{Base: named("https://example.com")})
	f.TrustImages([]string{host + "/web:0.9.0", "${REGISTRY}/x"})
	if _, err := f.Image(host+"/web:1.0.0", false); err == nil || !strings.Contains(err.Error(), "HTTP") {
		t.Errorf("a registry of the base is asked by HTTPS: %v", err)
	}
	if asked := requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}
