package watchdog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"example.com/gatehouse/render/manifest"
)

func TestRunExceedsItsLimits(t *testing.T) {
	const mib = 1 << 20
	for name, test := range map[string]struct {
		run    run
		limits Limits
		want   string // the flag
	}{
		"nothing":                       {},
		"the least CPU time":            {run: run{now: usage{cpu: 7 * time.Second}}},
		"more CPU time":                 {run: run{now: usage{cpu: 8 * time.Second}}, want: "--max-cpu"},
		"more, of a large input":        {run: run{input: input{files: 1_000_000}, now: usage{cpu: 20 * time.Second}}},
		"much more, of a large input":   {run: run{input: input{files: 1_000_000}, now: usage{cpu: 24 * time.Second}}, want: "--max-cpu"},
		"more, and allowed":             {run: run{now: usage{cpu: 8 * time.Second}}, limits: Limits{CPU: 9 * time.Second}},
		"more, that a command paid for": {run: run{start: usage{cpu: 30 * time.Second}, now: usage{cpu: 34 * time.Second}}},
		"shared input":                  {run: run{input: input{shared: 4_000_000}, now: usage{cpu: 14 * time.Second}}},
		"more than shared input needs":  {run: run{input: input{shared: 4_000_000}, now: usage{cpu: 16 * time.Second}}, want: "--max-cpu"},
		"names of files":                {run: run{input: input{listed: 800_000}, now: usage{cpu: 8 * time.Second}}},
		"more than names of files need": {run: run{input: input{listed: 800_000}, now: usage{cpu: 10 * time.Second}}, want: "--max-cpu"},
		"the least memory":              {run: run{now: usage{memory: 800 * mib}}},
		"more memory":                   {run: run{now: usage{memory: 801 * mib}}, want: "--max-memory"},
		"more memory, of a large input": {run: run{input: input{files: 20_000_000}, now: usage{memory: 2000 * mib}}},
		"more memory, and allowed":      {run: run{now: usage{memory: 900 * mib}}, limits: Limits{Memory: 1000 * mib}},
		"more memory than at first":     {run: run{start: usage{live: 300 * mib}, now: usage{memory: 1000 * mib}}},
		"25 environments":               {run: run{done: 6, all: 25, steps: 6 * 12_000, now: usage{cpu: 7 * time.Second}}},
		"600 environments":              {run: run{done: 6, all: 600, steps: 6 * 12_000, now: usage{cpu: time.Second}}, want: "--max-cpu"},
		"600 environments, and allowed": {run: run{done: 6, all: 600, steps: 6 * 12_000, now: usage{cpu: 4 * time.Second}}, limits: Limits{CPU: 5 * time.Second}},
		"600 environments of files":     {run: run{input: input{files: 1_000_000}, done: 6, all: 600, steps: 6 * 12_000, now: usage{cpu: 10 * time.Second}}},
		"600 environments of a base":    {run: run{input: input{files: 500_000, shared: 2_500_000}, done: 5, all: 600}, want: "--max-cpu"},
		"20 environments of a base":     {run: run{input: input{files: 500_000, shared: 2_500_000}, done: 5, all: 20}},
		"600 environments, at first":    {run: run{all: 600, steps: 12_000, now: usage{cpu: time.Second}}},
	} {
		description, flag := test.run.excess(test.limits)
		if flag != test.want || (description == "") != (flag == "") {
			t.Errorf("%s: %q, %q, want %q", name, description, flag, test.want)
		}
	}
}

// watched arms the watchdog of a run with a limit of CPU time, and returns its ends.
func watched(t *testing.T, cpu time.Duration) *[]manifest.Problem {
	t.Helper()
	ended := &[]manifest.Problem{}
	arm(func(p manifest.Problem) { *ended = append(*ended, p) })
	Limit(Limits{CPU: cpu})
	t.Cleanup(func() {
		arm(nil)
		Limit(Limits{})
		dog.now = usage{}
		Again()
	})
	return ended
}

func TestProblemNamesTheOldestWork(t *testing.T) {
	ended := watched(t, time.Second)
	_, done := Environment("dev", "environments/dev")
	check(usage{cpu: time.Second})
	done()
	step, done := Environment("prod", "environments/prod")
	defer done()
	step("building")
	defer Part(func() manifest.Problem {
		return manifest.Problem{File: "environments/prod/a.yaml", Line: 3, Message: "chart a"}
	})()
	defer Part(func() manifest.Problem { return manifest.Problem{Message: "later"} })()
	if len(*ended) > 0 {
		t.Fatalf("ends with %s", *ended)
	}
	check(usage{cpu: 2 * time.Second})
	const want = "environments/prod/a.yaml:3: prod: building: chart a: takes over 1s of CPU time: reduce its work or, if you trust it, raise --max-cpu"
	if len(*ended) != 1 || (*ended)[0].String() != want {
		t.Errorf("ends with %s, want %s", *ended, want)
	}
}

