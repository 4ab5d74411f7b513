//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/cluster"
	"example.com/gatehouse/test/network"
)

// openPatience is how late a gate may open if the leader is gone.
const openPatience = 5 * time.Second

// replicas is two controllers of a namespace. The network of the leader can be cut.
type replicas struct {
	*world
	namespace     string
	leader, other *exec.Cmd
	network       *network.Network
	counter       string // the address of the memcached that counts the starts of commands

	mutex  sync.Mutex
	opened map[string]time.Time // when a Pod was first seen without its gate, by name
}

// newReplicas starts two controllers, and returns when one of them leads.
func newReplicas(t *testing.T, namespace string) *replicas {
	t.Helper()
	w := newWorld(t)
	w.sync("dev")
	w.namespace(namespace)
	r := &replicas{world: w, namespace: namespace, counter: w.newCounter(), opened: map[string]time.Time{}}
	r.allowElection()
	kubeconfig := w.kubeconfig()
	var err error
	r.network, err = cluster.Reroute(context.WithoutCancel(t.Context()), kubeconfig)
	must(t, err)
	t.Cleanup(r.network.Close)
	r.leader = r.replica(kubeconfig)
	r.eventually("a replica leads", 30*time.Second, func(ctx context.Context) error {
		lease, err := w.clients.CoordinationV1().Leases(namespace).Get(ctx, "gatehouse-controller", metav1.GetOptions{})
		if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			err = errors.New("the Lease has no holder")
		}
		return err
	})
	r.other = r.replica(w.kubeconfig())
	r.watchGates()
	return r
}

// replica starts a controller with leader election.
func (r *replicas) replica(kubeconfig string) *exec.Cmd {
	r.Helper()
	return r.controller(kubeconfig, "--leader-elect", "--leader-election-namespace="+r.namespace, "--namespaces="+r.namespace)
}

// allowElection lets controllers have their Lease in the namespace.
func (r *replicas) allowElection() {
	r.Helper()
	const name = "gatehouse-controller"
	role, err := r.clients.RbacV1().Roles("gatehouse-system").Get(r.Context(), name, metav1.GetOptions{})
	must(r, err)
	own := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: role.Rules}
	_, err = r.clients.RbacV1().Roles(r.namespace).Create(r.Context(), own, metav1.CreateOptions{})
	must(r, err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "gatehouse-system", Name: name}},
	}
	_, err = r.clients.RbacV1().RoleBindings(r.namespace).Create(r.Context(), binding, metav1.CreateOptions{})
	must(r, err)
}

// newCounter returns the address of the memcached that counts the starts of commands.
func (w *world) newCounter() string {
	w.Helper()
	var ready string
	w.eventually("a memcached is ready", time.Minute, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace("shop"), client.MatchingLabels{"cache.example.com/memcached": "memcached-sample"}); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
					ready = pod.Name
					return nil
				}
			}
		}
		return fmt.Errorf("none of %d Pods is", len(pods.Items))
	})
	return w.memcachedIn(ready)
}

// watchGates notes the times at which gates open, until the test ends.
func (r *replicas) watchGates() {
	r.Helper()
	watcher, err := r.Watch(r.Context(), &corev1.PodList{}, client.InNamespace(r.namespace))
	must(r, err)
	go func() {
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || len(pod.Spec.SchedulingGates) > 0 {
				continue
			}
			r.mutex.Lock()
			if r.opened[pod.Name].IsZero() {
				r.opened[pod.Name] = time.Now()
			}
			r.mutex.Unlock()
		}
	}()
}

// crowd creates many suspended Ats that are due at an instant. The controller then records the starts
// of all Ats that are due by that instant up to ten seconds earlier.
func (r *replicas) crowd(due time.Time, size int) {
	r.Helper()
	for i := range size {
		must(r, r.Create(r.Context(), &cnatv1alpha1.At{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: fmt.Sprintf("crowd-%d", i)},
			Spec:       cnatv1alpha1.AtSpec{Schedule: due.UTC().Format(time.RFC3339), Command: "exit 1", Suspend: true},
		}))
	}
}

// becomes waits until the statuses of Ats are as a test needs them, and reports whether they are so
// before an instant.
func (r *replicas) becomes(before time.Time, prefix string, is func(cnatv1alpha1.AtStatus) bool) bool {
	r.Helper()
	at := &cnatv1alpha1.At{}
	for _, name := range castNames {
		for must(r, r.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: prefix + name}, at)); !is(at.Status); {
			if time.Now().After(before) {
				return false
			}
			time.Sleep(200 * time.Millisecond)
			must(r, r.Get(r.Context(), client.ObjectKeyFromObject(at), at))
		}
	}
	return time.Now().Before(before)
}

// isArmed reports whether an At waits for its Pod to be due.
func isArmed(status cnatv1alpha1.AtStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, "Ready") && status.Phase == cnatv1alpha1.AtPending
}

// isRecorded reports whether the start of an At is on record.
func isRecorded(status cnatv1alpha1.AtStatus) bool {
	return status.Run != nil && status.Run.OpenedTime != nil
}

// openedAfter waits until the gate of a Pod is open, and returns the delay since an instant.
func (r *replicas) openedAfter(due time.Time, pod string) (delay time.Duration) {
	r.Helper()
	r.eventually("the gate of "+pod+" is open", 30*time.Second, func(context.Context) error {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		opened, ok := r.opened[pod]
		if !ok {
			return errors.New("it is closed")
		}
		delay = opened.Sub(due)
		return nil
	})
	return delay
}

// checkInTime checks that the gate of a Pod opens when it is due, or soon after.
func (r *replicas) checkInTime(due time.Time, pod string) time.Duration {
	r.Helper()
	delay := r.openedAfter(due, pod)
	if delay < 0 || delay > openPatience {
		r.Errorf("the gate of %s opened %s after it was due", pod, delay)
	}
	return delay
}

// checkGated checks that the gates of Pods are closed.
func (w *world) checkGated(namespace string, pods ...string) {
	w.Helper()
	for _, name := range pods {
		pod := &corev1.Pod{}
		must(w, w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pod))
		if len(pod.Spec.SchedulingGates) != 1 || pod.Spec.SchedulingGates[0].Name != kindat.Gate {
			w.Errorf("the gate of %s is open", name)
		}
	}
}

// edit changes the spec of an At.
func (w *world) edit(at *cnatv1alpha1.At, change func(*cnatv1alpha1.AtSpec)) {
	w.Helper()
	w.eventually("edit "+at.Name, 10*time.Second, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(at), at); err != nil {
			return err
		}
		change(&at.Spec)
		return w.Update(ctx, at)
	})
}
