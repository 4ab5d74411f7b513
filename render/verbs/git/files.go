package git

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // the hash of git objects
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
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
		file, inFolder := File{OID: fields[2], Mode: fields[0]}, r.InFolder(name)
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
	err := r.readBlobs(ctx, regular, func(name string, content io.Reader) (err error) {
		contents[name], err = io.ReadAll(content)
		return err
	})
	return contents, err
}

// readBlobs calls use with the content of each file and link among files, in the order of their paths.
func (r *Repository) readBlobs(ctx context.Context, files map[string]File,
	use func(name string, content io.Reader) error) error {
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
	for i := 0; i < len(names) && err == nil; i++ {
		id := files[names[i]].OID
		if err = blobs.read(id, func(blob io.Reader) error { return use(names[i], blob) }); err != nil {
			err = fmt.Errorf("read committed file %s: %w", id, err)
		}
	}
	if ended := blobs.close(); ended != nil {
		return fmt.Errorf("read committed files: %w", ended)
	}
	return err
}

// nextBlob reads the next object of the output of `git cat-file --batch`.
func nextBlob(blobs *bufio.Reader, use func(content io.Reader) error) error {
	header, err := blobs.ReadString('\n')
	fields := strings.Fields(header)
	if err != nil || len(fields) != 3 {
		return fmt.Errorf("git cat-file: %s", Tidy(header))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return fmt.Errorf("git cat-file: %s", Tidy(header))
	}
	content := &io.LimitedReader{R: blobs, N: size}
	if err := use(content); err != nil {
		return err
	}
	end, err := blobs.ReadByte()
	if content.N > 0 || err != nil || end != '\n' {
		return fmt.Errorf("git cat-file: %s: the content is cut off", Tidy(header))
	}
	return nil
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
