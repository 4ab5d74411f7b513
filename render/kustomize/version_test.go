package kustomize

import (
	"os"
	"regexp"
	"testing"
)

// The library of kustomize v5.8.2 is v0.21.2.
func TestReleaseOfKustomizeMatchesLibrary(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if match := regexp.MustCompile(`sigs\.k8s\.io/kustomize/api (\S+)`).FindSubmatch(mod); match == nil || string(match[1]) != "v0.21.2" || KustomizeRelease != "v5.8.2" {
		t.Errorf("the library is %s, the release %s: name the release of that library", match, KustomizeRelease)
	}
}