// What an environment takes counts for the run: ten environments have one limit.
func TestEnvironmentsShareOneLimit(t *testing.T) {
	ended := watched(t, 5*time.Second)
	for i := range 10 {
		_, done := Environment(fmt.Sprint(i), "")
		check(usage{cpu: time.Duration(i) * time.Second})
		done()
	}
	if len(*ended) != 4 { // from 6 seconds on
		t.Errorf("ends %d times", len(*ended))
	}
}

func TestOnlyInputRaisesTheLimits(t *testing.T) {
	before := Limits{}.of(dog.input)
	for range 1_000_000 {
		Progress()
	}
	check(usage{})
	if now := (Limits{}).of(dog.input); now != before {
		t.Errorf("objects raise the limits from %v to %v", before, now)
	}
	Read("a", smallInput)
	Read("a", smallInput)
	Read("b", 1_000_000)
	if now := (Limits{}).of(dog.input); now.CPU != before.CPU+1_000_000*cpuForByte {
		t.Errorf("two files raise the limit from %s to %s", before.CPU, now.CPU)
	}
	Again()
}

func TestWritesAreNotCutAndDoNotCount(t *testing.T) {
	ended := watched(t, time.Second)
	release := Hold()
	check(usage{cpu: time.Hour})
	if len(*ended) > 0 {
		t.Fatal("ends a run that writes")
	}
	release()
	release() // does nothing
	check(usage{cpu: time.Hour})
	if len(*ended) != 1 {
		t.Error("does not end a run after its write")
	}
}

func TestReadingWithoutTimeLeftEndsTheRun(t *testing.T) {
	ended := watched(t, 1)
	Read("a", 1)
	if len(*ended) != 1 {
		t.Error("reads on")
	}
}

func TestChildrenCount(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	before := cpuTime()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := Child(cmd)
	for cpuTime()-before < 100*time.Millisecond { // ends only if it counts while it runs
		time.Sleep(10 * time.Millisecond)
	}
	killChildren()
	_ = cmd.Wait()
	done()
	if counted := cpuTime() - before; counted < 50*time.Millisecond {
		t.Errorf("counts %s of a child that has ended", counted)
	}
}

// Git starts programs that write on when it is gone. They hold its output open.
func TestGroupsEndAsAWhole(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS == "windows" {
		t.Skip(err)
	}
	for name, end := range map[string]func(cancel func()){
		"with the context": func(cancel func()) { cancel() },
		"with the process": func(func()) { killChildren() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		before := cpuTime()
		cmd := exec.CommandContext(ctx, "sh", "-c", "sleep 60 & echo started; while :; do :; done")
		Lead(cmd)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		done := Helper(cmd)
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
		end(cancel)
		if _, err := io.Copy(io.Discard, out); err != nil { // returns once all of the group are gone
			t.Error(err)
		}
		_ = cmd.Wait()
		done()
		cancel()
		if used := cpuTime() - before; used > 40*time.Millisecond {
			t.Errorf("%s: counts %s of a helper", name, used)
		}
	}
}

// A child that waits long for a processor, or for a pipe, may end between two measurements.
func TestEndedChildrenCountTheirCPUTimeAlone(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	if used := cpuTimeOf(cmd.Process.Pid, time.Now().Add(-time.Hour)); runtime.GOOS == "linux" && used > time.Second {
		t.Errorf("counts %s", used)
	}
}

func TestScratchOfKilledProcessesIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if runtime.GOOS == "windows" {
		t.Skip("no TMPDIR")
	}
	mine, remove, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	abandoned := filepath.Join(os.TempDir(), scratchPrefix+"1")
	if err := os.MkdirAll(filepath.Join(abandoned, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(abandoned, scratchLock), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, removeOther, err := Scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer removeOther()
	if _, err := os.Stat(abandoned); err == nil {
		t.Error("the folder of a process that was killed stays")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error("the folder of a running process goes:", err)
	}
	remove()
	if _, err := os.Stat(mine); err == nil {
		t.Error("a removed folder stays")
	}
}
