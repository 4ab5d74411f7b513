package at

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
)

// Types of effects of Ats.
const (
	RunAgain        = "runAgain"
	RunMissed       = "runMissed"
	RunDone         = "runDone"
	DeadlineChanged = "deadlineChanged"
)

// run is the one run of an At.
type run struct {
	cnatv1alpha1.AtSpec
	due         time.Time
	pod, digest string // name and digest of the Pod; empty without a Pod
	started     bool   // the live At has a recorded start
}

// review returns the effect of a change on the run of an At.
func review(c kind.Change[cnatv1alpha1.At]) []kind.Effect {
	var was, is *unstructured.Unstructured // Pods
	for _, child := range c.Children {
		if child.Before != nil && child.Before.GetKind() == "Pod" {
			was = child.Before
		}
		if child.After != nil && child.After.GetKind() == "Pod" {
			is = child.After
		}
	}
	before := newRun(c.Before, was)
	after := newRun(c.After, is)
	e := reviewRun(before, after, c.Now)
	if e.Type == "" {
		return nil
	}
	e.IsUnknown = isAnother(before, after)
	old := overrides(c.Before, was)
	isOverridden := false
	for _, said := range overrides(c.After, is) {
		e.What += "; " + said
		if !slices.Contains(old, said) {
			isOverridden = true
		}
	}
	switch {
	case isOverridden && e.Risk != "":
		e.Risk += "; its Pod differs from the spec"
	case isOverridden:
		e.Risk = "its Pod differs from the spec"
	}
	return []kind.Effect{e}
}

// isAnother reports whether another program runs, or none.
func isAnother(before, after *run) bool {
	return before == nil || after == nil || before.Command != after.Command || before.Image != after.Image
}

// overrides describes the programs of a Pod that differ from the spec of its At.
func overrides(at *cnatv1alpha1.At, rendered *unstructured.Unstructured) (said []kind.Sentence) {
	if at == nil || rendered == nil {
		return nil
	}
	is := &pod.Read(rendered).Spec
	hasCommand := false
	for _, p := range pod.Programs(is) {
		if p.Name != CommandContainer || p.Role != "container" {
			said = append(said, "an override adds: "+p.Say())
			continue
		}
		hasCommand = true
		if words := slices.Concat(p.Command, p.Args); !slices.Equal(words, command(at.Spec)) {
			said = append(said, kind.Say("an override changes its command to %s", strings.Join(words, " ")))
		}
		if at.Spec.Image != "" && p.Image != at.Spec.Image {
			said = append(said, kind.Say("an override changes its image to %s", p.Image))
		}
		for _, h := range p.Hooks() {
			said = append(said, "an override adds a hook: it "+h.Say())
		}
	}
	if !hasCommand {
		said = append(said, "an override removes its command")
	}
	const unset = "default"
	account := cmp.Or(is.ServiceAccountName, is.DeprecatedServiceAccount, unset)
	if account != cmp.Or(at.Spec.ServiceAccountName, unset) {
		said = append(said, kind.Say("an override changes its ServiceAccount to %s", account))
	}
	return said
}

// newRun returns the run of an At with its Pod; nil for nil.
func newRun(at *cnatv1alpha1.At, rendered *unstructured.Unstructured) *run {
	if at == nil {
		return nil
	}
	r := &run{AtSpec: at.Spec}
	r.due, _ = Schedule(at.Spec) // a rendered At has a valid schedule
	if rendered != nil {
		r.pod = rendered.GetName()
		r.digest = rendered.GetAnnotations()[kind.DigestAnnotation]
		r.Image = cmp.Or(pod.Container(pod.Read(rendered), CommandContainer).Image, r.Image)
		r.started = hasStarted(at.Status, r.digest)
	}
	return r
}

func hasStarted(status cnatv1alpha1.AtStatus, digest string) bool {
	isRun := status.Run != nil && status.Run.Digest == digest && status.Phase != cnatv1alpha1.AtPending
	return digest != "" && (isRun || slices.Contains(status.Ran, digest))
}

// deadline returns the starting deadline in seconds; 0 for none.
func (r *run) deadline() int64 { return ptr.Deref(r.StartingDeadlineSeconds, 0) }

func (r *run) isDue(now time.Time) bool { return !now.Before(r.due) }

// isMissed reports whether the starting deadline is past.
func (r *run) isMissed(now time.Time) bool {
	return r.deadline() > 0 && now.After(Deadline(r.due, r.deadline()))
}

// presumablyRan reports whether the run was due and not suspended.
func (r *run) presumablyRan(now time.Time) bool { return r != nil && r.isDue(now) && !r.Suspend }

// reviewRun returns the effect on a run. A review of git does not know the cluster, and presumes that
// due runs ran.
func reviewRun(before, after *run, now time.Time) kind.Effect {
	switch {
	case after == nil && before.presumablyRan(now):
		return kind.Effect{Type: RunDone,
			What: kind.Say("is removed: it was due %s; if it is still running, it is stopped", before.Schedule)}
	case after == nil && before.Suspend:
		return kind.Effect{Type: kind.RunCanceled,
			What: kind.Say("does not run any more at %s: %s", before.Schedule, before.Command)}
	case after == nil:
		return kind.Effect{Type: kind.RunCanceled,
			What: kind.Say("does not run any more at %s: %s", before.Schedule, before.Command),
			Risk: "its work is not done"}
	case after.started:
		return kind.Effect{}
	case before != nil && before.digest == after.digest:
		return reviewSame(before, after, now)
	}
	return reviewNew(before, after, now)
}

