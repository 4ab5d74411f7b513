package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// story is what is done to an At, turn by turn.
type story struct {
	name string
	// lead is how long the At is in git before it is due, at first.
	lead time.Duration
	// first is the first version, but for what all have.
	first version
	turns []turn
}

// turn is something to do once it is time for it: to an At in git, or in the cluster.
type turn struct {
	when func(*soak, *trial) bool
	edit func(*soak, *trial, moment)
	act  func(*soak, *trial) error
}

// soon is the lead of what is to be in the cluster before it is due, and ample that of
// what is to change there before it is due, in spite of whatever happens meanwhile.
const (
	soon  = 40 * time.Second
	ample = 100 * time.Second
)

// stories returns all of them. What is random in them is drawn anew.
func stories() []story {
	around, shortly, away := pastDue(rand.N(4*time.Second)-2*time.Second), pastDue(-rand.N(12*time.Second)), after(rand.N(25*time.Second))
	return []story{
		{"succeeds", soon, version{}, nil},
		{"fails", soon, version{does: fails}, nil},
		{"restarts", soon, version{does: restarts}, nil},
		{"created late", -time.Minute, version{}, nil},
		{"expired", -time.Minute, version{deadline: 10 * time.Second}, nil},
		{"short deadline", soon, version{deadline: 5 * time.Second}, nil},
		{"long deadline", soon, version{deadline: 5 * time.Minute}, nil},
		{"suspended, resumed", soon, version{suspend: true}, []turn{{when: pastDue(5 * time.Second), edit: resume}}},
		{"suspended, removed", soon, version{suspend: true}, []turn{{when: pastDue(10 * time.Second), edit: withdraw}}},
		{"removed", ample, version{}, []turn{{when: armed, edit: withdraw}}},
		{"removed around due", soon, version{}, []turn{{when: around, edit: withdraw}}},
		{"changed", ample, version{}, []turn{{when: armed, edit: change(soon)}}},
		{"changed around due", soon, version{}, []turn{{when: around, edit: change(soon)}}},
		{"changed, reverted", ample, version{}, []turn{{when: armed, edit: change(ample)}, {when: synced, edit: revert}}},
		{"ran, changed, reverted", soon, version{}, []turn{{when: done, edit: change(ample)}, {when: synced, edit: revert}}},
		{"ran, changed, ran, reverted", soon, version{}, []turn{{when: done, edit: change(soon)}, {when: done, edit: revert}}},
		{"edited by hand", ample, version{}, []turn{{when: armed, act: tamper}}},
		{"Pod deleted before", ample, version{}, []turn{{when: armed, act: deletePod}}},
		{"Pod evicted before", ample, version{}, []turn{{when: armed, act: evict}}},
		{"Pod evicted around due", soon, version{does: lingers}, []turn{{when: around, act: evict}}},
		{"Pod evicted while it runs", soon, version{does: lingers}, []turn{{when: started, act: evict}}},
		{"Pod deleted after", soon, version{}, []turn{{when: done, act: deletePod}}},
		{"suspended around due", soon, version{}, []turn{{when: around, edit: suspend}, {when: after(20 * time.Second), edit: resume}}},
		{"changed while the leader is stopped", soon, version{}, []turn{{when: shortly, act: stop}, {when: always, edit: change(soon)}, {when: away, act: release}}},
		{"suspended while the leader is stopped", soon, version{}, []turn{{when: shortly, act: stop}, {when: always, edit: suspend}, {when: away, act: release}, {when: after(20 * time.Second), edit: resume}}},
		{"removed while the leader is stopped", soon, version{}, []turn{{when: shortly, act: stop}, {when: always, edit: withdraw}, {when: away, act: release}}},
		{"created open before", soon, version{}, []turn{{when: armed, act: createOpen}}},
		{"created open while it runs", soon, version{does: lingers}, []turn{{when: started, act: createOpen}}},
		{"created open after", soon, version{}, []turn{{when: done, act: deletePod}, {when: always, act: createOpen}}},
		{"opened late again", soon, version{}, []turn{{when: pastDue(-3 * time.Second), act: hold}, {when: done, act: deletePod}, {when: gatedAgain, act: release}}},
	}
}

// tell begins a story. Two of five are the plainest.
func (s *soak) tell(number int, now moment) *trial {
	all := stories()
	chosen := all[0]
	if number%5 > 1 {
		chosen = all[(number/5*3+number%5-2)%len(all)]
	}
	t := &trial{name: fmt.Sprintf("at-%d", number), kind: chosen.name, born: now, moved: now, turns: chosen.turns, pods: map[string]*seenPod{}}
	first := chosen.first
	t.offer(s.newVersion(t, first, chosen.lead+rand.N(10*time.Second)), now)
	return t
}

// newVersion is a version of an At that is due after a time, together with others.
func (s *soak) newVersion(t *trial, v version, lead time.Duration) *version {
	v.command = fmt.Sprintf("%s.%d", t.name, len(t.versions)+1)
	v.due = time.Now().Add(lead).Truncate(5 * time.Second)
	return &v
}

// When it is time.

func synced(_ *soak, t *trial) bool { return t.isSynced() }
func done(_ *soak, t *trial) bool   { return t.isDone() }

// armed is also true where it is too late for that.
func armed(s *soak, t *trial) bool { return t.isArmed() || pastDue(time.Second)(s, t) }

func started(s *soak, t *trial) bool {
	return t.version != nil && len(s.counter.of(t.version.command)) > 0
}

// gatedAgain says whether there is a Pod again that was not let go.
func gatedAgain(_ *soak, t *trial) bool {
	for _, pod := range t.pods {
		if t.version != nil && pod.command == t.version.command && !pod.gone && pod.scheduled.IsZero() {
			return true
		}
	}
	return false
}

func pastDue(by time.Duration) func(*soak, *trial) bool {
	return func(_ *soak, t *trial) bool { return t.isSynced() && time.Since(t.version.due) > by }
}

func always(*soak, *trial) bool { return true }

// after is true for a while after the turn before.
func after(by time.Duration) func(*soak, *trial) bool {
	return func(s *soak, t *trial) bool { return s.clock.now() > t.moved+by }
}

// What is done in git.

func withdraw(_ *soak, t *trial, from moment) { t.withdraw(from) }
func suspend(_ *soak, t *trial, from moment)  { t.suspend(from) }
func resume(_ *soak, t *trial, from moment)   { t.resume(from) }
func revert(_ *soak, t *trial, from moment)   { t.offer(t.versions[0], from) }

// change has the At run another command at another time.
func change(lead time.Duration) func(*soak, *trial, moment) {
	return func(s *soak, t *trial, from moment) { t.offer(s.newVersion(t, version{}, lead), from) }
}
