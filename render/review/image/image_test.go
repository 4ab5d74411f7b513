package image

import "testing"

// TestIsNewVersionWantsTheSameRepository compares images.
func TestIsNewVersionWantsTheSameRepository(t *testing.T) {
	for _, test := range []struct {
		was, is string
		want    bool
	}{
		{"web:1.2.3", "web:1.2.4", true},
		{"web:1.2.4", "web:1.2.3", false},
		{"web:1.2.3", "docker.io/library/web:1.2.4", true},
		{"web:1.2.3", "other/web:1.2.4", false},
		{"web:1@sha256:" + digest, "web:2", false},
		{"web:1@sha256:" + digest, "web:2@sha256:" + digest, true},
		{"web:1.2.3", "web", false},
		{"web:1.2.3", "web:latest", false},
		{"web:main-1", "web:main-2", true},
		{"${REGISTRY}/web:1", "${REGISTRY}/web:2", false}, // its tag is unknown
	} {
		if got := IsNewVersion(test.was, test.is); got != test.want {
			t.Errorf("%s to %s: got %t", test.was, test.is, got)
		}
	}
}

const digest = "0123456789012345678901234567890123456789012345678901234567890123"
