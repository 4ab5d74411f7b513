package main

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/test/cluster"
	"example.com/gatehouse/test/network"
)

// cutNetworks cuts off one controller, or all, again and again until ctx is done.
func (s *soak) cutNetworks(ctx context.Context) {
	cuts := []network.Cut{network.Reset, network.Stall, network.StallAnswers, network.StallRequests}
	for pause(ctx, rand.N(10*time.Second)) {
		victims := s.controllers
		if rand.N(4) > 0 {
			i := rand.N(len(victims))
			victims = victims[i : i+1]
		}
		kind := cuts[rand.N(len(cuts))]
		victims = slices.DeleteFunc(slices.Clone(victims), func(c *controller) bool { return !c.cutting.TryLock() })
		for _, c := range victims {
			c.network.Set(kind)
		}
		s.count("networks cut")
		pause(ctx, 500*time.Millisecond+rand.N(20*time.Second))
		for _, c := range victims {
			if rand.N(2) == 0 {
				c.network.Set(network.Reset) // loses requests in flight
			}
			c.network.Set(network.Whole)
			c.cutting.Unlock()
		}
	}
}

// stopControllers stops one controller, usually the leader, again and again until ctx is done.
func (s *soak) stopControllers(ctx context.Context) {
	for pause(ctx, rand.N(20*time.Second)) {
		c := s.leader()
		if rand.N(4) == 0 {
			c = s.controllers[rand.N(len(s.controllers))]
		}
		if goOn := c.stop(); goOn != nil {
			s.count("controllers stopped")
			pause(ctx, time.Second+rand.N(39*time.Second))
			goOn()
		}
	}
}

// restartServer restarts the API server every few minutes.
func (s *soak) restartServer(ctx context.Context) {
	for pause(ctx, 20*time.Second+rand.N(2*time.Minute)) {
		out, err := exec.CommandContext(ctx, "sh", "-c", s.restart).CombinedOutput() // #nosec G204 -- the user names it
		if err != nil {
			s.log("restart of the API server: %v\n%s", err, out)
			continue
		}
		s.count("API server restarts")
	}
}

// setClock sets the wall clock forward or back for a short time, again and again until ctx is done.
func (s *soak) setClock(ctx context.Context) {
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

// The acts of stories. They concern the version that git has.

func evict(s *soak, t *trial) error {
	return s.disturbPods(t, func(ctx context.Context, pod *corev1.Pod) error {
		s.count("Pods evicted")
		return s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	})
}

func deletePod(s *soak, t *trial) error {
	return s.disturbPods(t, func(ctx context.Context, pod *corev1.Pod) error {
		s.count("Pods deleted")
		return s.Delete(ctx, pod)
	})
}

// disturbPods disturbs the Pods of the version, and notes the moment.
func (s *soak) disturbPods(t *trial, do func(context.Context, *corev1.Pod) error) error {
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

// createOpen creates the Pod without its gate, as a tool does that copies the Pod from the cluster
// after its gate was opened.
func createOpen(s *soak, t *trial) error {
	if t.version == nil || t.at == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	pods, err := cluster.Rendered(t.at, s.Scheme(), gatehouse.Kinds)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(pods[0].Object, "spec", "schedulingGates")
	switch err := s.Create(ctx, pods[0]); {
	case err == nil:
		t.letIn = true
	case apierrors.IsForbidden(err):
		s.count("Pods without a gate refused")
	default:
		return err
	}
	return nil
}

// hold holds the requests of the leader back, unless its network is cut already. When release lets
// a request to open a gate through, there may be another Pod of the same name.
func hold(s *soak, t *trial) error {
	c := s.leader()
	if c.cutting.TryLock() {
		c.network.Set(network.StallRequests)
		t.release = func() { c.network.Set(network.Whole); c.cutting.Unlock() }
		s.count("networks cut")
	}
	return nil
}

// stop stops the leader.
func stop(s *soak, t *trial) error {
	if t.release = s.leader().stop(); t.release != nil {
		s.count("controllers stopped")
	}
	return nil
}

// release lets the controller go on that hold or stop affected.
func release(_ *soak, t *trial) error {
	if t.release != nil {
		t.release()
		t.release = nil
	}
	return nil
}

// tamper edits the At in the cluster so that it is due now. Its Pod was not rendered from that.
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
