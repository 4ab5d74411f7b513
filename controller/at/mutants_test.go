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

var testMutants = flag.Bool("mutants", false, "run the simulations on faulty code; each fault must fail one of them")

// TestEachMutantFailsASimulation puts one fault at a time into the code, and asserts that it fails TestNoRandomHistoryRunsTwice or
// TestNoShortHistoryRunsTwice.
func TestEachMutantFailsASimulation(t *testing.T) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.fault, " ", "_"), func(t *testing.T) {
			overlay := m.overlay(t) // fails if the code has changed since
			if !*testMutants {
				t.Skip("set -mutants to run it; it takes minutes")
			}
			var finders []string
			for _, test := range []string{"TestNoShortHistoryRunsTwice", "TestNoRandomHistoryRunsTwice"} {
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
				t.Error("neither test fails")
			}
			t.Log(strings.Join(finders, "\n"))
		})
	}
}

// findings returns the first failures in the output of a test.
func findings(output string) string {
	lines := finding.FindAllString(output, 2)
	return strings.Join(lines, " ")
}

var finding = regexp.MustCompile(`(failed after \d+ tests|panic after \d+ tests|explore_test.go:\d+: [^\d\n]).*`)

// mutant is a fault in one file: pairs of correct and faulty code.
type mutant struct {
	fault        string
	file         string
	replacements []string
}

