//go:build e2e && !windows

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/test/network"
)

// TestReplicaTakesOverFromAbsentLeader stops the leader or cuts it off before Ats are due, for less
// than the duration of its Lease and for longer. The other replica starts the Ats that are due. An
// At that is edited meanwhile does not start when the leader is back, whether or not its start was
// recorded.
func TestReplicaTakesOverFromAbsentLeader(t *testing.T) {
	for name, test := range map[string]struct {
		cut    bool
		length time.Duration
	}{
		"stopped":      {false, 8 * time.Second},
		"stopped-long": {false, 20 * time.Second},
		"cut":          {true, 8 * time.Second},
		"cut-long":     {true, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for try, isInTime := 0, false; !isInTime && !t.Failed(); try++ {
				if try == 5 {
					t.Fatal("the machine is too slow")
				}
				t.Run(fmt.Sprintf("try-%d", try), func(t *testing.T) {
					r := newReplicas(t, fmt.Sprintf("e2e-%s-%d", name, try))
					leave := func() { must(r, r.leader.Process.Signal(syscall.SIGSTOP)) }
					comeBack := func() { must(r, r.leader.Process.Signal(syscall.SIGCONT)) }
					if test.cut {
						leave = func() { r.network.Set(network.Stall) }
						comeBack = func() { r.network.Set(network.Whole) }
					}
					isInTime = r.testAway(test.length, leave, comeBack)
				})
			}
		})
	}
}

// testAway reports whether the Ats were as the test needs them before they were due. If not, it
// tested nothing.
func (r *replicas) testAway(length time.Duration, leave, comeBack func()) (isInTime bool) {
	var keys []string
	for _, role := range slices.Concat(castNames, []string{"edited-again"}) {
		keys = append(keys, r.namespace+".recorded-"+role, r.namespace+".armed-"+role)
	}
	r.countFromZero(r.counter, keys...)
	due := time.Now().Add(20 * time.Second).Truncate(time.Second)
	r.crowd(due, 250)
	recorded := r.newCast("recorded", due)
	armed := r.newCast("armed", due.Add(2*time.Second))
	if !r.becomes(due, "armed-", isArmed) || !r.becomes(due, "recorded-", isRecorded) {
		r.Log("the starts were not on record in time")
		return false
	}
	leave()
	left := time.Now()
	recorded.change()
	armed.change()
	if time.Now().After(due) {
		r.Log("the edits took too long")
		return false
	}
	recorded.checkKept()
	armed.checkKept()

	time.Sleep(time.Until(left.Add(length)))
	comeBack()
	recorded.check()
	armed.check()
	recorded.checkReverted()
	armed.checkReverted()
	return true
}

// cast has Ats that are due at one instant, by role.
type cast struct {
	*replicas
	name string
	due  time.Time
	ats  map[string]*cnatv1alpha1.At
	pods map[string]string
}

var castNames = []string{"kept", "edited", "suspended", "removed", "put-off"}

func (r *replicas) newCast(name string, due time.Time) *cast {
	r.Helper()
	c := &cast{replicas: r, name: name, due: due, ats: map[string]*cnatv1alpha1.At{}, pods: map[string]string{}}
	for _, role := range castNames {
		c.ats[role], c.pods[role] = r.createAt(r.namespace, name+"-"+role, due)
	}
	return c
}

func (c *cast) key(role string) string { return c.namespace + "." + c.name + "-" + role }

// change edits Ats and creates their new Pods. It leaves the old Pods.
func (c *cast) change() {
	c.Helper()
	c.edit(c.ats["edited"], func(spec *cnatv1alpha1.AtSpec) { spec.Command = counting(c.key("edited-again")) })
	c.pods["edited again"] = c.createPod(c.ats["edited"])
	c.edit(c.ats["suspended"], func(spec *cnatv1alpha1.AtSpec) { spec.Suspend = true })
	must(c, c.Delete(c.Context(), c.ats["removed"]))
	c.edit(c.ats["put-off"], func(spec *cnatv1alpha1.AtSpec) { spec.Schedule = c.due.Add(time.Hour).UTC().Format(time.RFC3339) })
	c.createPod(c.ats["put-off"])
}

// checkKept checks that the Ats that are to start do so in time.
func (c *cast) checkKept() {
	c.Helper()
	for _, role := range []string{"kept", "edited again"} {
		c.Logf("%s %s: the gate opened %s after it was due", c.name, role, c.checkInTime(c.due, c.pods[role]))
	}
}

// check checks the Ats after all replicas are back.
func (c *cast) check() {
	c.Helper()
	c.awaitReason(c.namespace, c.name+"-kept", at.ReasonComplete)
	c.awaitReason(c.namespace, c.name+"-edited", at.ReasonComplete)
	c.awaitReason(c.namespace, c.name+"-suspended", at.ReasonSuspended)
	c.awaitReason(c.namespace, c.name+"-put-off", at.ReasonArmed)
	time.Sleep(2 * time.Second) // for the replica that is back
	c.checkGated(c.namespace, c.pods["edited"], c.pods["suspended"], c.pods["removed"], c.pods["put-off"])
	for role, want := range map[string]int{"kept": 1, "edited": 0, "edited-again": 1, "suspended": 0, "removed": 0, "put-off": 0} {
		c.checkStarts(c.counter, c.key(role), want)
	}
}

// checkReverted reverts an edit: an At that did not start starts now, once, and an At that ran does
// not run again.
func (c *cast) checkReverted() {
	c.Helper()
	for _, role := range []string{"edited", "edited-again", "edited"} {
		c.edit(c.ats["edited"], func(spec *cnatv1alpha1.AtSpec) { spec.Command = counting(c.key(role)) })
		c.awaitReason(c.namespace, c.name+"-edited", at.ReasonComplete)
	}
	c.checkStarts(c.counter, c.key("edited"), 1)
	c.checkStarts(c.counter, c.key("edited-again"), 1)
}

// TestReplicaTakesOverFromKilledLeader kills the leader around the time when Ats are due. The other
// replica starts them soon.
func TestReplicaTakesOverFromKilledLeader(t *testing.T) {
	for _, offset := range []time.Duration{-100 * time.Millisecond, 0, 20 * time.Millisecond, 60 * time.Millisecond} {
		t.Run(offset.String(), func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t, "e2e-killed-"+strings.TrimLeft(offset.String(), "-"))
			var names, keys []string
			for i := range 8 {
				names = append(names, fmt.Sprintf("at-%d", i))
				keys = append(keys, r.namespace+"."+names[i])
			}
			r.countFromZero(r.counter, keys...)
			due := time.Now().Add(12 * time.Second).Truncate(time.Second)
			pods := map[string]string{}
			for _, name := range names {
				_, pods[name] = r.createAt(r.namespace, name, due)
			}
			for name := range pods {
				r.awaitReason(r.namespace, name, at.ReasonArmed)
			}
			time.Sleep(time.Until(due.Add(offset)))
			must(r, r.leader.Process.Kill())
			_ = r.leader.Wait()
			var early int
			var latest time.Duration
			for _, pod := range pods {
				delay := r.checkInTime(due, pod)
				latest = max(latest, delay)
				if delay < time.Second {
					early++
				}
			}
			t.Logf("%d of %d gates opened within a second, the last one %s after it was due", early, len(pods), latest)
			for name := range pods {
				r.awaitReason(r.namespace, name, at.ReasonComplete)
				r.checkStarts(r.counter, r.namespace+"."+name, 1)
			}
		})
	}
}
