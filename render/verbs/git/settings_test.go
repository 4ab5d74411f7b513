package git

import "testing"

// It also works before the first commit.
func TestDefaultBranchIsOriginsOrCheckedOut(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "trunk")
	if branch := open(t, dir).DefaultBranch(t.Context()); branch != "trunk" {
		t.Errorf("without a commit: %q", branch)
	}
	run(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release/next")
	if branch := open(t, dir).DefaultBranch(t.Context()); branch != "release/next" {
		t.Errorf("with that of origin: %q", branch)
	}
}
