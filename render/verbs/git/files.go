package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // the hash of git objects
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"path"
	"slices"
	"strings"
)

// File is a file of a commit, or a submodule.
type File struct {
	OID  string
	Mode string // 100644, 100755, or 120000 for a link
}

const (
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// IsRegular reports whether the entry is a regular file.
func (f File) IsRegular() bool { return strings.HasPrefix(f.Mode, "100") }

// Files returns the files and submodules of a commit at or below some paths. Paths are relative to the
// folder of the repository, with slashes. It returns an error if one of the paths is a submodule.
func (r *Repository) Files(ctx context.Context, commit string, paths ...string) (map[string]File, error) {
	full := make([]string, len(paths))
	for i, name := range paths {
		full[i] = path.Join(r.prefix, name)
	}
	out, err := r.git(ctx, nil, append([]string{"ls-tree", "-r", "-z", "--full-tree", commit, "--"}, full...)...)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", commit, err)
	}
	files := map[string]File{}
	for entry := range strings.SplitSeq(out, "\x00") {
		described, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(described)
		if len(fields) != 3 {
			continue
		}
		file := File{OID: fields[2], Mode: fields[0]}
		inFolder := r.InFolder(name)
		if file.Mode == modeSubmodule && slices.Contains(paths, inFolder) {
			return nil, fmt.Errorf("%s is a submodule in commit %s: render reads and writes files of one repository",
				Tidy(name), commit)
		}
		files[inFolder] = file
	}
	return files, nil
}

// ReadFiles returns the contents of the regular files among files, by their paths. A partial clone fetches all
// missing files at once.
func (r *Repository) ReadFiles(ctx context.Context, files map[string]File) (map[string][]byte, error) {
	regular := maps.Clone(files)
	maps.DeleteFunc(regular, func(_ string, file File) bool { return !file.IsRegular() })
	contents := map[string][]byte{}
	err := r.readBlobs(ctx, regular, func(name string, content []byte) error {
		contents[name] = content
		return nil
	})
	return contents, err
}

// readBlobs calls use with the content of each file and link among files, in the order of their paths.
func (r *Repository) readBlobs(ctx context.Context, files map[string]File,
	use func(name string, content []byte) error) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		return files[name].Mode == modeSubmodule
	})
	if len(names) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, name := range names {
		ids.WriteString(files[name].OID + "\n")
	}
	if promisor := r.promisor(ctx); promisor != "" {
		// If this fails, cat-file fails below and names the file.
		_, _ = r.git(ctx, strings.NewReader(ids.String()), "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet",
			"--no-tags", "--no-write-fetch-head",
			"--recurse-submodules=no", "--no-auto-maintenance", "--filter=blob:none", "--stdin", promisor)
	}
	blobs, err := r.newBlobReader(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		var content []byte
		if content, err = blobs.read(files[name].OID); err == nil {
			err = use(name, content)
		}
		if err != nil {
			err = fmt.Errorf("read committed file %s: %w", files[name].OID, err)
			break
		}
	}
	if ended := blobs.close(); ended != nil {
		return fmt.Errorf("read committed files: %w", ended)
	}
	return err
}

// promisor returns the remote of missing objects in a partial clone, and nothing in a full clone.
func (r *Repository) promisor(ctx context.Context) string {
	out, _ := r.git(ctx, nil, "config", "--null", "--get-regexp", `^remote\..*\.promisor$`)
	name, _, _ := strings.Cut(out, "\n")
	return strings.TrimSuffix(strings.TrimPrefix(name, "remote."), ".promisor")
}

// Hash returns the id of a file with some content.
func (r *Repository) Hash(content []byte) string {
	var h hash.Hash
	if r.format == "sha256" {
		h = sha256.New()
	} else {
		h = sha1.New() //nolint:gosec // the hash of git objects
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
