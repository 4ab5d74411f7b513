package apiserver

import (
	"os"
	"regexp"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/deprecation"
)

// Who takes the code of another Kubernetes has to name its release.
func TestRelease(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if match := regexp.MustCompile(`\tk8s\.io/kubernetes (\S+)`).FindSubmatch(mod); match == nil || string(match[1]) != Release {
		t.Errorf("the code is of %q, the release %s", match, Release)
	}
	if major, minor, err := deprecation.MajorMinor(Version()); err != nil || major != 1 || minor < 36 {
		t.Errorf("version %d.%d, %v", major, minor, err)
	}
}
