package main

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// cutNetworks cuts one controller off at a time, or all of them, until ctx is done.
func (s *soak) cutNetworks(ctx context.Context) {
	cuts := []cut{reset, stall, stallAnswers, stallAsks}
	for pause(ctx, rand.N(10*time.Second)) {
		victims := s.controllers
		if rand.N(4) > 0 {
			i := rand.N(len(victims))
			victims = victims[i : i+1]
		}
		kind := cuts[rand.N(len(cuts))]
		victims = slices.Clone(victims)
		victims = slices.DeleteFunc(victims, func(c *controller) bool { return !c.network.TryLock() })
		for _, c := range victims {
			c.proxy.set(kind)
		}
		s.count("networks cut")
		pause(ctx, 500*time.Millisecond+rand.N(20*time.Second))
		for _, c := range victims {
			if rand.N(2) == 0 {
				c.proxy.set(reset) // what was on its way is lost
			}
			c.proxy.set(whole)
			c.network.Unlock()
		}
	}
}

// restartServer restarts the API server every few minutes.
func (s *soak) restartServer(ctx context.Context) {
	for pause(ctx, 20*time.Second+rand.N(2*time.Minute)) {
		out, err := exec.CommandContext(ctx, "sh", "-c", s.restart).CombinedOutput() // #nosec G204 -- the user's
		if err != nil {
			s.log("restart of the API server: %v\n%s", err, out)
			continue
		}
		s.count("API server restarts")
	}
}

// stepClock sets the wall clock forward and back, never for long.
func (s *soak) stepClock(ctx context.Context) {
	for pause(ctx, 10*time.Second+rand.N(40*time.Second)) {
		ahead := time.Second + rand.N(largestStep-time.Second)
		if rand.N(2) == 0 {
			ahead = -ahead
		}
		if err := s.clock.setAhead(ahead); err != nil {
			s.log("set the clock: %v", err)
			return
		}
		s.count("clock steps")
		pause(ctx, time.Second+rand.N(10*time.Second))
		if err := s.clock.setAhead(0); err != nil {
			s.log("set the clock back: %v", err)
		}
		s.count("clock steps")
	}
}

// What is done in the cluster, to the Pod of what git has.

func evict(s *soak, t *trial) error {
	return s.eachPod(t, func(ctx context.Context, pod *corev1.Pod) error {
		s.count("Pods evicted")
		return s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	})
}

func deletePod(s *soak, t *trial) error {
	return s.eachPod(t, func(ctx context.Context, pod *corev1.Pod) error {
		s.count("Pods deleted")
		return s.Delete(ctx, pod)
	})
}

// eachPod does something to the Pods of what git has, and takes down that it did.
func (s *soak) eachPod(t *trial, do func(context.Context, *corev1.Pod) error) error {
	if t.version == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, seen := range t.pods {
		if seen.command != t.version.command || seen.gone {
			continue
		}
		t.version.disturbs = append(t.version.disturbs, s.clock.now())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: seen.name}}
		if err := client.IgnoreNotFound(do(ctx, pod)); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps what the steady controller asks on its way, unless its network is cut
// already, and release lets it arrive: a gate that it was to open by then may be that of
// another Pod of the same name.
func hold(s *soak, t *trial) error {
	c := s.controllers[len(s.controllers)-1]
	if c.network.TryLock() {
		t.held = c
		c.proxy.set(stallAsks)
		s.count("networks cut")
	}
	return nil
}

func release(_ *soak, t *trial) error {
	if t.held != nil {
		t.held.proxy.set(whole)
		t.held.network.Unlock()
		t.held = nil
	}
	return nil
}

// tamper has the At in the cluster be due now, which git knows nothing of. Its Pod
// was not rendered from that.
func tamper(s *soak, t *trial) error {
	if t.version == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	t.version.disturbs = append(t.version.disturbs, s.clock.now())
	at := &cnatv1alpha1.At{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.name}}
	patch := `{"spec": {"schedule": "` + time.Now().UTC().Format(time.RFC3339) + `"}}`
	s.count("Ats edited by hand")
	return client.IgnoreNotFound(s.Patch(ctx, at, client.RawPatch(types.MergePatchType, []byte(patch))))
}
