package known

import (
	"strings"
	"testing"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/source/fetched"
)

// TestFirstDigestsAreThoseOfTheirTags compares images with their registry.
func TestFirstDigestsAreThoseOfTheirTags(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	other := "sha256:" + strings.Repeat("b", 64)
	for _, test := range []struct {
		was, is string
		found   map[string]fetched.Image
		want    bool
	}{
		{"web:1.1", "web:1.1@" + digest, nil, false},
		{"web:1.1", "web:1.1@" + digest, map[string]fetched.Image{"web:1.1@" + digest: {Digest: digest}}, true},
		{"web:1.1", "web:1.1@" + digest, map[string]fetched.Image{"web:1.1@" + digest: {Digest: other}}, false},
		{"web", "web@" + digest, map[string]fetched.Image{"web@" + digest: {Digest: digest}}, false},
		{"web:1.1@" + other, "web:1.1@" + digest, map[string]fetched.Image{"web:1.1@" + digest: {Digest: digest}}, false},
	} {
		both := &compare.Comparison{Facts: compare.Facts{Images: test.found}}
		f := compare.FieldChange{Before: &test.was, After: &test.is}
		if got := isNewVersion(both, compare.Change{}, f); got != test.want {
			t.Errorf("%s to %s: %t", test.was, test.is, got)
		}
	}
}
