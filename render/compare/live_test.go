package compare

import (
	"strings"
	"testing"
)

// A difference from a cluster is named as kubectl diff names it, below its notes, and nothing
// of a cluster directs a terminal.
func TestLiveObjectsHaveNamesOfKubectlDiff(t *testing.T) {
	was := read(t, strings.Replace(deployment, "web:1", "web:2", 1))[0].Unstructured
	is := read(t, deployment)[0]
	note := "evil\x1b[31m set spec"
	changed := Change{Before: was, After: is.Unstructured, AfterFile: is.File, Notes: []string{note}}
	want := "# evil\\x1b[31m set spec\n--- live/apps.v1.Deployment.shop.web\n+++ b/rendered/prod/web.yaml\n"
	if text := changed.Unified(); !strings.HasPrefix(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
	was.SetName("a\x1b[31m")
	removed := Change{Before: was}
	if text := removed.Unified(); !strings.HasPrefix(text, "--- live/apps.v1.Deployment.shop.a\\x1b[31m\n+++ /dev/null\n") {
		t.Errorf("%s", text)
	}
}
