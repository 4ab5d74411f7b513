package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/cluster"
)

// soak is a cluster and all that happens there.
type soak struct {
	*cluster.Cluster
	options
	dir         string // of its files
	clock       *clock
	counter     *counter
	delivery    *delivery
	controllers []*controller
	calm        atomic.Bool // nothing is in the way any more
	printed     progress
	counts      tally

	mutex  sync.Mutex
	trials []*trial
	rounds []time.Duration
	writes writes
}

// prepare connects to the cluster and makes ready all that a soak needs there.
func (s *soak) prepare(ctx context.Context) (err error) {
	if s.Cluster, err = cluster.Connect(); err != nil {
		return err
	}
	for _, folder := range []string{"_cluster", "gatehouse-system"} {
		if err := s.Sync(ctx, "dev", folder); err != nil {
			return fmt.Errorf("install Gatehouse: %w", err)
		}
	}
	var nodes corev1.NodeList
	if err := s.List(ctx, &nodes); err != nil {
		return err
	}
	if len(nodes.Items) == 0 {
		return fmt.Errorf("the cluster has no node: Pods are to run")
	}
	if s.counter, err = newCounter(ctx, &nodes.Items[0], s.clock); err != nil {
		return fmt.Errorf("serve the counter: %w", err)
	}
	if s.delivery, err = newDelivery(ctx, s.Cluster, s.render, s.dir, s.flux); err != nil {
		return err
	}
	if err := s.refreshToken(ctx); err != nil {
		return err
	}
	for _, name := range []string{"one", "two", "three"} {
		c, err := s.newController(ctx, name)
		if err != nil {
			return err
		}
		s.controllers = append(s.controllers, c)
	}
	return nil
}

// run makes trouble for as long as it is to, waits until all that was begun is over,
// and returns what came of it.
func (s *soak) run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	var group errgroup.Group
	for _, c := range s.controllers {
		group.Go(func() error { return s.keepRunning(background, c) })
	}
	for _, loop := range []func(context.Context){s.watch, s.measure, s.keepToken} {
		group.Go(func() error { loop(background); return nil })
	}

	err := s.storm(ctx)
	if err == nil {
		err = s.settle(ctx)
	}
	stopBackground()
	return errors.Join(err, group.Wait())
}

// storm makes trouble while Ats are due all the time.
func (s *soak) storm(ctx context.Context) error {
	trouble, stop := context.WithTimeout(ctx, s.duration)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { s.cutNetworks(trouble) })
	group.Go(func() { s.stopControllers(trouble) })
	if s.restart != "" {
		group.Go(func() { s.restartServer(trouble) })
	}
	if s.step {
		group.Go(func() { s.stepClock(trouble) })
	}
	var err error
	for err == nil && trouble.Err() == nil {
		err = s.round(ctx, true)
	}
	stop()
	group.Wait()
	s.calm.Store(true)
	return err
}

