// Package oracle compares reviews with the tools' own code: whatever a change of a file changes in the objects that
// kustomize, Flux's packages or Helm make, a review has to tell.
package oracle

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/review"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/git"
)

var (
	seed      = flag.Uint64("mutation-seed", 1, "the seed of TestReviewsTellWhatToolsChange")
	mutations = flag.Int("mutations", 12, "the changes of each repository")
	folder    = flag.String("repository", "", "the folder of a repository with a commit to change, instead of testdata")
	only      = flag.String("files", "", "a pattern of the names of the files to change there")
	rootsOf   = flag.String("roots", "", "its roots, with commas: flux FOLDER, kustomize FOLDER, "+
		"helm CHART VALUES, apply FILES")
)

// TestReviewsTellWhatToolsChange changes files of repositories, one at a time. The comment of an archive has its roots.
func TestReviewsTellWhatToolsChange(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	if *folder != "" {
		check(t, *folder, strings.Split(*rootsOf, ","))
		return
	}
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			files, err := txtar.FS(archive)
			if err == nil {
				err = os.CopyFS(dir, files)
			}
			if err != nil {
				t.Fatal(err)
			}
			runGit(t, dir, "init", "-q", "-b", "main")
			runGit(t, dir, "remote", "add", "origin", "https://git.example.com/fleet.git")
			runGit(t, dir, "add", ".")
			runGit(t, dir, "commit", "-q", "-m", "before")
			check(t, dir, strings.Split(strings.TrimSpace(string(archive.Comment)), "\n"))
		})
	}
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	config := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false",
		"-c", "core.autocrlf=false", "-C", dir}
	if out, err := exec.CommandContext(t.Context(), "git", append(config, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// check changes a repository again and again, and compares.
func check(t *testing.T, dir string, roots []string) {
	t.Helper()
	was, known, err := renderAll(dir, t.TempDir(), roots)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // templates may ask the clock
	again, _, err := renderAll(dir, t.TempDir(), roots)
	chance := differences(was, again) // of templates
	t.Logf("%d kinds and names, without %v, by chance %v, %v", len(was), known, chance, err)
	before := reviewOf(t, dir)
	if len(before.objects) > 0 {
		t.Fatalf("without a change: %v", before)
	}
	random := rand.New(rand.NewPCG(*seed, uint64(len(was))))
	for i := range *mutations {
		what := (&mutation{random, dir, filesIn(t, dir)}).apply()
		runGit(t, dir, "add", "-A", "-f")
		is, errs, broken := renderAll(dir, t.TempDir(), roots)
		for key, err := range errs {
			if known[key] == nil {
				broken = cmp.Or(broken, fmt.Errorf("%s: %w", key, err))
			}
		}
		told := reviewOf(t, dir)
		maps.DeleteFunc(told.words, func(word string, _ bool) bool { return before.words[word] })
		changed := slices.DeleteFunc(differences(was, is), func(key string) bool { return slices.Contains(chance, key) })
		silent := slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return told.objects[key] })
		t.Logf("%d: %s: %v, %v; %v, %q", i, what, changed, broken, slices.Sorted(maps.Keys(told.objects)),
			slices.Sorted(maps.Keys(told.words)))
		switch {
		case len(told.words) > 0: // a refusal, a risk or something unknown
		case broken != nil && len(told.objects) == 0:
			t.Errorf("no word of an error: %v", broken)
		case broken == nil && len(silent) > 0:
			t.Errorf("no word of %v", silent)
		case broken == nil && len(changed)+len(known) == 0 && len(told.objects) > 0: // the tools make all objects
			t.Error("nothing changes")
		}
		runGit(t, dir, "reset", "-q", "--hard")
		runGit(t, dir, "clean", "-fdqx")
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	isChosen := regexp.MustCompile(*only)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		within, _ := filepath.Rel(dir, name)
		if entry.Type().IsRegular() && isChosen.MatchString(within) {
			names = append(names, within)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// differences returns the keys of objects that differ.
func differences(was, is map[string][]string) (keys []string) {
	for key := range was {
		if !slices.Equal(was[key], is[key]) {
			keys = append(keys, key)
		}
	}
	for key := range is {
		if was[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// told is what a review says: the objects that it names, and the other reasons that keep a change from passing.
type told struct{ objects, words map[string]bool }

// reviewOf reviews the work tree of a repository against its last commit.
func reviewOf(t *testing.T, dir string) (all told) {
	t.Helper()
	all = told{map[string]bool{}, map[string]bool{}}
	origin, err := git.OriginOf(t.Context(), dir, "HEAD")
	if err != nil {
		all.say("%v", err)
		return all
	}
	defer origin.Close()
	repository, err := render.Open(dir, gatehouse.All(), render.Options{Origin: func() application.Origin {
		return application.Origin{URLs: origin.URLs, IsOther: origin.IsOther}
	}})
	if err != nil {
		all.say("%v", err)
		return all
	}
	defer repository.Close()
	d, err := diff.Run(t.Context(), repository, render.Selection{All: true}, "HEAD", func(_, _ string) {})
	if err != nil {
		all.say("%v", err)
		return all
	}
	for _, e := range d.Environments {
		all.addEnvironment(e)
	}
	r := review.New(d, time.Unix(0, 0))
	for _, e := range r.Environments {
		for _, found := range e.Effects {
			isOfDelivery := slices.Contains([]string{effect.ObjectMoved, effect.ValuesUnread, effect.ChartUnproven}, found.Type)
			if found.Object.Kind == "Environment" || isOfDelivery {
				all.say("%s %s", found.Object, found.What)
			} else {
				all.objects[found.Object.Kind+" "+found.Object.Name] = true
			}
		}
	}
	for _, c := range r.Frame {
		if !c.IsOrdinary {
			all.say("%s: %s", c.File, c.Risk)
		}
	}
	return all
}

func (t told) say(format string, args ...any) { t.words[fmt.Sprintf(format, args...)] = true }

func (t told) addEnvironment(e *compare.Comparison) {
	for _, p := range e.Problems {
		if p.IsError() {
			t.say("%v", p)
		}
	}
	for _, c := range e.Changes {
		for _, o := range []*object{c.Before, c.After} { // a generated object gets another name
			if o != nil {
				t.objects[o.GetKind()+" "+o.GetName()] = true
			}
		}
	}
	if e.IsUnbuilt {
		t.say("%s is not built", e.Name)
	}
	if e.Environment == nil {
		return
	}
	for _, n := range e.Environment.Coverage().NotJudged {
		if n.What != "kind" {
			t.say("%s %s: %s", n.Name, n.Reason, n.Detail)
		}
	}
}
