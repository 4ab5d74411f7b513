package git

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Changed returns the tracked files that differ from HEAD in the work tree or in the index, by their
// paths from the top of the work tree.
func (r *Repository) Changed(ctx context.Context) (files []string, err error) {
	out, err := r.git(ctx, nil, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=none", "--no-renames")
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > len("XY ") {
			files = append(files, entry[len("XY "):])
		}
	}
	return files, err
}

// Untracked returns the files at paths that git neither tracks nor ignores. Paths are relative to the
// folder.
func (r *Repository) Untracked(ctx context.Context, paths ...string) ([]string, error) {
	out, err := r.git(ctx, nil, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, paths...)...)
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), err
}

// HashFiles returns the ids that files of the work tree would have if they were added, after filters and
// the conversion of line ends. Files are relative to the folder.
func (r *Repository) HashFiles(ctx context.Context, files []string) ([]string, error) {
	var names strings.Builder
	for _, file := range files {
		names.WriteString(quote(path.Join(r.prefix, file)) + "\n")
	}
	top := *r // in it, git takes the names for paths from the top
	if r.prefix != "" {
		top.dir = filepath.Join(r.dir, strings.Repeat("../", 1+strings.Count(r.prefix, "/")))
	}
	out, err := top.git(ctx, strings.NewReader(names.String()), "hash-object", "--stdin-paths")
	return strings.Fields(out), err
}

// quote returns a name in quotes, as git reads it from a line.
func quote(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
