// Package watchdog guards the process: it ends it before a run takes more CPU time or memory than its input needs. A
// pull request decides the work of kustomize, of a template, of CEL or of git, and a few bytes may ask for years.
// Nothing can interrupt these, and no list of expensive input is complete. So the watchdog measures the process and its
// children alone. It is armed before the first file is read, by every command, and stays armed to the end. Only what a
// run reads raises its limits: never what it makes.
package watchdog

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/gatehouse/render/manifest"
)

// Limits are what a run may take. A zero limit follows from the size of the input.
type Limits struct {
	CPU    time.Duration // of the process and its children
	Memory int64         // bytes
}

// An object takes about a millisecond of CPU time in all steps, 10 kB of memory, and 500 bytes of input. Input of less
// than smallInput bytes gets the least limits: it is the input of most repositories, and of most attacks. Environments
// share bases: a byte that another environment has read before costs a part of that, as do the objects made of it.
const (
	smallInput   = 600_000
	leastCPU     = 7 * time.Second
	leastMemory  = 800 << 20
	cpuForByte   = 40 * time.Microsecond
	memoryOfByte = 100

	cpuForShared   = 2 * time.Microsecond
	memoryOfShared = 40

	// stepsOfObject is the number of steps of an object. Small input may become manyObjects, in all environments.
	stepsOfObject = 12
	manyObjects   = 150_000
	// Small input may become manyShared bytes, and larger input some more for each of its own.
	manyShared   = 80 << 20
	sharedOfByte = 50
	// atOnce is the number of environments that a run may be in the middle of: their bytes are no measure of all.
	atOnce = 4
)

// input is what a run has read, in bytes: of all files, again by other environments, and of the names that git lists.
type input struct{ files, shared, listed int64 }

func (l Limits) of(in input) Limits {
	more := max(in.files-smallInput, 0)
	again := in.shared + in.listed
	return Limits{
		cmp.Or(l.CPU, leastCPU+time.Duration(more)*cpuForByte+time.Duration(again)*cpuForShared),
		cmp.Or(l.Memory, leastMemory+more*memoryOfByte+again*memoryOfShared),
	}
}

// usage is CPU time, the memory of heap and stacks, and the part of it that was in use at the last collection.
type usage struct {
	cpu          time.Duration
	memory, live int64
}

// run is the work of one command.
type run struct {
	input
	start, now usage
	done, all  int // environments
	steps      int64
}

// excess returns a description of the limit that a run exceeds, and the flag that raises it; nothing if it exceeds
// none. A run of many environments ends early if small input would become too many objects, or be read too often,
// unless there is a limit.
func (r *run) excess(l Limits) (description, flag string) {
	most := l.of(r.input)
	objects := r.steps / stepsOfObject * int64(r.all) / int64(max(r.done, 1))
	shared := r.shared * int64(r.all) / int64(max(r.done, 1))
	switch {
	case r.now.cpu-r.start.cpu > most.CPU:
		return fmt.Sprintf("takes over %s of CPU time", most.CPU.Round(time.Second)), "--max-cpu"
	case r.now.memory-r.start.live > most.Memory:
		return fmt.Sprintf("takes over %d MiB of memory", most.Memory>>20), "--max-memory"
	case l.CPU == 0 && r.done > atOnce && shared > manyShared+r.files*sharedOfByte:
		return fmt.Sprintf("is one of %d environments, and all would read some %d MiB", r.all, shared>>20), "--max-cpu"
	case l.CPU == 0 && r.done > 0 && r.all > 1 && objects > manyObjects+r.files:
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
	holds  int
	works  []*work // the oldest first
	step   string  // the last one
	opened string  // the last file that kustomize opened in this step
}

// work is an environment, or a part of one, that a run works on.
type work struct {
	environment, folder, step string
	part                      func() manifest.Problem // nil for an environment
}

// steps counts steps of objects since the last measurement.
var steps atomic.Int64

// Progress counts a step of an object, or of another item of a list.
func Progress() { steps.Add(1) }

// arm lets the watchdog end the process.
func arm(end func(manifest.Problem)) {
	dog.Lock()
	defer dog.Unlock()
	dog.end = end
}

// Limit sets the limits of the run.
func Limit(l Limits) {
	dog.Lock()
	defer dog.Unlock()
	dog.limits = l
}

// Again begins another run in the same process, which waited for a change of its input: its usage counts from here.
func Again() {
	dog.Lock()
	defer dog.Unlock()
	dog.run = run{start: dog.now, now: dog.now}
	dog.read = nil
}

// Hold keeps the watchdog from ending the process until release: in the middle of a write, or at work with a cluster,
// which the repository does not steer. What that takes is not part of the run's usage.
func Hold() (release func()) {
	dog.Lock()
	defer dog.Unlock()
	dog.holds++
	began := cpuTime()
	return sync.OnceFunc(func() {
		dog.Lock()
		defer dog.Unlock()
		dog.holds--
		dog.start.cpu += cpuTime() - began
	})
}

// Read adds the bytes of a file to the input of the run, once by its name. It checks the CPU time, so that no input is
// read by a run that has none left.
func Read(file string, size int) {
	dog.Lock()
	defer dog.Unlock()
	if !dog.read[file] {
		if dog.read == nil {
			dog.read = map[string]bool{}
		}
		dog.read[file] = true
		dog.files += int64(size)
	}
	dog.now.cpu = max(dog.now.cpu, cpuTime())
	checkLimits()
}

// Share adds the bytes of a file that an environment reads, whether or not another one has read it before.
func Share(size int) {
	dog.Lock()
	defer dog.Unlock()
	dog.shared += int64(size)
}

// List adds the bytes of an answer of git: names, which cost as little as bytes that were read before.
func List(size int) {
	dog.Lock()
	defer dog.Unlock()
	dog.listed += int64(size)
	dog.now.cpu = max(dog.now.cpu, cpuTime())
	checkLimits()
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

// Environment notes that the run works on an environment, with its folder, until end.
func Environment(name, folder string) (step func(doing string), end func()) {
	w := &work{environment: name, folder: folder}
	step = func(doing string) {
		dog.Lock()
		defer dog.Unlock()
		w.step = doing
		dog.opened = ""
	}
	endWork := begin(w)
	return step, func() {
		endWork()
		dog.Lock()
		defer dog.Unlock()
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
	dog.now = now
	dog.steps += steps.Swap(0)
	checkLimits()
	return dog.start.live + dog.limits.of(dog.input).Memory
}

func checkLimits() {
	description, flag := dog.excess(dog.limits)
	if description != "" && dog.end != nil && dog.holds == 0 {
		dog.end(problem(description, flag))
	}
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
	doing := cmp.Or(dog.step, "starting")
	if environment := oldest(false); environment != nil {
		doing = environment.environment + ": " + environment.step
		p.File = cmp.Or(p.File, environment.folder)
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
