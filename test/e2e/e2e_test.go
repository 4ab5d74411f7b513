//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/test/cluster"
)

// TestDevBecomesReady syncs dev and checks its statuses.
func TestDevBecomesReady(t *testing.T) {
	w := newWorld(t)
	w.sync("dev")
	w.controller(w.kubeconfig())

	at := w.awaitDone("shop", "example-at")
	if code := at.Status.Run.ExitCode; code == nil || *code != 0 {
		t.Errorf("exit code of the At: %v", code)
	}
	if logs := w.logs("shop", at.Status.Run.PodName); !slices.Equal(logs, []string{"YAY"}) {
		t.Errorf("the command printed %q", logs)
	}
	w.isCurrent(at)

	cache := w.readyMemcached("memcached-sample", "")
	node := cache.Status.Nodes[0]
	address := w.memcachedIn(node)
	if got := w.memcached(address, "set greeting 0 0 5\r\nhello\r\nget greeting\r\n"); got != "STORED\r\nVALUE greeting 0 5\r\nhello\r\nEND\r\n" {
		t.Errorf("memcached answered %q", got)
	}
	must(t, w.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: node}}))
	w.isCurrent(w.readyMemcached("memcached-sample", node))
}

// TestCommandIsNotExpanded prints text that Kubernetes expands elsewhere, as a shell gets it.
func TestCommandIsNotExpanded(t *testing.T) {
	w := newWorld(t)
	w.sync("dev")
	w.controller(w.kubeconfig())
	w.namespace("e2e-command")
	w.createAt("e2e-command", "literal", time.Now(), func(spec *cnatv1alpha1.AtSpec) {
		spec.Env = []corev1.EnvVar{{Name: "CURRENCY", Value: `EUR"; echo injected; "`}}
		spec.Command = `printf '[%s]\n' '$ $$ $$$ $(CURRENCY) $(date) $(' "$CURRENCY" "${CURRENCY}" "$(echo sub)" "$((1+1))"` +
			"\r\n\techo $$ \"ü\"\n"
	})
	at := w.awaitDone("e2e-command", "literal")
	const value = `[EUR"; echo injected; "]`
	want := []string{"[$ $$ $$$ $(CURRENCY) $(date) $(]", value, value, "[sub]", "[2\r]", "1 ü"}
	if logs := w.logs("e2e-command", at.Status.Run.PodName); !slices.Equal(logs, want) {
		t.Errorf("the command printed\n%q, want\n%q", logs, want)
	}
}

// awaitDone waits until an At is DONE.
func (w *world) awaitDone(namespace, name string) *cnatv1alpha1.At {
	w.Helper()
	at := &cnatv1alpha1.At{}
	w.eventually(name+" is DONE", 2*time.Minute, func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, at)
		if err == nil && at.Status.Phase != cnatv1alpha1.AtDone {
			err = fmt.Errorf("status: %+v", at.Status)
		}
		return err
	})
	return at
}

// awaitReason waits until the status of an At has a reason.
func (w *world) awaitReason(namespace, name, reason string) {
	w.Helper()
	at := &cnatv1alpha1.At{}
	w.eventually(name+" is "+reason, 2*time.Minute, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, at); err != nil {
			return err
		}
		if ready := meta.FindStatusCondition(at.Status.Conditions, "Ready"); ready == nil || ready.Reason != reason || at.Status.ObservedGeneration != at.Generation {
			return fmt.Errorf("generation %d, status: %+v", at.Generation, at.Status)
		}
		return nil
	})
}

// readyMemcached waits until a Memcached is Ready without the Pod that was deleted.
func (w *world) readyMemcached(name, gone string) *cachev1alpha1.Memcached {
	w.Helper()
	cache := &cachev1alpha1.Memcached{}
	w.eventually("Memcached is Ready", 2*time.Minute, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, cache); err != nil {
			return err
		}
		s := cache.Status
		ready := slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == "Ready" && c.Status == metav1.ConditionTrue })
		if !ready || len(s.Nodes) != int(cache.Spec.Size) || slices.Contains(s.Nodes, gone) {
			return fmt.Errorf("status: %+v", s)
		}
		return nil
	})
	return cache
}

