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
	{"a start is recorded after the gate is opened", "opener.go", []string{
		"run == nil || !isClaimed(*run) || run.FinishedTime != nil {", "run != nil && run.FinishedTime != nil {",
		"	case decision.Open == nil:\n		return reconcile.Result{}, nil\n", "	case decision.Open == nil && len(atPods(ctx, o, at)) == 0:\n		return reconcile.Result{}, nil\n	case decision.Open == nil:\n		decision.Open = &atPods(ctx, o, at)[0]\n",
		"// open opens the gate", "func atPods(ctx context.Context, o Opener, at *cnatv1alpha1.At) []corev1.Pod {\n	pods, _ := o.Server.Pods(ctx, client.ObjectKeyFromObject(at))\n	return pods\n}\n\n// open opens the gate",
		"	apierrors ", "	corev1 \"k8s.io/api/core/v1\"\n	apierrors ",
	}},
	{"a status is written to any version of the At", "../status/apply.go", []string{"	u.SetResourceVersion(object.GetResourceVersion())\n", ""}},
	{"a status is written to any At of the name", "../status/apply.go", []string{
		"	u.SetUID(object.GetUID())\n	u.SetResourceVersion(object.GetResourceVersion())\n", "",
	}},
	{"any version of a Pod is opened", "server.go", []string{
		`"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},`, `"metadata": map[string]any{"uid": pod.UID},`,
	}},
	{"any Pod of the name is opened", "server.go", []string{
		`"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},`, `"metadata": map[string]any{},`,
	}},
	{"an earlier record is trusted", "opener.go", []string{"	if version != at.ResourceVersion {", "	if false {"}},
	{"nothing is held", "reconciler.go", []string{"err == nil && decision.Hold != nil {", "err == nil && decision.Hold != nil && false {"}},
	{"a Pod is held after the status says so", "reconciler.go", []string{
		"	if err == nil && decision.Hold != nil {\n		err = r.hold(ctx, at, m, &decision)\n	}\n", "",
		"		err = r.record(ctx, at, m, decision)\n", "		if err = r.record(ctx, at, m, decision); err == nil && decision.Hold != nil {\n			err = r.hold(ctx, at, m, &decision)\n		}\n",
	}},
	{"a hold changes nothing", "server.go", []string{
		`"annotations": map[string]string{kind.HeldAnnotation: version},`, `"annotations": map[string]string{kind.HeldAnnotation: ""},`,
		"answer.Annotations[kind.HeldAnnotation] != version", "false",
	}},
	{"a standby does not hold", "reconciler.go", []string{"err == nil && decision.Hold != nil {", "err == nil && decision.Hold != nil && r.IsElected() {"}},
	{"an ignored hold counts", "server.go", []string{"answer.Annotations[kind.HeldAnnotation] != version", "false"}},
	{"an ignored opening counts", "server.go", []string{"err == nil && isGated(answer)", "err == nil && false"}},
	{"suspend does not hold", "decide.go", []string{"		!s.at.Spec.Suspend && !s.deadlinePassed()", "		!s.deadlinePassed()"}},
	{"the deadline does not hold", "decide.go", []string{"		!s.at.Spec.Suspend && !s.deadlinePassed()", "		!s.at.Spec.Suspend"}},
	{"an earlier run is not remembered", "decide.go", []string{"held == nil && mayHaveRun(s.at.Status) {", "held == nil && mayHaveRun(s.at.Status) && false {"}},
	{"a spec that ran may run again", "decide.go", []string{"	case slices.ContainsFunc(s.ran, s.isCurrent):\n		return s.refuseRerun()\n", ""}},
	{"a forgotten spec may run again", "decide.go", []string{"	case !isClaimed(s.run) && s.isForgotten():\n		return s.failForgotten()\n", ""}},
	{"a spec that is pushed out is not remembered", "ran.go", []string{"s.forgotten = wholeSeconds(due)", "_ = due"}},
	{"an open Pod of another spec is ignored", "decide.go", []string{
		"		if isRendered(pod, s.at) && !isGated(pod) && registry.IsDigest(digest) && ", "		if false && isRendered(pod, s.at) && !isGated(pod) && registry.IsDigest(digest) && ",
	}},
	{"an open Pod of the spec is ignored", "decide.go", []string{"!isGated(&s.pods[i]) {", "!isGated(&s.pods[i]) && false {"}},
	{"a Pod of any form is opened", "decide.go", []string{"	return pod.Labels[kindat.Label] == at.Name && len(pod.OwnerReferences) == 0 && pod.GenerateName == \"\" &&\n		registry.IsHashName(pod.Name, at.Name)\n", "	return true || registry.IsHashName(pod.Name, at.Name)\n"}},
	{"of two Pods the oldest is opened", "decide.go", []string{"	case len(candidates) > 1:\n		return s.awaitPrune(candidates)\n", ""}},
	{"a lost Pod is replaced", "decide.go", []string{"	case s.mayHaveStarted() && s.runPod() == nil:\n		return s.failLost()\n", ""}},
	{"a Pod that the cache lacks is gone", "reconciler.go", []string{"	if isArmed {\n", "	if false {\n"}},
	{"a standby starts at once", "reconciler.go", []string{"	case late <= 0 && (starts || isReport):", "	case starts:"}},
	{"a standby never starts", "reconciler.go", []string{"late <= 0 && (starts || isReport)", "late <= 0 && isReport"}},
	{"a standby never reports", "reconciler.go", []string{"late <= 0 && (starts || isReport)", "late <= 0 && starts"}},
	{"a stale lease starts", "reconciler.go", []string{"return time.Second, starts && !r.IsFresh()", "return 0, false"}},
	{"a lease that went stale during a write starts", "opener.go", []string{"	if o.IsElected() && !o.IsFresh() { //", "	if false { //"}},
	{"a conflict is always of versions, and the end", "reconciler.go", []string{
		"	if status.IsOutdated(err) {\n		current,", "	if status.IsOutdated(err) {\n		return false\n	}\n	if false {\n		current,",
		"		return reconcile.Result{RequeueAfter: lookAgain}, nil\n", "		return reconcile.Result{}, nil\n",
	}},
	{"a gate is opened early", "opener.go", []string{"	case m.now.Before(decision.Due):", "	case m.now.Before(decision.Due.Add(-time.Second)):", "	apierrors ", "	\"time\"\n\n	apierrors "}},
	{"the clock of the machine counts", "../setup/clock.go", []string{"	return earliest.Add(elapsed)\n", "	return earliest.Add(elapsed + 2*time.Second)\n"}},
	{"an armed At does not wake", "status.go", []string{"		wake = s.due.Add(-s.lead)\n", ""}},
	{"a claimed At does not wake", "opener.go", []string{"		return o.requeue(decision.Due, decision.Due), nil\n", "		return reconcile.Result{}, nil\n"}},
	{"a Pod that is going is opened", "decide.go", []string{" && isGated(pod) && pod.DeletionTimestamp == nil {", " && isGated(pod) {"}},
}
