package kustomize

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/test/sources"
)

const prod = "/environments/prod"

// TestDivision builds each repository of testdata at once and in parts, and compares the objects. The
// comment of an archive ends with further expectations:
//
//	parts: 3          the number of smallest parts, 0 if the repository is not divided
//	fails: no match   a part of the problem of the build
func TestDivision(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := expect(t, string(archive.Comment))
			s := readSources(t, t.TempDir(), archive)
			if len(s.Problems) > 0 {
				t.Fatal(s.Problems)
			}
			whole := buildWhole(s)
			if !strings.Contains(whole.problem, want.fails) || (want.fails == "") != (whole.problem == "") {
				t.Errorf("the build fails with %q, want %q", whole.problem, want.fails)
			}
			for partSize := 1; partSize <= 3; partSize++ {
				paths, d := divide(s, partSize)
				if partSize == 1 && d.Len() != want.parts {
					t.Errorf("%d parts, want %d", d.Len(), want.parts)
				}
				if d == nil {
					continue
				}
				if difference := whole.diff(buildDivided(nil, paths, d)); difference != "" {
					t.Errorf("parts of %d: %s", partSize, difference)
				}
			}
		})
	}
}

// expectation has the expectations in the comment of an archive.
type expectation struct {
	parts int
	fails string
}

var expected = regexp.MustCompile(`(?m)^(parts|fails): (.*)$`)

func expect(t *testing.T, comment string) (want expectation) {
	t.Helper()
	want.parts = -1
	for _, match := range expected.FindAllStringSubmatch(comment, -1) {
		if match[1] == "fails" {
			want.fails = match[2]
			continue
		}
		var err error
		if want.parts, err = strconv.Atoi(match[2]); err != nil {
			t.Fatal(err)
		}
	}
	if want.parts < 0 {
		t.Fatal("the comment has no number of parts")
	}
	return want
}

// test is a *testing.T or a *rapid.T.
type test interface {
	sources.T
	Fatalf(format string, args ...any)
}

// readSources writes the repository of an archive to dir and reads it. It adds the configurations of
// the kinds.
func readSources(t test, dir string, archive *txtar.Archive) *source.Sources {
	t.Helper()
	s, canBuild := tryReadSources(t, dir, archive)
	if !canBuild {
		t.Fatalf("cannot be built: %v", s.Problems)
	}
	return s
}

// tryReadSources reads like readSources, and reports whether the sources have no problems.
func tryReadSources(t test, dir string, archive *txtar.Archive) (*source.Sources, bool) {
	t.Helper()
	files := append([]txtar.File{
		{Name: "config/kustomization.yaml", Data: []byte("configurations: [config.yaml]\n")},
		{Name: "config/config.yaml", Data: gatehouse.All().KustomizeConfig()},
	}, archive.Files...)
	s := sources.Read(t, dir, files, prod)
	return s, len(s.Problems) == 0
}

// result is the result of a build.
type result struct {
	objects map[string][]string // YAML, by ID
	problem string
}

// buildWhole builds the environment at once.
func buildWhole(s *source.Sources) result {
	var objects []manifest.Object
	err := isolated(s, func() (err error) {
		objects, err = buildFolder(s.FS, prod)
		return err
	})
	return newResult(s, objects, err)
}

func divide(s *source.Sources, partSize int) (paths *Paths, d *parts.Division) {
	paths = FindPaths(s, prod)
	_ = isolated(s, func() error { d = parts.Divide(paths, partSize); return nil })
	return paths, d
}

// buildDivided builds the environment in the parts of a division.
func buildDivided(m *memo.Memo, paths *Paths, d *parts.Division) result {
	var objects []manifest.Object
	err := isolated(paths.Sources, func() (err error) {
		objects, err = d.Build(m, buildFolder)
		return err
	})
	if errors.Is(err, parts.ErrOverlap) {
		return result{problem: parts.ErrOverlap.Error()}
	}
	return newResult(paths.Sources, objects, err)
}

func isolated(s *source.Sources, build func() error) (err error) {
	isolate(s, func() { err = build() })
	return err
}

// duplicateProblem is the problem of two objects with the same ID.
const duplicateProblem = "duplicate object"

func newResult(s *source.Sources, objects []manifest.Object, err error) result {
	if err != nil {
		return result{problem: kustomizeProblem(s, s.Kustomizations[prod].File, err).String()}
	}
	r := result{objects: map[string][]string{}}
	for _, o := range objects {
		content, err := o.YAML()
		if err != nil {
			return result{problem: err.Error()}
		}
		id := o.ID()
		if id.Namespace == "" { // as in kustomize
			id.Namespace = "default"
		}
		key := o.GetAPIVersion() + " " + id.String()
		if r.objects[key] = append(r.objects[key], string(content)); len(r.objects[key]) > 1 {
			return result{problem: duplicateProblem}
		}
	}
	return r
}

// diff compares the result of a divided build with r, of the whole, and returns "" if they are the same.
func (r result) diff(divided result) string {
	switch {
	case r.problem != "" && divided.problem != "":
		return "" // either build may stop at another problem
	case r.problem != divided.problem:
		return fmt.Sprintf("the problem is %q, at once %q", divided.problem, r.problem)
	}
	return udiff.Unified("at once", "divided", r.String(), divided.String())
}

func (r result) String() string {
	var all []string
	for id, objects := range r.objects {
		all = append(all, "--- "+id+"\n"+strings.Join(objects, ""))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
