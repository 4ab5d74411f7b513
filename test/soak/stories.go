package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// story is the life of an At, turn by turn.
type story struct {
	name  string
	lead  time.Duration // from the first commit of the At until it is due
	first version       // partly; newVersion completes it
	turns []turn
}

// turn is something to do at its time: an edit of the At in git, or an act in the cluster.
type turn struct {
	when func(*soak, *trial) bool
	edit func(*trial, moment)
	act  func(*soak, *trial) error // called again after an error
}

const (
	// soon is the lead of an At that is in the cluster before it is due.
	soon = 40 * time.Second
	// ample is the lead of an At that can be changed in the cluster before it is due, despite all
	// disturbances.
	ample = 100 * time.Second
)

// newStories returns all stories, with new random times.
func newStories() []story {
	around := pastDue(rand.N(4*time.Second) - 2*time.Second)
	shortly := pastDue(-rand.N(12 * time.Second))
	away := after(rand.N(25 * time.Second))
	return []story{
		{"succeeds", soon, version{}, nil},
		{"fails", soon, version{does: fails}, nil},
		{"restarts", soon, version{does: restarts}, nil},
		{"created late", -time.Minute, version{}, nil},
		{"expired", -time.Minute, version{deadline: 10 * time.Second}, nil},
		{"short deadline", soon, version{deadline: 5 * time.Second}, nil},
		{"long deadline", soon, version{deadline: 5 * time.Minute}, nil},
		{"suspended, resumed", soon, version{suspend: true},
			[]turn{{when: pastDue(5 * time.Second), edit: (*trial).resume}}},
		{"suspended, removed", soon, version{suspend: true},
			[]turn{{when: pastDue(10 * time.Second), edit: (*trial).withdraw}}},
		{"removed", ample, version{}, []turn{{when: armed, edit: (*trial).withdraw}}},
		{"removed around due", soon, version{}, []turn{{when: around, edit: (*trial).withdraw}}},
		{"changed", ample, version{}, []turn{{when: armed, edit: change(soon)}}},
		{"changed around due", soon, version{}, []turn{{when: around, edit: change(soon)}}},
		{"changed, reverted", ample, version{}, []turn{{when: armed, edit: change(ample)},
			{when: synced, edit: (*trial).revert}}},
		{"ran, changed, reverted", soon, version{},
			[]turn{{when: done, edit: change(ample)}, {when: synced, edit: (*trial).revert}}},
		{"ran, changed, ran, reverted", soon, version{},
			[]turn{{when: done, edit: change(soon)}, {when: done, edit: (*trial).revert}}},
		{"edited by hand", ample, version{}, []turn{{when: armed, act: tamper}}},
		{"Pod deleted before", ample, version{}, []turn{{when: armed, act: deletePod}}},
		{"Pod evicted before", ample, version{}, []turn{{when: armed, act: evict}}},
		{"Pod evicted around due", soon, version{does: lingers}, []turn{{when: around, act: evict}}},
		{"Pod evicted while it runs", soon, version{does: lingers}, []turn{{when: started, act: evict}}},
		{"Pod deleted after", soon, version{}, []turn{{when: done, act: deletePod}}},
		{"suspended around due", soon, version{}, []turn{{when: around, edit: (*trial).suspend},
			{when: after(20 * time.Second), edit: (*trial).resume}}},
		{"changed while the leader is stopped", soon, version{},
			[]turn{{when: shortly, act: stop}, {when: always, edit: change(soon)}, {when: away, act: release}}},
		{"suspended while the leader is stopped", soon, version{},
			[]turn{{when: shortly, act: stop}, {when: always, edit: (*trial).suspend}, {when: away, act: release},
				{when: after(20 * time.Second), edit: (*trial).resume}}},
		{"removed while the leader is stopped", soon, version{},
			[]turn{{when: shortly, act: stop}, {when: always, edit: (*trial).withdraw}, {when: away, act: release}}},
		{"created open before", soon, version{}, []turn{{when: armed, act: createOpen}}},
		{"created open while it runs", soon, version{does: lingers}, []turn{{when: started, act: createOpen}}},
		{"created open after", soon, version{}, []turn{{when: done, act: deletePod}, {when: always, act: createOpen}}},
		{"opened late again", soon, version{}, []turn{{when: pastDue(-3 * time.Second), act: hold},
			{when: done, act: deletePod}, {when: gatedAgain, act: release}}},
	}
}

// newTrial begins a story. Two trials of five have the plainest one.
func newTrial(number int, now moment) *trial {
	all := newStories()
	chosen := all[0]
	if number%5 > 1 {
		chosen = all[(number/5*3+number%5-2)%len(all)]
	}
	t := &trial{name: fmt.Sprintf("at-%d", number), story: chosen.name, moved: now, turns: chosen.turns,
		pods: map[string]*seenPod{}}
	t.offer(t.newVersion(chosen.first, chosen.lead+rand.N(10*time.Second)), now)
	return t
}

// newVersion returns a version of an At that is due after a time. It aligns the due times of
// several Ats.
func (t *trial) newVersion(v version, lead time.Duration) *version {
	v.command = fmt.Sprintf("%s.%d", t.name, len(t.versions)+1)
	v.due = time.Now().Add(lead).Truncate(5 * time.Second)
	return &v
}

// change returns an edit of the At's command and time.
func change(lead time.Duration) func(*trial, moment) {
	return func(t *trial, from moment) { t.offer(t.newVersion(version{}, lead), from) }
}

// The times of turns.

func always(*soak, *trial) bool     { return true }
func synced(_ *soak, t *trial) bool { return t.isSynced() }

// armed reports whether the At is armed, or it is too late to wait for that.
func armed(s *soak, t *trial) bool { return t.isArmed() || pastDue(time.Second)(s, t) }

func started(s *soak, t *trial) bool {
	return t.version != nil && len(s.counter.startsOf(t.version.command)) > 0
}

// done reports whether the cluster is done with the version that git has.
func done(_ *soak, t *trial) bool { return t.isDone() }

// gatedAgain reports whether there is a new Pod behind its gate.
func gatedAgain(_ *soak, t *trial) bool {
	for _, pod := range t.pods {
		if t.version != nil && pod.command == t.version.command && !pod.gone && pod.scheduled.IsZero() {
			return true
		}
	}
	return false
}

// pastDue waits until a time after the At is due, or before if negative.
func pastDue(by time.Duration) func(*soak, *trial) bool {
	return func(_ *soak, t *trial) bool { return t.isSynced() && time.Since(t.version.due) > by }
}

// after waits for some time after the turn before.
func after(by time.Duration) func(*soak, *trial) bool {
	return func(s *soak, t *trial) bool { return s.clock.now() > t.moved+by }
}
