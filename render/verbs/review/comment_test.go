package review

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// A comment is never too long, closes each fold, and counts omitted risks. Tables
// come before diffs.
func TestCommentsFit(t *testing.T) {
	r := &Review{}
	for i := range 12 {
		e := EnvironmentReview{Name: fmt.Sprintf("env-%d", i), Counts: Counts{diff.Added: i}}
		for j := range i {
			o := manifest.ID{Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprintf("map-%d-%d", i, j)}
			effect := Effect{o, kind.Effect{What: kind.Say("happens %d", i*j)}}
			if j%3 == 0 {
				effect.Risk = "is bad"
			}
			e.Effects = append(e.Effects, effect)
			e.Changes = append(e.Changes, Change{Action: diff.Added, Object: o, Diff: strings.Repeat("+"+strings.Repeat("`", j)+"\n", i*j)})
		}
		r.Environments = append(r.Environments, e)
	}
	const command, risks = "render diff", 26
	all := r.Markdown(1<<30, command)
	if strings.Contains(all, command) || strings.Count(all, "is bad") != risks {
		t.Error(all)
	}
	for limit := 400; limit < len(all); limit += 37 {
		comment := r.Markdown(limit, command)
		if len(comment) > limit {
			t.Fatalf("%d bytes of %d", len(comment), limit)
		}
		if !strings.HasPrefix(comment, Marker+"\n") || !strings.HasSuffix(comment, "`render diff -o json` all effects.\n") {
			t.Fatalf("at %d bytes: begins or ends otherwise:\n%s", limit, comment)
		}
		if opened, closed := strings.Count(comment, "<details>"), strings.Count(comment, "</details>"); opened != closed {
			t.Fatalf("at %d bytes: %d folds are opened, %d closed", limit, opened, closed)
		}
		lacks := risks - strings.Count(comment, "is bad")
		if strings.Contains(comment, "It omits "+string(kind.Count(int64(lacks), "risk"))+".") != (lacks > 0) || lacks > 0 && strings.Contains(comment, "<details>") {
			t.Fatalf("at %d bytes: omits %d risks:\n%s", limit, lacks, comment)
		}
	}
}

// The errors of a change that does not render are there, or the command that shows them.
func TestFailureFits(t *testing.T) {
	var problems []manifest.Problem
	for i := range 100 {
		problems = append(problems, manifest.Problem{File: "a.yaml", Line: i, Message: "is wrong ```` `"})
	}
	all := Failure(problems, 1<<20, "render diff")
	if strings.Contains(all, "shows all") || !strings.HasSuffix(all, "\na.yaml:99: is wrong ```` `\n`````\n") {
		t.Error(all)
	}
	if same := Failure(problems, len(all), "render diff"); same != all {
		t.Error(same)
	}
	if cut := Failure(problems, len(all)-1, "render diff"); !strings.HasSuffix(cut, "100 errors\n\n`render diff` shows all errors.\n") {
		t.Error(cut)
	}
}

func TestCommentWithoutChanges(t *testing.T) {
	r := New([]diff.EnvironmentDiff{{Name: "prod"}}, time.Now())
	if got := r.Markdown(1000, ""); got != Marker+"\nNo change to any cluster.\n" {
		t.Error(got)
	}
	encoded, err := json.Marshal(r)
	if err != nil || string(encoded) != `{"environments":[]}` {
		t.Errorf("%s %v", encoded, err)
	}
}
