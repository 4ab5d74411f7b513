// Package watchdog ends the process before a run takes more CPU time or memory than its input needs. A pull request
// decides the work of kustomize, of a template or of CEL, and a few bytes may ask for years. Nothing can interrupt
// these, and no list of expensive input is complete. So the watchdog measures the process alone.
package watchdog

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/gatehouse/render/manifest"
)

// Limits are what a run may take until it makes progress. A zero limit follows from the size of the input.
type Limits struct {
	CPU    time.Duration
	Memory int64 // bytes
}

// An object takes about a millisecond of CPU time in all steps, 10 kB of memory, and 500 bytes of input. Input of less
// than smallInput bytes gets the least limits: it is the input of most environments, and of most attacks.
const (
	smallInput   = 600_000
	leastCPU     = 7 * time.Second
	leastMemory  = 800 << 20
	cpuForByte   = 40 * time.Microsecond
	memoryOfByte = 100

	// cpuForStep is many times the CPU time of a step of one object.
	cpuForStep = 1500 * time.Microsecond

	// stepsOfObject is the number of steps of an object. Small input may become manyObjects, in all environments.
	stepsOfObject = 12
	manyObjects   = 250_000
)

// of returns the limits of an input of some bytes.
func (l Limits) of(input int64) Limits {
	more := max(input-smallInput, 0)
	return Limits{
		cmp.Or(l.CPU, leastCPU+time.Duration(more)*cpuForByte),
		cmp.Or(l.Memory, leastMemory+more*memoryOfByte),
	}
}

// usage is the CPU time of the process, the memory of its heap and stacks, and the part that was in use at the last
// collection.
type usage struct {
	cpu          time.Duration
	memory, live int64
}

// run is the work of one command.
type run struct {
	input int64 // bytes of its files
	// start is the usage at the start, and last when an environment was last done. before is the usage that progress
	// has paid for.
	start, last, before, now usage
	done, all                int // environments
	steps                    int64
}

// advance measures a run that has made some steps since the last time.
func (r *run) advance(now usage, steps int64) {
	r.now = now
	r.steps += steps
	r.before.cpu = min(r.before.cpu+time.Duration(steps)*cpuForStep, now.cpu)
}

// excess returns a description of the limit that a run exceeds, and the flag that raises it; nothing if it exceeds
// none. A run of many environments ends early if small input would become too many objects, unless there is a limit.
func (r *run) excess(l Limits) (description, flag string) {
	most := l.of(r.input)
	objects := r.steps / stepsOfObject * int64(r.all) / int64(max(r.done, 1))
	switch {
	case r.now.cpu-r.before.cpu > most.CPU:
		return fmt.Sprintf("takes over %s of CPU time", most.CPU.Round(time.Second)), "--max-cpu"
	case r.now.memory-r.before.live > most.Memory:
		return fmt.Sprintf("takes over %d MiB of memory", most.Memory>>20), "--max-memory"
	case l.CPU == 0 && r.done > 0 && r.now.cpu-r.start.cpu > most.CPU && objects > manyObjects+r.input:
		return fmt.Sprintf("is one of %d environments, and all would have some %d objects", r.all, objects), "--max-cpu"
	}
	return "", ""
}

// dog is the watchdog of the process.
var dog struct {
	sync.Mutex
	run
	limits Limits
	end    func(manifest.Problem) // nil unless it is armed
	read   map[string]bool        // files
	works  []*work                // the oldest first
	step   string                 // the last one
	opened string                 // the last file that kustomize opened in this step
}

// work is an environment, or a part of one, that a run works on.
type work struct {
	environment, step string
	part              func() manifest.Problem // nil for an environment
}

// steps counts steps of objects since the last measurement.
var steps atomic.Int64

// Progress counts a step of an object, or of another item of a list.
func Progress() { steps.Add(1) }

// Arm begins a run. The watchdog calls end, which ends the process, with the problem of a run that exceeds its limits.
func Arm(l Limits, end func(manifest.Problem)) {
	dog.Lock()
	defer dog.Unlock()
	dog.run = run{start: dog.now, last: dog.now, before: dog.now, now: dog.now}
	dog.limits, dog.end, dog.read = l, end, map[string]bool{}
}

// Disarm ends a run. A writer calls it first: once it returns, the watchdog cuts no write in the middle.
func Disarm() {
	dog.Lock()
	defer dog.Unlock()
	dog.end = nil
}

// Read adds a file to the input of the run, once.
func Read(file string, size int) {
	dog.Lock()
	defer dog.Unlock()
	if dog.end != nil && !dog.read[file] {
		dog.read[file] = true
		dog.input += int64(size)
	}
}

// Open notes that kustomize opens a file.
func Open(file string) {
	dog.Lock()
	defer dog.Unlock()
	dog.opened = file
}

// Expect sets the number of environments of the run.
func Expect(environments int) {
	dog.Lock()
	defer dog.Unlock()
	dog.all = environments
}

// Step names the step of the run.
func Step(doing string) {
	dog.Lock()
	defer dog.Unlock()
	dog.step = doing
}

// Environment notes that the run works on an environment, until end.
func Environment(name string) (step func(doing string), end func()) {
	w := &work{environment: name}
	step = func(doing string) {
		dog.Lock()
		defer dog.Unlock()
		w.step, dog.opened = doing, ""
	}
	endWork := begin(w)
	dog.Lock()
	defer dog.Unlock()
	dog.before = usage{cpu: max(dog.before.cpu, dog.last.cpu), live: dog.last.live}
	return step, func() {
		endWork()
		dog.Lock()
		defer dog.Unlock()
		dog.last = dog.now
		dog.done++
	}
}

// Part notes that the run works on a part of an environment, until end. The function returns its file and line, its
// object, or its name as the message. The watchdog may call it at any time.
func Part(of func() manifest.Problem) (end func()) { return begin(&work{part: of}) }

func begin(w *work) (end func()) {
	dog.Lock()
	defer dog.Unlock()
	dog.works = append(dog.works, w)
	return func() {
		dog.Lock()
		defer dog.Unlock()
		dog.works = slices.DeleteFunc(dog.works, func(other *work) bool { return other == w })
	}
}

// check ends the process if the run exceeds its limits. It returns the memory that the run may have.
func check(now usage) (memory int64) {
	dog.Lock()
	defer dog.Unlock()
	dog.advance(now, steps.Swap(0))
	if dog.end == nil {
		return noLimit
	}
	if description, flag := dog.excess(dog.limits); description != "" {
		dog.end(problem(description, flag))
	}
	return dog.before.live + dog.limits.of(dog.input).Memory
}

// problem returns the problem of a run, at the oldest work: the others go on.
func problem(description, flag string) (p manifest.Problem) {
	oldest := func(isPart bool) *work {
		i := slices.IndexFunc(dog.works, func(w *work) bool { return (w.part != nil) == isPart })
		if i < 0 {
			return nil
		}
		return dog.works[i]
	}
	if part := oldest(true); part != nil {
		p = part.part()
	} else if dog.opened != "" {
		p.Message = "after opening " + dog.opened
	}
	doing := dog.step
	if environment := oldest(false); environment != nil {
		doing = environment.environment + ": " + environment.step
		p.File = cmp.Or(p.File, path.Join("environments", environment.environment))
	}
	for _, more := range []string{p.Message, description} {
		if more != "" {
			doing += ": " + more
		}
	}
	p.Code = manifest.LimitExceeded
	p.Message = fmt.Sprintf("%s: reduce its work or, if you trust it, raise %s", doing, flag)
	return p
}
