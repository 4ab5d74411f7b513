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
		{"web:1.1@sha256:" + digest, "web:1.2", false},
		{"web:1.1@sha256:" + digest, "web:1.2@sha256:" + digest, true},
		{"web:1.1", "web:1.1@sha256:" + digest, false}, // of which build, a registry knows
		{"web:1.1@sha256:" + digest, "web:1.1@sha256:" + other, false},
		{"web:16.4", "web:18.0", false},
		{"web:16", "web:17", false},
		{"web:1.27.0-alpine", "web:1.27.1-alpine", true},
		{"web:1.27.0-alpine", "web:1.27.1", false},
		{"web:1.27.0-alpine3.20", "web:1.27.1-alpine3.21", false},
		{"web:1.27.0-debian-12-r3", "web:1.27.1-debian-12-r0", true},
		{"web:1.27.0-debian-11-r3", "web:1.27.0-debian-12-r4", false},
		{"web:1.2.3-r5", "web:1.2.3-r6", true},
		{"web:1.2.3-r6", "web:1.2.3-r5", false},
		{"web:v1.2.3", "web:v1.3.0-rc.1", false},
		{"web:v1.3.0-rc.1", "web:v1.3.0-rc.2", true},
		{"web:v1.2.3", "web:1.2.4", false},
		{"web:1.2", "web:1.2.1", false},
		{"web:1.2.3a", "web:1.2.3b", false},
		{"web:2025.12.1", "web:2026.1.0", true}, // the year is no major version
		{"web:2025-04-08T15-41-24Z", "web:2026-05-24T17-08-30Z", true},
		{"web:20260101", "web:20260201", true},
		{"web:sha-1b5", "web:sha-1b6", false},
		{"web:deadb1b5", "web:deadb1b6", false},
		{"web:1.2.3", "web:1234567", false},
		{"web:1.2.3", "web:pr-1234", false},
		{"web:1.2.3", "web", false},
		{"web:1.2.3", "web:latest", false},
		{"web:main-1", "web:main-2", false},               // of a branch
		{"${REGISTRY}/web:1", "${REGISTRY}/web:2", false}, // its tag is unknown
	} {
		if got := IsNewVersion(test.was, test.is); got != test.want {
			t.Errorf("%s to %s: got %t", test.was, test.is, got)
		}
	}
}

const (
	digest = "0123456789012345678901234567890123456789012345678901234567890123"
	other  = "1123456789012345678901234567890123456789012345678901234567890123"
)

func TestSeriesOfDatabases(t *testing.T) {
	for _, test := range []struct {
		was, is string
		want    bool
	}{
		{"postgres:16.4", "postgres:17.0", true},
		{"postgres:16.4", "postgres:16.5", false},
		{"mongo:4.2.1", "mongo:4.4.0", true},
		{"mysql:8.0", "mysql:8.4", true},
		{"docker.io/bitnami/mariadb:10.6.12-debian-11-r3", "docker.io/bitnami/mariadb:10.6.13-debian-11-r0", false},
		{"web:1.2.3", "web:1.3.0", false},
	} {
		if got := IsNewSeries(test.was, test.is); got != test.want {
			t.Errorf("%s to %s: got %t", test.was, test.is, got)
		}
	}
}
