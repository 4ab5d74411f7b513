package kustomize

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

const overlay = "/environments/prod"

// TestDivision builds each repository of testdata as a whole and in parts: the same
// has to come of it. An archive ends its comment with what else is expected:
//
//	parts: 3          the parts, where each is as small as it can be; 0 where it is built as a whole
//	fails: no match   a part of the problem that keeps it from being built
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
				t.Errorf("the whole fails with %q, want %q", whole.problem, want.fails)
			}
			for partSize := 1; partSize <= 3; partSize++ {
				d := newDivision(s, partSize)
				if partSize == 1 && countParts(d) != want.parts {
					t.Errorf("%d parts, want %d", countParts(d), want.parts)
				}
				if d == nil {
					continue
				}
				if difference := whole.compare(buildDivided(d)); difference != "" {
					t.Errorf("parts of %d: %s", partSize, difference)
				}
			}
		})
	}
}

// expectation is what an archive says will come of it.
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
		t.Fatal("the comment does not say how many parts there are")
	}
	return want
}

// test is what this needs of one, be it of rapid.
type test interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// readSources reads the repository of an archive, written to dir. Unless it has some,
// it is given the configurations of the kinds.
func readSources(t test, dir string, archive *txtar.Archive) *source.Sources {
	t.Helper()
	s, canBuild := tryReadSources(t, dir, archive)
	if !canBuild {
		t.Fatalf("cannot be built: %v", s.Problems)
	}
	return s
}

// tryReadSources is readSources, and reports whether the environment can be built.
func tryReadSources(t test, dir string, archive *txtar.Archive) (*source.Sources, bool) {
	t.Helper()
	files := append([]txtar.File{
		{Name: "config/kustomization.yaml", Data: []byte("configurations: [config.yaml]\n")},
		{Name: "config/config.yaml", Data: gatehouse.All().KustomizeConfig()},
	}, archive.Files...)
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	s := source.Read(nil, source.NewFileSystem(root, dir), gatehouse.All().KustomizeConfig(), overlay)
	return s, len(s.Problems) == 0
}

// result is what comes of a build.
type result struct {
	objects map[string][]string // YAML, by ID
	problem string
}

// buildWhole builds the environment as a whole.
func buildWhole(s *source.Sources) result {
	var objects []manifest.Object
	err := isolated(s, func() (err error) {
		objects, err = buildFolder(s.FS, overlay)
		return err
	})
	return newResult(s, objects, err)
}

func newDivision(s *source.Sources, partSize int) (d *division) {
	_ = isolated(s, func() error { d = divide(FindWays(s, overlay), partSize); return nil })
	return d
}

func countParts(d *division) int {
	if d == nil {
		return 0
	}
	return len(d.parts)
}

// buildDivided builds the environment in the parts of a division.
func buildDivided(d *division) result {
	var objects []manifest.Object
	err := isolated(d.sources, func() (err error) {
		objects, err = d.buildAll(nil)
		return err
	})
	if errors.Is(err, errEntangled) {
		return result{problem: errEntangled.Error()}
	}
	return newResult(d.sources, objects, err)
}

func isolated(s *source.Sources, build func() error) (err error) {
	isolate(s, func() { err = build() })
	return err
}

// duplicateProblem is the problem of two objects of one ID, by whatever finds them.
const duplicateProblem = "duplicate object"

func newResult(s *source.Sources, objects []manifest.Object, err error) result {
	if err != nil {
		return result{problem: kustomizeProblem(s, s.Kustomizations[overlay].File, err).String()}
	}
	r := result{objects: map[string][]string{}}
	for _, o := range objects {
		content, err := o.YAML()
		if err != nil {
			return result{problem: err.Error()}
		}
		id := o.ID()
		if id.Namespace == "" { // as kustomize has it
			id.Namespace = "default"
		}
		key := o.GetAPIVersion() + " " + id.String()
		if r.objects[key] = append(r.objects[key], string(content)); len(r.objects[key]) > 1 {
			return result{problem: duplicateProblem}
		}
	}
	return r
}

// compare returns how what comes of a divided build differs from this, of the whole;
// empty where it does not.
func (r result) compare(divided result) string {
	switch {
	case r.problem != "" && divided.problem != "":
		return "" // which problem is found first does not matter
	case r.problem != divided.problem:
		return fmt.Sprintf("the problem is %q, as a whole %q", divided.problem, r.problem)
	}
	return udiff.Unified("as a whole", "divided", r.String(), divided.String())
}

func (r result) String() string {
	var all []string
	for id, objects := range r.objects {
		all = append(all, "--- "+id+"\n"+strings.Join(objects, ""))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