// isCurrent checks that kstatus, which GitOps tools use to wait, reports an object as current.
func (w *world) isCurrent(object client.Object) {
	w.Helper()
	gvk, err := w.GroupVersionKindFor(object)
	must(w, err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	must(w, err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	result, err := kstatus.Compute(u)
	must(w, err)
	if result.Status != kstatus.CurrentStatus {
		w.Errorf("kstatus of %s %s: %s: %s", gvk.Kind, object.GetName(), result.Status, result.Message)
	}
}

// TestKilledControllersStartEachCommandOnce has many Ats due while it kills two controllers, without
// leader election, again and again, and restarts the API server with the command in
// E2E_RESTART_APISERVER. Each command counts its start in a memcached.
func TestKilledControllersStartEachCommandOnce(t *testing.T) {
	const ats, over = 60, 60 * time.Second
	w := newWorld(t)
	w.sync("dev")
	kubeconfig := w.kubeconfig()
	w.namespace("e2e-kill")
	first := w.controller(kubeconfig)
	node := w.readyMemcached("memcached-sample", "").Status.Nodes[0]
	counter := w.memcachedIn(node)
	_ = first.Process.Kill()
	_ = first.Wait()

	begin := time.Now().Add(10 * time.Second).Truncate(time.Second)
	due, keys := map[string]time.Time{}, []string{}
	for i := range ats {
		name := fmt.Sprintf("at-%d", i)
		keys = append(keys, "e2e-kill."+name)
		due[name] = begin.Add(over * time.Duration(i) / ats).Truncate(time.Second)
		w.createAt("e2e-kill", name, due[name])
	}
	w.countFromZero(counter, keys...)
	w.killControllers(kubeconfig, begin.Add(over))
	w.controller(kubeconfig)
	counter = w.memcachedIn(node) // the first did not outlive the API server

	for name := range due {
		w.awaitDone("e2e-kill", name)
		w.checkStarts(counter, "e2e-kill."+name, 1)
		w.ranOnceInTime(name, due[name])
	}
}

// createAt creates an At and its Pod, and returns the At and the name of the Pod.
func (w *world) createAt(namespace, name string, due time.Time, change ...func(*cnatv1alpha1.AtSpec)) (*cnatv1alpha1.At, string) {
	w.Helper()
	at := w.newAt(namespace, name, due, change...)
	must(w, w.Create(w.Context(), at))
	return at, w.createPod(at)
}

// newAt returns an At whose command counts its start and prints the time.
func (w *world) newAt(namespace, name string, due time.Time, change ...func(*cnatv1alpha1.AtSpec)) *cnatv1alpha1.At {
	at := &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cnatv1alpha1.AtSpec{
			Schedule:      due.UTC().Format(time.RFC3339),
			Command:       counting(namespace + "." + name),
			Image:         "busybox:1.37",
			RestartPolicy: corev1.RestartPolicyNever,
		},
	}
	for _, change := range change {
		change(&at.Spec)
	}
	return at
}

// createPod creates the rendered Pod of an At, and returns its name.
func (w *world) createPod(at *cnatv1alpha1.At) string {
	w.Helper()
	pods, err := cluster.Rendered(at, w.Scheme(), gatehouse.Kinds)
	must(w, err)
	must(w, w.Create(w.Context(), pods[0]))
	return pods[0].GetName()
}

// counting returns a command that prints the time of its start, and counts it under a key.
func counting(key string) string {
	return fmt.Sprintf(`date +%%s; printf 'incr %s 1\r\nquit\r\n' | nc memcached-sample.shop.svc.cluster.local 11211`, key)
}

// countFromZero sets the counters under keys to zero.
func (w *world) countFromZero(counter string, keys ...string) {
	w.Helper()
	var commands strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&commands, "set %s 0 0 1\r\n0\r\n", key)
	}
	w.memcached(counter, commands.String())
}

// checkStarts checks the number of starts of a command.
func (w *world) checkStarts(counter, key string, want int) {
	w.Helper()
	if got := w.memcached(counter, "get "+key+"\r\n"); !strings.Contains(got, fmt.Sprintf("\r\n%d\r\n", want)) {
		w.Errorf("%s is to start %d times: its counter is %q", key, want, got)
	}
}

// killControllers runs two controllers until an instant, and kills each after a short time.
func (w *world) killControllers(kubeconfig string, until time.Time) {
	w.Helper()
	restartAt := time.Now().Add(time.Until(until) / 2)
	kills := 0
	for time.Now().Before(until) {
		one, two := w.controller(kubeconfig), w.controller(kubeconfig)
		for _, victim := range []*exec.Cmd{one, two} {
			time.Sleep(300*time.Millisecond + rand.N(2*time.Second))
			_ = victim.Process.Kill()
			_ = victim.Wait()
			kills++
		}
		if command := os.Getenv("E2E_RESTART_APISERVER"); command != "" && time.Now().After(restartAt) {
			out, err := exec.Command("sh", "-c", command).CombinedOutput()
			w.Logf("restart of the API server: %v %s", err, out)
			restartAt = until.Add(time.Hour) // once
		}
	}
	w.Logf("killed %d controllers", kills)
}

// ranOnceInTime checks the time that the only Pod of an At printed.
func (w *world) ranOnceInTime(name string, due time.Time) {
	w.Helper()
	var pods corev1.PodList
	must(w, w.List(w.Context(), &pods, client.InNamespace("e2e-kill"), client.MatchingLabels{kindat.Label: name}))
	if len(pods.Items) != 1 {
		w.Errorf("%s has %d Pods", name, len(pods.Items))
		return
	}
	lines := w.logs("e2e-kill", pods.Items[0].Name)
	started, err := strconv.ParseInt(strings.TrimSpace(lines[0]), 10, 64)
	if err != nil || started < due.Unix() {
		w.Errorf("%s was due at %d and printed %q", name, due.Unix(), lines)
	}
}
