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

// jobs returns the Ats of an environment of this repository, all of them past and resumed.
func jobs(t *testing.T, environment string) string {
	t.Helper()
	content, err := os.ReadFile("../../environments/" + environment + "/jobs.yaml")
	must(t, err)
	past := regexp.MustCompile(`schedule: "20\d\d`).ReplaceAllString(string(content), `schedule: "2020`)
	return strings.ReplaceAll(past, "suspend: true", "suspend: false")
}

// A new cluster has no record of runs.
func TestNewClusterStartsNothingLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, t.TempDir())
	for environment, ats := range map[string][]string{"prod": {"price-change", "drop-old-carts"}, "staging": {"price-change"}} {
		t.Run(environment, func(t *testing.T) { testPast(w.anew(t), environment, ats) })
	}
	t.Run("orders", func(t *testing.T) { testOrders(w.anew(t)) })
	t.Run("moved namespace", func(t *testing.T) { testMovedNamespace(w.anew(t)) })
}

// testPast applies an environment whose Ats were all due long ago, and checks that none runs.
func testPast(w *world, environment string, ats []string) {
	w.sync(rendered(w.T, environment, map[string]string{"jobs.yaml": jobs(w.T, environment)}))
	stop := w.startController()
	check := func() {
		w.Helper()
		for _, at := range ats {
			w.awaitAt(at, done, ReasonDeadlineMissed)
		}
		w.checkClosed(ats...)
	}
	check()
	stop()
	for _, at := range ats { // as restored from a backup without status
		lost := w.awaitAt(at, done, ReasonDeadlineMissed)
		lost.Status = cnatv1alpha1.AtStatus{ObservedGeneration: -1}
		must(w.T, w.Status().Update(w.Context(), lost))
	}
	w.startController()
	check()
}

// testOrders creates an At, its Pod and the controller in each order. An At that was due long ago must
// not run, unless its environment allows such a late start.
func testOrders(w *world) {
	deadline, err := os.ReadFile("../../environments/prod/deadline.yaml")
	must(w.T, err)
	past := time.Now().Add(-2 * time.Hour)
	objects := func(name, more, deadline string) (ats, pods, others []*unstructured.Unstructured) {
		for _, o := range rendered(w.T, "prod", map[string]string{"jobs.yaml": anAt(name, past, more), "deadline.yaml": deadline}) {
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
	w.awaitOpen("own")

	w.checkClosed("at-first", "pod-first", "suspended")

	// A later default of the environment also applies to existing Ats.
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
	w.awaitOpen("in-time")
}

// testMovedNamespace moves Ats to another namespace. Each is a new At there, and starts unless it is too
// late, even if it ran before.
func testMovedNamespace(w *world) {
	w.startController()
	ats := anAt("past", time.Now().Add(-2*time.Hour), "") + anAt("soon", time.Now().Add(-time.Minute), "") + anAt("future", time.Now().Add(time.Hour), "")
	for _, namespace := range []string{"gatehouse-system", w.namespace} {
		w.namespace = namespace
		w.sync(rendered(w.T, "prod", map[string]string{"jobs.yaml": strings.ReplaceAll(ats, "namespace: shop", "namespace: "+namespace)}))
		w.awaitAt("past", done, ReasonDeadlineMissed)
		w.awaitAt("soon", running, ReasonRunning)
		w.awaitAt("future", pending, ReasonArmed)
		w.checkClosed("past", "future")
	}
}
