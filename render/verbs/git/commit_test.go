package git

import (
	"maps"
	"testing"
)

func TestTrailersOfTheLastParagraph(t *testing.T) {
	dir := history(t)
	r := open(t, dir)
	for message, want := range map[string]map[string]string{
		"Subject":                       {},
		"A: 1\n\nB: 2\nC: 3: 4\n":       {"B": "2", "C": "3: 4"},
		"Subject\n\nA: 1\n\nno trailer": {},
		"Subject\n\n---\n\nA: 1\n\n":    {"A": "1"},
	} {
		got, err := r.ReadCommit(t.Context(), run(t, dir, "commit-tree", "-m", message, "HEAD^{tree}"))
		if err != nil || !maps.Equal(got.Trailers, want) || got.Subject == "" || got.Tree != run(t, dir, "rev-parse", "HEAD^{tree}") {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}
