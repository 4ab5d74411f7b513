package cluster

import (
	"slices"
	"testing"
)

func TestVersionsTooOldOrUndeclaredAreWarnings(t *testing.T) {
	const (
		tooOld = "the cluster has Kubernetes 1.33: render knows none before 1.34, and the controller is not tried with it"
		other  = `environment prod is for Kubernetes 1.35, but the cluster has 1.33: give its kustomization the annotation gatehouse.example.com/kubernetes: "1.33"`
	)
	for _, test := range []struct {
		cluster, environment string
		want                 []string
	}{
		{"1.35", "1.35", nil},
		{"1.37", "", nil},
		{"1.38", "", nil}, // render judges by its newest version
		{"1.33", "", []string{tooOld}},
		{"1.33", "1.35", []string{tooOld, other}},
	} {
		var got []string
		for _, p := range (&Cluster{version: test.cluster}).VersionWarnings("prod", test.environment) {
			if !p.Warning {
				t.Errorf("%s is an error", p)
			}
			got = append(got, p.Message)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s, environment for %q: %q, want %q", test.cluster, test.environment, got, test.want)
		}
	}
}