// reviewNew returns the effect of a new At, or of another command or time.
func reviewNew(before, after *run, now time.Time) kind.Effect {
	ran := before.presumablyRan(now)
	switch {
	case after.isMissed(now):
		return kind.Effect{Type: RunMissed, What: kind.Say("does not run: %s", after.Command),
			Risk: kind.Say("it was to start within %s of %s: that is past", kind.Count(after.deadline(), "second"),
				after.Schedule)}
	case after.Suspend:
		return kind.Effect{Type: kind.RunSuspended,
			What: kind.Say("is suspended, and would run at %s: %s", after.Schedule, after.Command)}
	case after.isDue(now) && ran:
		return kind.Effect{Type: RunAgain, What: kind.Say("runs again, at once: %s", after.Command),
			Risk: kind.Say("it was due %s and presumably ran: as it is changed, it runs once more", before.Schedule)}
	case after.isDue(now):
		return kind.Effect{Type: kind.RunAtOnce, What: kind.Say("runs at once: %s", after.Command),
			Risk: kind.Say("its time is past: %s", after.Schedule)}
	case ran:
		return kind.Effect{Type: RunAgain, What: kind.Say("runs again at %s: %s", after.Schedule, after.Command),
			Time: &after.due,
			Risk: kind.Say("it was due %s and presumably ran", before.Schedule)}
	}
	return planned(before, after)
}

// planned returns the effect of a future run and its difference.
func planned(before, after *run) kind.Effect {
	e := kind.Effect{Type: kind.RunPlanned, Time: &after.due}
	switch {
	case before == nil:
		e.What = kind.Say("runs at %s: %s", after.Schedule, after.Command)
		e.Fields = []string{"spec.schedule"}
		if isWhole(e.What) {
			e.Fields = append(e.Fields, "spec.command")
		}
	case !before.due.Equal(after.due):
		e.What = kind.Say("runs at %s instead of %s", after.Schedule, before.Schedule)
		e.Fields = []string{"spec.schedule"}
	case before.Command != after.Command:
		was, is := kind.SayBoth(before.Command, after.Command)
		e.What = kind.Say("runs at %s: %s instead of %s", after.Schedule, is, was)
		if isWhole(e.What) {
			e.Fields = []string{"spec.command"}
		}
	case before.Image != after.Image:
		const defaultImage = kind.Sentence("the default image")
		was, is := kind.SayBoth(before.Image, after.Image)
		if before.Image == "" {
			was = defaultImage
		} else if after.Image == "" {
			is = defaultImage
		}
		e.What = kind.Say("runs at %s in %s instead of %s", after.Schedule, is, was)
	default:
		e.What = kind.Say("its waiting Pod is replaced; runs at %s", after.Schedule)
	}
	return e
}

// isWhole reports whether a sentence has its values in full: Say marks a cut.
func isWhole(s kind.Sentence) bool { return !strings.Contains(string(s), "…") }

// reviewSame returns the effect of a change that keeps the run, such as a suspension.
func reviewSame(before, after *run, now time.Time) kind.Effect {
	missed := kind.Say("the starting deadline after %s is past", after.Schedule)
	isMissed := after.isMissed(now)
	isResumed := before.Suspend && !after.Suspend
	switch {
	case isResumed && (isMissed || before.isMissed(now)):
		return kind.Effect{Type: RunMissed, What: "is resumed, and does not run", Risk: missed}
	case isResumed && after.isDue(now):
		return kind.Effect{Type: kind.RunAtOnce, What: kind.Say("is resumed and runs at once: %s", after.Command),
			Risk: kind.Say("its time is past: %s", after.Schedule)}
	case isResumed:
		return kind.Effect{Type: kind.RunPlanned,
			What: kind.Say("is resumed: runs at %s: %s", after.Schedule, after.Command), Time: &after.due}
	case before.Suspend && isMissed && !before.isMissed(now):
		return kind.Effect{Type: RunMissed, What: "does not run when it is resumed", Risk: missed}
	case after.isDue(now): // it ran and does not run again, or it stays suspended
		return kind.Effect{}
	case after.Suspend && !before.Suspend:
		return kind.Effect{Type: kind.RunSuspended,
			What: kind.Say("is suspended: does not run at %s: %s", after.Schedule, after.Command)}
	case before.pod != after.pod:
		return planned(before, after)
	}
	return kind.Effect{}
}

// reviewCRD returns the effect of another default of startingDeadlineSeconds.
func reviewCRD(c kind.Change[unstructured.Unstructured]) []kind.Effect {
	was := defaultDeadline(c.Before)
	is := defaultDeadline(c.After)
	if was == is {
		return nil
	}
	e := kind.Effect{Type: DeadlineChanged,
		What: kind.Say("an At without a starting deadline of its own starts %s instead of %s", latest(is), latest(was))}
	if is == 0 {
		e.Risk = "a new cluster, or one restored from a backup, would run again all that is past"
	}
	return []kind.Effect{e}
}

// latest describes the latest start of an At with a starting deadline; 0 for none.
func latest(seconds int64) kind.Sentence {
	if seconds == 0 {
		return "however late"
	}
	return kind.Say("at most %s late", kind.Count(seconds, "second"))
}