// settle lets all that was begun come to its end.
func (s *soak) settle(ctx context.Context) error {
	for until := s.clock.now() + 3*patience; !s.isOver() && s.clock.now() < until; {
		if err := s.round(ctx, false); err != nil {
			return err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, t := range s.trials {
		t.over = true // of one that is not, the status says what is wrong
	}
	return ctx.Err()
}

func (s *soak) isOver() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return !slices.ContainsFunc(s.trials, func(t *trial) bool { return !t.over || t.version != nil })
}

// round edits the environment and takes it to the cluster.
func (s *soak) round(ctx context.Context, more bool) error {
	const shortest = 5 * time.Second
	begin := s.clock.now()
	if err := s.delivery.write(s.edit(begin, more)); err != nil {
		return err
	}
	if err := s.delivery.deliver(ctx); err != nil {
		return err
	}
	end := s.clock.now()

	s.mutex.Lock()
	for _, t := range s.trials {
		t.delivered(begin, end)
	}
	s.rounds = append(s.rounds, end-begin)
	s.mutex.Unlock()
	pause(ctx, shortest-(end-begin))
	return nil
}

// edit returns the Ats that the environment is to have, after whatever it is time for.
func (s *soak) edit(now moment, more bool) map[string]client.Object {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for more && float64(len(s.trials)) < s.rate*now.Seconds()+1 {
		s.trials = append(s.trials, s.tell(len(s.trials)+1, now))
	}
	ats := map[string]client.Object{}
	for _, t := range s.trials {
		switch {
		case t.over && t.version != nil:
			t.withdraw(now)
		case !t.over && len(t.turns) > 0 && t.turns[0].edit != nil && t.turns[0].when(s, t):
			t.turns[0].edit(s, t, now)
			t.turns, t.moved = t.turns[1:], now
		}
		if t.version != nil {
			ats[t.name] = t.object(s.counter)
		}
	}
	return ats
}

// watch looks at the cluster every second and does there what it is time for.
func (s *soak) watch(ctx context.Context) {
	for next := s.clock.now(); pause(ctx, 200*time.Millisecond); {
		if s.clock.now() >= next {
			s.look(ctx)
			next = s.clock.now() + time.Second
		}
		s.mutex.Lock()
		for _, t := range s.trials {
			s.act(t)
			s.judge(t)
			if t.over {
				_ = release(s, t)
			}
		}
		s.mutex.Unlock()
	}
}

// act does in the cluster what it is time for; what fails is tried again.
func (s *soak) act(t *trial) {
	if t.over || len(t.turns) == 0 || t.turns[0].act == nil || !t.turns[0].when(s, t) {
		return
	}
	if err := t.turns[0].act(s, t); err == nil {
		t.turns, t.moved = t.turns[1:], s.clock.now()
	}
}

// look takes down what the cluster has.
func (s *soak) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var ats cnatv1alpha1.AtList
	var pods corev1.PodList
	if s.List(ctx, &ats, client.InNamespace(namespace)) != nil || s.List(ctx, &pods, client.InNamespace(namespace)) != nil {
		return // the API server is away
	}
	byName := map[string]*cnatv1alpha1.At{}
	for i := range ats.Items {
		byName[ats.Items[i].Name] = &ats.Items[i]
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	trials := map[string]*trial{}
	for _, t := range s.trials {
		t.at = byName[t.name]
		t.seeSuspended(s.clock.now())
		for _, pod := range t.pods {
			pod.gone = true
		}
		trials[t.name] = t
	}
	for i := range pods.Items {
		if t := trials[pods.Items[i].Labels[kindat.Label]]; t != nil {
			t.see(&pods.Items[i])
		}
	}
}

// judge decides whether an At is over: its status says what happened, and went on to
// say so for a while, or had all the time that it could want.
func (s *soak) judge(t *trial) {
	const linger = 20 * time.Second
	if t.over || len(t.turns) > 0 && !s.isStuck(t) {
		return
	}
	if t.version == nil {
		t.over = true // nothing of it is left to judge
		return
	}
	now := s.clock.now()
	t.wrong = s.disagreement(t)
	switch {
	case t.wrong != "" || len(t.turns) > 0:
		t.settled = 0
		t.over = s.isStuck(t)
	case t.settled == 0:
		t.settled = now
	default:
		t.over = now > t.settled+linger
	}
}

func (s *soak) disagreement(t *trial) string {
	switch {
	case !t.isSynced():
		return "not synced"
	case t.at == nil:
		return "the cluster does not have it"
	case t.at.Status.ObservedGeneration != t.at.Generation:
		return "the status is of another generation"
	}
	return t.version.disagreement(t.at.Status, s.counter.of(t.version.command))
}

// isStuck says whether nothing came of an At although there was time enough.
func (s *soak) isStuck(t *trial) bool {
	since := t.moved
	if t.version != nil {
		if !t.isSynced() {
			return false
		}
		w := t.version.window()
		since = max(since, s.clock.history().reaches(t.version.due, max(w.offered.to, w.resumed.to)))
	}
	return s.clock.now() > since+patience+30*time.Second
}

func (s *soak) count(what string) { s.counts.add(what) }

func (s *soak) log(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
