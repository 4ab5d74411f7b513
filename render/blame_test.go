package render

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/manifest"
)

// TestProblemsAreAtTheLineThatSetsTheField has each kind of entry that sets a field of an object: once to a wrong value,
// and once to none if the entry can. A file of testdata/blame is for the entries of one file, which it begins with. The
// rows follow, as "=== entry: wrong", with the rest of that file and perhaps more files. Each line with a problem, and no
// other, ends in #!.
func TestProblemsAreAtTheLineThatSetsTheField(t *testing.T) {
	base, err := os.ReadFile("testdata/blame/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/blame/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/blame: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(string(content), "=== ")
		for _, row := range rows[1:] {
			name, rest, _ := strings.Cut(row, "\n")
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+name, func(t *testing.T) {
				checkBlame(t, rows[0]+rest+string(base))
			})
		}
	}
}

func checkBlame(t *testing.T, archive string) {
	var want, got []string
	for _, f := range txtar.Parse([]byte(archive)).Files {
		for i, line := range strings.Split(string(f.Data), "\n") {
			if strings.HasSuffix(line, "#!") {
				want = append(want, fmt.Sprintf("%s:%d", f.Name, i+1))
			}
		}
	}
	u := run(t, write(t, archive))
	for _, e := range u.Environments {
		for _, p := range e.Problems {
			got = append(got, p.Position())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("problems are at %q, want %q:\n%s", got, want,
			strings.Join(texts(u, func(manifest.Problem) bool { return true }), "\n"))
	}
}
