package main

import (
	"context"
	"errors"
	"expvar"
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

// soak is a cluster under test, and the state of the test.
type soak struct {
	*cluster.Cluster
	options
	dir         string // of its files
	clock       *clock
	counter     *counter
	delivery    *delivery
	controllers []*controller
	webhook     *hangingWebhook // nil for none
	calm        atomic.Bool     // nothing is disturbed any more
	counts      expvar.Map      // of disturbances and the like, by name

	mutex  sync.Mutex
	trials []*trial
}

// prepare connects to the cluster, installs Gatehouse there, and makes everything that a soak needs.
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
		return errors.New("the cluster has no node that could run Pods")
	}
	if s.counter, err = newCounter(ctx, &nodes.Items[0], s.clock); err != nil {
		return fmt.Errorf("serve the counter: %w", err)
	}
	if s.hangWebhook {
		if s.webhook, err = s.newWebhook(ctx); err != nil {
			return fmt.Errorf("register the webhook: %w", err)
		}
	}
	if s.delivery, err = newDelivery(ctx, s.Cluster, s.render, s.dir, s.flux); err != nil {
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

// run disturbs the cluster for as long as the user asked, and waits until all Ats are over.
func (s *soak) run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(ctx)
	defer stopBackground()
	var group errgroup.Group
	for _, c := range s.controllers {
		group.Go(func() error { return s.keepRunning(background, c) })
	}
	group.Go(func() error { s.watch(background); return nil })
	group.Go(func() error { s.report(background); return nil })

	err := s.storm(ctx)
	if err == nil {
		err = s.settle(ctx)
	}
	stopBackground()
	return errors.Join(err, group.Wait())
}

// storm disturbs the cluster while Ats are due all the time.
func (s *soak) storm(ctx context.Context) error {
	trouble, stop := context.WithTimeout(ctx, s.duration)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { s.cutNetworks(trouble) })
	group.Go(func() { s.stopControllers(trouble) })
	if s.restart != "" {
		group.Go(func() { s.restartServer(trouble) })
	}
	if s.stepClock {
		group.Go(func() { s.setClock(trouble) })
	}
	if s.webhook != nil {
		group.Go(func() { s.hangUpdates(trouble) })
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

// settle waits until all Ats are over, but not for ever.
func (s *soak) settle(ctx context.Context) error {
	for until := s.clock.now() + 3*patience; !s.isOver() && s.clock.now() < until; {
		if err := s.round(ctx, false); err != nil {
			return err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, t := range s.trials {
		t.over = true // t.wrong has the cause
	}
	return ctx.Err()
}

func (s *soak) isOver() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return !slices.ContainsFunc(s.trials, func(t *trial) bool { return !t.over || t.version != nil })
}

// round edits the environment and delivers it to the cluster.
func (s *soak) round(ctx context.Context, more bool) error {
	const shortest = 5 * time.Second
	begin := s.clock.now()
	if err := s.delivery.write(s.edit(begin, more)); err != nil {
		return err
	}
	if err := s.delivery.deliver(ctx); err != nil {
		return err
	}
	s.count("syncs")
	end := s.clock.now()

	s.mutex.Lock()
	for _, t := range s.trials {
		t.delivered(begin, end)
	}
	s.mutex.Unlock()
	pause(ctx, shortest-(end-begin))
	return nil
}

// edit makes the edits that are due, and returns the Ats that the environment has then.
func (s *soak) edit(now moment, more bool) (ats []*cnatv1alpha1.At) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for more && float64(len(s.trials)) < s.rate*now.Seconds()+1 {
		s.trials = append(s.trials, newTrial(len(s.trials)+1, now))
	}
	for _, t := range s.trials {
		switch {
		case t.over && t.version != nil:
			t.withdraw(now)
		case t.isTurn(s) && t.turns[0].edit != nil:
			t.turns[0].edit(t, now)
			t.turns, t.moved = t.turns[1:], now
		}
		if t.version != nil {
			ats = append(ats, t.object(s.counter))
		}
	}
	return ats
}

// watch looks at the cluster every second, and disturbs it as the stories say.
func (s *soak) watch(ctx context.Context) {
	for next := s.clock.now(); pause(ctx, 200*time.Millisecond); {
		if s.clock.now() >= next {
			s.observe(ctx)
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

// act makes the changes that are due in the cluster. It is called again after an error.
func (s *soak) act(t *trial) {
	if t.isTurn(s) && t.turns[0].act != nil && t.turns[0].act(s, t) == nil {
		t.turns, t.moved = t.turns[1:], s.clock.now()
	}
}

// observe notes the state of the cluster.
func (s *soak) observe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var ats cnatv1alpha1.AtList
	var pods corev1.PodList
	if s.List(ctx, &ats, client.InNamespace(namespace)) != nil ||
		s.List(ctx, &pods, client.InNamespace(namespace)) != nil {
		return // the API server is away
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	trials := map[string]*trial{}
	for _, t := range s.trials {
		trials[t.name], t.at = t, nil
		for _, pod := range t.pods {
			pod.gone = true
		}
	}
	for i := range ats.Items {
		if t := trials[ats.Items[i].Name]; t != nil {
			t.at = &ats.Items[i]
			t.noteSuspended(s.clock.now())
		}
	}
	for i := range pods.Items {
		if t := trials[pods.Items[i].Labels[kindat.Label]]; t != nil {
			t.notePod(&pods.Items[i])
		}
	}
}

// judge decides whether an At is over: its status has agreed with its starts for a while, or has
// had enough time to.
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
	return t.version.disagreement(t.at.Status, s.counter.startsOf(t.version.command))
}

// isStuck reports whether an At has not moved on although there was time enough.
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

func (s *soak) count(event string) { s.counts.Add(event, 1) }

func (s *soak) log(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
