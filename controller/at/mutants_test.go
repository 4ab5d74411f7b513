package at

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testMutants = flag.Bool("mutants", false, "run the simulations on code with faults, which they must find")

// TestMutants puts one fault at a time into the code, and asserts that TestHistories or
// TestExplore fails by it.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.fault, " ", "_"), func(t *testing.T) {
			overlay := m.overlay(t) // which fails where the code has moved on
			if !*testMutants {
				t.Skip("it takes minutes: -mutants")
			}
			var finders []string
			for _, test := range []string{"TestExplore", "TestHistories"} {
				output, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-overlay="+overlay, "-run=^"+test+"$",
					"-explore.steps=6", "-rapid.shrinktime=1s", ".").CombinedOutput()
				if err == nil {
					continue
				}
				if strings.Contains(string(output), "build failed") {
					t.Fatalf("%s", output)
				}
				finders = append(finders, test+": "+findings(string(output)))
			}
			if len(finders) == 0 {
				t.Error("nothing finds it")
			}
			t.Log(strings.Join(finders, "\n"))
		})
	}
}

// findings returns the lines of a test's output that say what was broken.
func findings(output string) string {
	lines := finding.FindAllString(output, 2)
	return strings.Join(lines, " ")
}

var finding = regexp.MustCompile(`(failed after \d+ tests|panic after \d+ tests|explore_test.go:\d+: [^\d\n]).*`)

// mutant is code with a fault: in a file, what stands in the place of something else.
type mutant struct {
	fault        string
	file         string
	replacements []string
}

// overlay writes the file with the fault, and for the go command where that is.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	code, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(code)
	for i := 0; i < len(m.replacements); i += 2 {
		if strings.Count(text, m.replacements[i]) != 1 {
			t.Fatalf("%s has %q %d times, want once", m.file, m.replacements[i], strings.Count(text, m.replacements[i]))
		}
		text = strings.Replace(text, m.replacements[i], m.replacements[i+1], 1)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	faulty, overlay := filepath.Join(folder, filepath.Base(m.file)), filepath.Join(folder, "overlay.json")
	content, err := json.Marshal(map[string]map[string]string{"Replace": {original: faulty}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{faulty: []byte(text), overlay: content} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

var mutants = []mutant{
	{"the start is put on record after the gate is opened", "reconciler.go", []string{
		"	recorded := at\n", "	if decision.Open != nil {\n		if err := r.Server.Open(ctx, decision.Open); err != nil {\n			return err\n		}\n		decision.Open = nil\n	}\n	recorded := at\n",
	}},
	{"a status is written to whatever version of the At", "../status/apply.go", []string{"	configuration.SetResourceVersion(object.GetResourceVersion())\n", ""}},
	{"a status is written to whatever At of the name", "../status/apply.go", []string{
		"	configuration.SetUID(object.GetUID())\n	configuration.SetResourceVersion(object.GetResourceVersion())\n", "",
	}},
	{"whatever version of a Pod is opened", "server.go", []string{
		`"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},`, `"metadata": map[string]any{"uid": pod.UID},`,
	}},
	{"whatever Pod of the name is opened", "server.go", []string{
		`"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},`, `"metadata": map[string]any{},`,
	}},
	{"an earlier record is trusted", "reconciler.go", []string{"	if !justRecorded {", "	if false {"}},
	{"nothing is held", "reconciler.go", []string{"pod := decision.Hold; pod != nil", "pod := decision.Hold; pod != nil && false"}},
	{"a Pod is held after the status says so", "reconciler.go", []string{
		"	if pod := decision.Hold; pod != nil {", "	if !status.Equal(at.Status, decision.Status) {\n		if recorded, err := r.record(ctx, at, decision.Status); err != nil {\n			return err\n		} else {\n			at = recorded\n		}\n	}\n	if pod := decision.Hold; pod != nil {",
	}},
	{"a hold changes nothing", "server.go", []string{`"annotations": map[string]string{kind.HeldAnnotation: version},`, `"annotations": map[string]string{kind.HeldAnnotation: ""},`}},
	{"suspend does not hold", "decide.go", []string{"		!s.at.Spec.Suspend && !s.deadlinePassed()", "		!s.deadlinePassed()"}},
	{"the deadline does not hold", "decide.go", []string{"		!s.at.Spec.Suspend && !s.deadlinePassed()", "		!s.at.Spec.Suspend"}},
	{"what ran is not remembered", "decide.go", []string{"held == nil && mayHaveRun(s.at.Status) {", "held == nil && mayHaveRun(s.at.Status) && false {"}},
	{"what ran may run again", "decide.go", []string{"	case slices.ContainsFunc(s.ran, s.isCurrent):\n		return s.refuseRerun()\n", ""}},
	{"what is forgotten may run again", "decide.go", []string{"	case !isClaimed(s.run) && s.isForgotten():\n		return s.failForgotten()\n", ""}},
	{"what is pushed out is not remembered", "ran.go", []string{"s.forgotten = wholeSeconds(due)", "_ = due"}},
	{"an open Pod of another spec is ignored", "decide.go", []string{
		"		if s.isRendered(pod) && !isGated(pod) && registry.IsDigest(digest) && ", "		if false && s.isRendered(pod) && !isGated(pod) && registry.IsDigest(digest) && ",
	}},
	{"an open Pod of the spec is ignored", "decide.go", []string{"!isGated(&s.pods[i]) {", "!isGated(&s.pods[i]) && false {"}},
	{"of two Pods the oldest is opened", "decide.go", []string{"	case len(candidates) > 1:\n		return s.awaitPrune(candidates)\n", ""}},
	{"a lost Pod is replaced", "decide.go", []string{"	case s.mayHaveStarted() && s.findPod(s.run) == nil:\n		return s.failLost()\n", ""}},
	{"a Pod that the cache lacks is gone", "reconciler.go", []string{"	if isArmed {\n", "	if false {\n"}},
	{"a replica that stands by starts at once", "reconciler.go", []string{"	case starts && late <= 0:", "	case starts:"}},
	{"a replica that stands by never starts", "reconciler.go", []string{"	case starts && late <= 0:\n		return 0, false\n", ""}},
	{"a stale lease starts", "reconciler.go", []string{"return time.Second, starts && !r.IsFresh()", "return 0, false"}},
	{"a lease that went stale during a write starts", "reconciler.go", []string{"	if r.IsElected() && !r.IsFresh() { //", "	if false { //"}},
	{"a conflict is always of versions, and the end", "reconciler.go", []string{
		"	if !status.IsOutdated(err) {\n		return true", "	if true {\n		return !status.IsOutdated(err)",
		"		return reconcile.Result{RequeueAfter: lookAgain}, nil\n", "		return reconcile.Result{}, nil\n",
	}},
	{"a gate is opened early", "status.go", []string{"	if s.now.Before(s.due) {\n		decision.Wake", "	if s.now.Before(s.due.Add(-s.lead)) {\n		decision.Wake"}},
	{"an armed At does not wake", "status.go", []string{"		wake = s.due.Add(-s.lead)\n", ""}},
	{"a claimed At does not wake", "status.go", []string{"		decision.Wake = s.due\n", ""}},
	{"a Pod that is going is opened", "decide.go", []string{" && isGated(pod) && pod.DeletionTimestamp == nil {", " && isGated(pod) {"}},
}
