package git

import (
	"slices"
	"testing"
)

func TestOriginHasTheRemotesOnOtherHosts(t *testing.T) {
	dir := history(t)
	for _, remote := range [][2]string{
		{"fork", "git@git.example.com:fork/yard.git"}, {"origin", "https://git.example.com/acme/yard.git"},
		{"disk", "/srv/yard.git"}, {"file", "file:///srv/yard.git"},
	} {
		run(t, dir, "remote", "add", remote[0], remote[1])
	}
	want := []string{"https://git.example.com/acme/yard.git", "git@git.example.com:fork/yard.git"}
	if got := OriginOf(t.Context(), dir, "").URLs; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := OriginOf(t.Context(), t.TempDir(), ""); len(got.URLs) > 0 || got.IsOther("v1") {
		t.Errorf("without git: %+v", got)
	}
}

func TestAnotherRevisionIsNoneUnderReview(t *testing.T) {
	dir := history(t)
	run(t, dir, "branch", "stable")
	run(t, dir, "tag", "later")
	run(t, dir, "checkout", "-q", "-b", "change")
	run(t, dir, "branch", "-m", "main", "trunk")
	if o := OriginOf(t.Context(), dir, ""); o.IsOther("unknown") || !o.IsOther("trunk") {
		t.Error("without a default branch an unknown name may be it, and another branch is not")
	}
	run(t, dir, "branch", "-m", "trunk", "main")
	for _, test := range []struct {
		base, revision string
		want           bool
	}{
		{"", "change", false}, {"", "main", false}, {"", "stable", true}, {"", "later", true}, {"", "unknown", true},
		{"stable", "stable", false}, {"origin/stable", "stable", false}, {"main", "stable", true}, {"main", "unknown", true},
	} {
		if got := OriginOf(t.Context(), dir, test.base).IsOther(test.revision); got != test.want {
			t.Errorf("%s from %q: %t", test.revision, test.base, got)
		}
	}
}