// overlay writes the faulty file, and returns the overlay file that gives it to the go command.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	code, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(code)
	for i := 0; i < len(m.replacements); i += 2 {
		if strings.Count(text, m.replacements[i]) != 1 {
			t.Fatalf("%s contains %q %d times, want once", m.file, m.replacements[i], strings.Count(text, m.replacements[i]))
		}
		text = strings.Replace(text, m.replacements[i], m.replacements[i+1], 1)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	faulty := filepath.Join(folder, filepath.Base(m.file))
	overlay := filepath.Join(folder, "overlay.json")
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
	{"a start is recorded after the gate is opened", "opener.go", []string{
		"	if !hasRecordedStart(at) {", "	if run := at.Status.Run; run != nil && run.FinishedTime != nil {",
		"	if err != nil || decision.Open == nil {\n", "	if pods := atPods(ctx, o, at); err == nil && decision.Open == nil && len(pods) > 0 {\n		decision.Open = pods[0]\n	}\n	if err != nil || decision.Open == nil {\n",
		"// open opens the gate", "func atPods(ctx context.Context, o Opener, at *TrimmedAt) []*TrimmedPod {\n	pods, _ := o.Server.Pods(ctx, client.ObjectKeyFromObject(at))\n	return pods\n}\n\n// open opens the gate",
	}},
	{"a status is written to any version of the At", "../status/apply.go", []string{"	u.SetResourceVersion(object.GetResourceVersion())\n", ""}},
	{"a status is written to any At with the name", "../status/apply.go", []string{
		"	u.SetUID(object.GetUID())\n	u.SetResourceVersion(object.GetResourceVersion())\n", "",
	}},
	{"any version of a Pod is opened", "server.go", []string{
		`"metadata": map[string]any{"uid": pod.GetUID(), "resourceVersion": pod.GetResourceVersion()},`, `"metadata": map[string]any{"uid": pod.GetUID()},`,
	}},
	{"any Pod with the name is opened", "server.go", []string{
		`"metadata": map[string]any{"uid": pod.GetUID(), "resourceVersion": pod.GetResourceVersion()},`, `"metadata": map[string]any{},`,
	}},
	{"a start recorded in an outdated status is trusted", "opener.go", []string{"	if version != at.ResourceVersion {", "	if version != at.ResourceVersion && false {"}},
	{"no Pod is held", "reconciler.go", []string{"err == nil && decision.Hold != nil {", "err == nil && decision.Hold != nil && false {"}},
	{"the status is written before the Pod is held", "reconciler.go", []string{
		"	if err == nil && decision.Hold != nil {\n		err = r.hold(ctx, at, m, &decision)\n	}\n", "",
		"		err = r.record(ctx, at, m, decision)\n", "		if err = r.record(ctx, at, m, decision); err == nil && decision.Hold != nil {\n			err = r.hold(ctx, at, m, &decision)\n		}\n",
	}},
	{"a start beside a refused hold is forgotten", "reconciler.go", []string{"!decision.Claim && isClaimed(*run) && run.PodUID != pod.UID {", "false {"}},
	{"a hold does not change the Pod", "server.go", []string{
		`"annotations": map[string]string{kind.HeldAnnotation: version},`, `"annotations": map[string]string{kind.HeldAnnotation: ""},`,
		"answer.Annotations[kind.HeldAnnotation] != version", "answer == nil",
	}},
	{"a standby does not hold Pods", "reconciler.go", []string{"err == nil && decision.Hold != nil {", "err == nil && decision.Hold != nil && r.IsElected() {"}},
	{"a hold that admission undoes counts", "server.go", []string{"answer.Annotations[kind.HeldAnnotation] != version", "answer == nil"}},
	{"an opening that admission undoes counts", "server.go", []string{"err == nil && trimPod(answer).isGated()", "err == nil && answer == nil"}},
	{"suspend does not hold the Pod", "decide.go", []string{"		!s.at.suspend && !s.deadlinePassed()", "		!s.deadlinePassed()"}},
	{"the deadline does not hold the Pod", "decide.go", []string{"		!s.at.suspend && !s.deadlinePassed()", "		!s.at.suspend"}},
	{"the run of an earlier spec is not remembered", "decide.go", []string{"held == nil && mayHaveRun(s.at.Status) {", "held == nil && mayHaveRun(s.at.Status) && false {"}},
	{"a spec that ran may run again", "decide.go", []string{"	case s.ranBefore():\n		return s.refuseRerun()\n", ""}},
	{"a spec due by the forgotten time may run", "decide.go", []string{"	case !isClaimed(s.run) && s.isForgotten():\n		return s.failForgotten()\n", ""}},
	{"a spec pushed out of ran does not move the forgotten time", "ran.go", []string{"s.forgotten = wholeSeconds(due)", "_ = due"}},
	{"an open Pod of another spec is ignored", "decide.go", []string{
		"		if isRendered(pod, s.at) && !pod.isGated() && registry.IsDigest(pod.digest) && ", "		if false && isRendered(pod, s.at) && !pod.isGated() && registry.IsDigest(pod.digest) && ",
	}},
	{"an open Pod of the spec is ignored", "decide.go", []string{"s.isCurrent(pod.digest) && !pod.isGated() {", "s.isCurrent(pod.digest) && !pod.isGated() && false {"}},
	{"a Pod that was not rendered is opened", "decide.go", []string{"	return pod.at == at.Name && len(pod.OwnerReferences) == 0 && pod.GenerateName == \"\" &&\n		registry.IsHashName(pod.Name, at.Name)\n", "	return true || registry.IsHashName(pod.Name, at.Name)\n"}},
	{"the oldest of two Pods is opened", "decide.go", []string{"	case len(candidates) > 1:\n		return s.awaitPrune(candidates)\n", ""}},
	{"a lost Pod is replaced", "decide.go", []string{"	case s.mayHaveStarted() && s.runPod() == nil:\n		return s.failLost()\n", ""}},
	{"a Pod missing from the cache counts as lost", "reconciler.go", []string{"	if isArmed {\n", "	if false {\n"}},
	{"a standby starts Ats at once", "reconciler.go", []string{"	case late <= 0 && (starts || isReport):", "	case starts:"}},
	{"a standby never starts Ats", "reconciler.go", []string{"late <= 0 && (starts || isReport)", "late <= 0 && isReport"}},
	{"a standby never reports", "reconciler.go", []string{"late <= 0 && (starts || isReport)", "late <= 0 && starts"}},
	{"a leader with a stale lease starts Ats", "reconciler.go", []string{"return time.Second, starts && !r.IsFresh()", "return 0, false"}},
	{"a leader opens a gate after its lease went stale", "opener.go", []string{"	if o.IsElected() && !o.IsFresh() { //", "	if false { //"}},
	{"every conflict counts as outdated, and is not retried", "reconciler.go", []string{
		"	if status.IsOutdated(err) {\n		current,", "	if status.IsOutdated(err) {\n		return false\n	}\n	if false {\n		current,",
		"		return reconcile.Result{RequeueAfter: lookAgain}, nil\n", "		return reconcile.Result{}, nil\n",
	}},
	{"a gate is opened early", "opener.go", []string{"o.Clock.Now().Before(at.due) {", "o.Clock.Now().Before(at.due.Add(-time.Second)) {", "	apierrors ", "	\"time\"\n\n	apierrors "}},
	{"the clock is ahead of the API server", "../setup/clock.go", []string{"	return earliest.Add(elapsed)\n", "	return earliest.Add(elapsed + 2*time.Second)\n"}},
	{"an armed At is not requeued", "status.go", []string{"		wake = s.at.due.Add(-s.lead)\n", ""}},
	{"an At with a recorded start is not requeued", "opener.go", []string{"		return o.requeue(at.due, at.due), nil\n", "		return reconcile.Result{}, nil\n"}},
	{"a Pod that is being deleted is opened", "decide.go", []string{" && pod.isGated() && pod.DeletionTimestamp == nil {", " && pod.isGated() {"}},
}
