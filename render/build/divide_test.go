package build

import (
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
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

const overlay = "/environments/prod"

// TestDivision builds each repository of testdata as a whole and in parts: the same
// has to come of it. An archive ends its comment with what else is expected:
//
//	apart: 3          specs that are built apart, where each is a part of its own
//	fails: no match   a part of the problem that keeps it from being built
//	parts fail        though the whole can be built
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
			whole := buildWhole(s, true)
			if !strings.Contains(whole.problem, want.fails) || (want.fails == "") != (whole.problem == "") {
				t.Errorf("the whole fails with %q, want %q", whole.problem, want.fails)
			}
			for partSize := 1; partSize <= 3; partSize++ {
				d := newDivision(s, partSize)
				if partSize == 1 && countParts(d) != want.apart {
					t.Errorf("%d specs are built apart, want %d", countParts(d), want.apart)
				}
				if d == nil {
					continue
				}
				if difference := whole.compare(buildDivided(d, true)); difference != "" {
					t.Errorf("parts of %d: %s", partSize, difference)
				}
				if whole.problem == "" && partSize == 1 && partsFail(d) != want.partsFail {
					t.Errorf("parts fail: %t, want %t", partsFail(d), want.partsFail)
				}
			}
		})
	}
}

// expectation is what an archive says will come of it.
type expectation struct {
	apart     int
	fails     string
	partsFail bool
}

var expected = regexp.MustCompile(`(?m)^(apart|fails): (.*)$`)

func expect(t *testing.T, comment string) (want expectation) {
	t.Helper()
	want.apart = -1
	for _, match := range expected.FindAllStringSubmatch(comment, -1) {
		if match[1] == "fails" {
			want.fails = match[2]
			continue
		}
		var err error
		if want.apart, err = strconv.Atoi(match[2]); err != nil {
			t.Fatal(err)
		}
	}
	if want.apart < 0 {
		t.Fatal("the comment does not say how many specs are built apart")
	}
	want.partsFail = strings.Contains(comment, "\nparts fail\n")
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
	s := source.Read(source.NewFileSystem(root, dir), source.Kinds{GVKs: gatehouse.All().GVKs(), Configuration: gatehouse.All().KustomizeConfig()}, overlay)
	if !s.CanBuild(overlay) {
		t.Fatalf("cannot be built: %v", s.Problems)
	}
	return s
}

// result is what comes of a build.
type result struct {
	objects map[string][]string // YAML and origin, by ID
	problem string
}

// buildWhole builds the environment as a whole.
func buildWhole(s *source.Sources, withOrigins bool) result {
	var objects []object.Object
	var files []string
	k := s.Kustomizations[overlay]
	err := isolated(s, func() (err error) {
		if objects, err = buildFolder(s.FS, overlay, nil); err == nil && withOrigins {
			files, err = buildOrigins(s.FS, k, nil)
		}
		return err
	})
	return newResult(s, objects, files, err)
}

func newDivision(s *source.Sources, partSize int) (d *division) {
	_ = isolated(s, func() error { d = divide(s, overlay, partSize); return nil })
	return d
}

func countParts(d *division) int {
	if d == nil {
		return 0
	}
	return len(d.parts)
}

// buildDivided builds the environment in the parts of a division.
func buildDivided(d *division, withOrigins bool) result {
	var objects []object.Object
	var files []string
	err := isolated(d.sources, func() (err error) {
		if objects, err = d.buildAll(); err == nil && withOrigins {
			if files = d.originsOfAll(); files == nil { // a part fails, but not the whole
				files, err = buildOrigins(d.sources.FS, d.sources.Kustomizations[overlay], nil)
			}
		}
		return err
	})
	return newResult(d.sources, objects, files, err)
}

func partsFail(d *division) (fail bool) {
	_ = isolated(d.sources, func() error {
		_, failed := d.buildParts()
		fail = len(failed) > 0
		return nil
	})
	return fail
}

func isolated(s *source.Sources, build func() error) (err error) {
	isolate(s, func() { err = build() })
	return err
}

const (
	// duplicateProblem is the problem of two objects of one ID, whoever finds them.
	duplicateProblem = "duplicate object"
	// ambiguousProblem is the problem of references, which kustomize takes in an order
	// of its own each time: it names one of those that it finds no single object for.
	ambiguousProblem = "found multiple possible referrals"
)

// isDuplicate is the error of objects of one ID.
var isDuplicate = regexp.MustCompile(`already registered id|produces ID conflict`)

// address is where a generator is in memory: kustomize names it so.
var address = regexp.MustCompile(`0x[0-9a-f]+`)

func newResult(s *source.Sources, objects []object.Object, files []string, err error) result {
	if err != nil {
		switch {
		case isDuplicate.MatchString(err.Error()):
			return result{problem: duplicateProblem}
		case strings.Contains(err.Error(), ambiguousProblem):
			return result{problem: ambiguousProblem}
		}
		return result{problem: address.ReplaceAllString(kustomizeProblem(s, s.Kustomizations[overlay].File, err).String(), "")}
	}
	r := result{objects: map[string][]string{}}
	if files == nil {
		files = make([]string, len(objects))
	}
	if len(files) != len(objects) {
		return result{problem: fmt.Sprintf("%d origins of %d objects", len(files), len(objects))}
	}
	for i, o := range objects {
		content, err := o.YAML()
		if err != nil {
			return result{problem: err.Error()}
		}
		id := o.ID()
		if id.Namespace == "" { // as kustomize has it
			id.Namespace = defaultNamespace
		}
		key := o.GetAPIVersion() + " " + id.String()
		if r.objects[key] = append(r.objects[key], files[i]+":\n"+string(content)); len(r.objects[key]) > 1 {
			return result{problem: duplicateProblem}
		}
	}
	return r
}

// compare returns how what comes of a divided build differs from this, of the whole;
// empty where it does not.
func (r result) compare(divided result) string {
	switch {
	case r.problem == divided.problem && r.problem != "":
		return ""
	case r.problem != "" && divided.problem != "" && slices.Contains([]string{r.problem, divided.problem}, duplicateProblem):
		return "" // both are wrong, and which is found first is of no importance
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
