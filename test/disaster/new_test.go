package disaster

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	. "example.com/gatehouse/controller/at"
)

const (
	pending = cnatv1alpha1.AtPending
	running = cnatv1alpha1.AtRunning
	done    = cnatv1alpha1.AtDone
)

// jobs are the Ats of an environment of this repository as they are once all of them are
// past, and resumed.
func jobs(t *testing.T, environment string) string {
	t.Helper()
	content, err := os.ReadFile("../../environments/" + environment + "/jobs.yaml")
	must(t, err)
	past := regexp.MustCompile(`schedule: "20\d\d`).ReplaceAllString(string(content), `schedule: "2020`)
	return strings.ReplaceAll(past, "suspend: true", "suspend: false")
}

// A new cluster that gets an environment whose Ats are all past runs none of them.
func TestNewCluster(t *testing.T) {
	for environment, ats := range map[string][]string{"prod": {"price-change", "drop-old-carts"}, "staging": {"price-change"}} {
		t.Run(environment, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			w.sync(rendered(t, environment, map[string]string{"jobs.yaml": jobs(t, environment)}))
			stop := w.startController()
			check := func() {
				t.Helper()
				for _, at := range ats {
					w.awaitAt(at, done, ReasonDeadlineMissed)
				}
				w.checkGates(true, ats...)
			}
			check()
			stop()
			for _, at := range ats { // as a backup without status brings it
				lost := w.awaitAt(at, done, ReasonDeadlineMissed)
				lost.Status = cnatv1alpha1.AtStatus{ObservedGeneration: -1}
				must(t, w.Status().Update(t.Context(), lost))
			}
			w.startController()
			check()
		})
	}
}

// Whether an At, its Pod or the controller is first, nothing that is past runs, but for what
// an environment lets start as late as that.
func TestOrders(t *testing.T) {
	deadline, err := os.ReadFile("../../environments/prod/deadline.yaml")
	must(t, err)
	w := newWorld(t, t.TempDir())
	past := time.Now().Add(-2 * time.Hour)
	objects := func(name, more, deadline string) (ats, pods, others []*unstructured.Unstructured) {
		for _, o := range rendered(t, "prod", map[string]string{"jobs.yaml": anAt(name, past, more), "deadline.yaml": deadline}) {
			switch o.GetKind() {
			case "At":
				ats = append(ats, o)
			case "Pod":
				pods = append(pods, o)
			default:
				others = append(others, o)
			}
		}
		return ats, pods, others
	}
	ats, pods, others := objects("at-first", "", string(deadline))
	w.sync(others)
	w.startController()
	w.sync(ats)
	w.awaitAt("at-first", done, ReasonDeadlineMissed)
	w.sync(pods)

	ats, pods, _ = objects("pod-first", "", string(deadline))
	w.sync(pods)
	w.sync(ats)
	w.awaitAt("pod-first", done, ReasonDeadlineMissed)

	ats, pods, _ = objects("suspended", ", suspend: true", string(deadline))
	w.sync(ats)
	w.sync(pods)
	w.awaitAt("suspended", done, ReasonDeadlineMissed)
	ats, _, _ = objects("suspended", "", string(deadline))
	w.sync(ats) // resumed
	w.awaitAt("suspended", done, ReasonDeadlineMissed)

	ats, pods, _ = objects("own", ", startingDeadlineSeconds: 86400", string(deadline))
	w.sync(ats)
	w.sync(pods)
	w.awaitAt("own", running, ReasonRunning)
	w.checkGates(false, "own")

	w.checkGates(true, "at-first", "pod-first", "suspended")

	// What the environment says later is for Ats that are there, too.
	week := strings.Replace(string(deadline), "value: 3600", "value: 604800", 1)
	ats, pods, others = objects("late", ", suspend: true", week)
	w.sync(others)
	w.sync(ats)
	w.sync(pods)
	w.awaitAt("late", pending, ReasonSuspended)
	ats, _, _ = objects("late", ", suspend: true", string(deadline))
	w.sync(ats)
	w.awaitAt("late", done, ReasonDeadlineMissed)

	ats, pods, _ = objects("in-time", "", week)
	w.sync(ats)
	w.sync(pods)
	w.awaitAt("in-time", running, ReasonRunning)
	w.checkGates(false, "in-time")
}
