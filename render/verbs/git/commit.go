package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/gatehouse/render/watchdog"
)

// Commit is a commit of a repository.
type Commit struct {
	Tree          string
	Parents       []string
	Subject, Body string
	Author        string // as "Name <email>"
	Date          string // of the author, as in ISO 8601
	Trailers      map[string]string
}

// ReadCommit reads a commit.
func (r *Repository) ReadCommit(ctx context.Context, id string) (Commit, error) {
	commits, err := r.readCommits(ctx, "--max-count=1", id)
	if err != nil || len(commits) == 0 {
		return Commit{}, err
	}
	return commits[0], nil
}

// History returns a commit and all commits before it.
func (r *Repository) History(ctx context.Context, id string) ([]Commit, error) {
	return r.readCommits(ctx, id)
}

func (r *Repository) readCommits(ctx context.Context, which ...string) (commits []Commit, err error) {
	const format = "--format=%T%x00%P%x00%s%x00%an <%ae>%x00%aI%x00%(trailers:only,unfold)%x00%b%x00"
	out, err := r.git(ctx, nil, slices.Concat([]string{"rev-list", format}, which, []string{"--"})...)
	const length = 7
	fields := strings.Split(out, "\x00")
	for ; len(fields) > length; fields = fields[length:] {
		_, tree, _ := strings.Cut(strings.TrimPrefix(fields[0], "\n"), "\n") // after the id
		c := Commit{
			Tree: tree, Parents: strings.Fields(fields[1]), Subject: fields[2], Body: strings.TrimSpace(fields[6]),
			Author: fields[3], Date: fields[4], Trailers: map[string]string{},
		}
		for line := range strings.Lines(fields[5]) {
			if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
				c.Trailers[key] = value
			}
		}
		commits = append(commits, c)
	}
	return commits, err
}

// IsOnBranch reports whether a branch with some tip has ever ended with a commit: it is none of the commits of a
// merged branch: reviewers see its sum.
func (r *Repository) IsOnBranch(ctx context.Context, commit, tip string) (bool, error) {
	out, err := r.git(ctx, nil, "rev-list", "--first-parent", tip, "--")
	return slices.Contains(strings.Fields(out), commit), err
}

// Lacks returns a commit in the history of others that is not in the history of a commit, or nothing.
func (r *Repository) Lacks(ctx context.Context, commit string, others []string) (string, error) {
	revisions := strings.Join(others, "\n") + "\n^" + commit + "\n"
	out, err := r.git(ctx, strings.NewReader(revisions), "rev-list", "--max-count=1", "--stdin")
	return strings.TrimSpace(out), err
}

// IsAncestor reports whether a commit equals another or is in its history.
func (r *Repository) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	_, err := r.git(ctx, nil, "merge-base", "--is-ancestor", commit, of)
	if exitedWith1(err) {
		return false, nil
	}
	return err == nil, err
}

// ChangedBetween reports whether a commit in a range changes a folder, even if a later commit reverts it.
func (r *Repository) ChangedBetween(ctx context.Context, after, upTo, dir string) (bool, error) {
	out, err := r.git(ctx, nil, "rev-list", "--max-count=1", "--full-history", upTo, "^"+after, "--", dir)
	return out != "", err
}

// WriteTree writes a tree with only one folder of a commit, at the same path, and files at the top. It
// returns the id of the tree.
func (r *Repository) WriteTree(ctx context.Context, commit, dir string, top map[string][]byte) (string, error) {
	full := path.Join(r.prefix, dir)
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--end-of-options", commit+":"+full)
	tree := strings.TrimSpace(out)
	for name := full; name != "." && err == nil; name = path.Dir(name) {
		entries := "040000 tree " + tree + "\t" + path.Base(name) + "\x00"
		if path.Dir(name) == "." {
			for file, content := range top {
				if out, err = r.git(ctx, bytes.NewReader(content), "hash-object", "-w", "--stdin"); err != nil {
					return "", err
				}
				entries += "100644 blob " + strings.TrimSpace(out) + "\t" + file + "\x00"
			}
		}
		out, err = r.git(ctx, strings.NewReader(entries), "mktree", "-z")
		tree = strings.TrimSpace(out)
	}
	return tree, err
}

// PushNote sets the note of a commit, unless replaces says no to the note that it has, and pushes all notes of
// the reference. It fetches them first, and tries again if others push meanwhile.
func (r *Repository) PushNote(ctx context.Context, remote, ref, commit, note string,
	replaces func(old string) bool) (err error) {
	for range 8 {
		_, _ = r.git(ctx, nil, "fetch", "--quiet", "--no-tags", remote, "+"+ref+":"+ref) // the first has none to fetch
		if old, err := r.git(ctx, nil, "notes", "--ref="+ref, "show", commit); err == nil && !replaces(old) {
			return nil
		}
		if _, err = r.git(ctx, nil, "notes", "--ref="+ref, "add", "--force", "--message="+note, commit); err != nil {
			return err
		}
		if _, err = r.git(ctx, nil, "push", "--quiet", remote, ref); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// Commit makes a commit like `git commit`: with the user's name, the hook commit-msg and, if git is
// configured to sign, a signature. It moves no branch. The parent of a first commit is empty.
func (r *Repository) Commit(ctx context.Context, tree, parent, message string) (string, error) {
	message, err := r.runCommitMsg(ctx, message)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree"}
	if out, _ := r.git(ctx, nil, "config", "--type=bool", "--get", "commit.gpgSign"); strings.TrimSpace(out) == "true" {
		args = append(args, "-S")
	}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	out, err := r.git(ctx, strings.NewReader(message), append(args, tree)...)
	if err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	return strings.TrimSpace(out), nil
}

func (r *Repository) runCommitMsg(ctx context.Context, message string) (string, error) {
	dir, remove, err := watchdog.Scratch()
	if err != nil {
		return "", err
	}
	defer remove()
	file := filepath.Join(dir, "COMMIT_EDITMSG")
	if err := os.WriteFile(file, []byte(message), 0o600); err != nil {
		return "", err
	}
	_, err = r.git(ctx, nil, "hook", "run", "--ignore-missing", "commit-msg", "--", file)
	var failed *Error
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Message, "'hook' is not a git command"):
		return message, nil // before git 2.36
	case errors.As(err, &failed):
		subject, _, _ := strings.Cut(message, "\n")
		return "", fmt.Errorf("the hook commit-msg rejects the message %q: %s", subject, failed.Message)
	case err != nil:
		return "", err
	}
	content, err := os.ReadFile(file) //nolint:gosec // written above
	if err != nil {
		return "", fmt.Errorf("the hook commit-msg leaves no message: %w", err)
	}
	return string(content), nil
}
