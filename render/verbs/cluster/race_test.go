package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventually waits for what takes moments.
func (w *world) eventually(what string, is func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s: in vain", what)
		}
	}
}

// process applies a text in a process of its own.
func (w *world) process(text string) *exec.Cmd {
	w.Helper()
	dir := w.TempDir()
	config, file := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "objects.yaml")
	w.must(writeAdminConfig(server.Admin, config))
	w.must(os.WriteFile(file, []byte(strings.ReplaceAll(text, "NAME", w.name)), 0o600))
	cmd := exec.CommandContext(w.ctx, os.Args[0], config, file)
	cmd.Env = append(os.Environ(), asProcess+"="+w.name)
	return cmd
}

// many returns ConfigMaps c<from> to c<to-1>.
func many(from, to int, value string) string {
	var text strings.Builder
	for i := from; i < to; i++ {
		text.WriteString(configMap(fmt.Sprintf("c%d", i), value))
	}
	return text.String()
}

// configMaps returns the ConfigMaps of the world with their values.
func (w *world) configMaps() map[string]string {
	w.Helper()
	list := &corev1.ConfigMapList{}
	w.must(w.admin.List(w.ctx, list, client.InNamespace(w.name)))
	found := map[string]string{}
	for _, c := range list.Items {
		found[c.Name] = c.Data["key"]
	}
	return found
}

// At each instant at which a run is killed the inventory has all that was applied, and the
// next run completes it.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	from := 0
	for range 8 {
		from += 5
		text := namespace + many(from, from+20, "a")
		cmd := w.process(text)
		w.must(cmd.Start())
		time.Sleep(rand.N(700 * time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		listed := w.inventory()
		for name := range w.configMaps() {
			if !slices.Contains(listed, "ConfigMap="+w.name+"/"+name) {
				t.Fatalf("the inventory does not know of %s", name)
			}
		}
		w.forgetHolder()
	}
	w.mustApply(namespace + many(0, 3, "b"))
	want := map[string]string{"c0": "b", "c1": "b", "c2": "b"}
	if got := w.configMaps(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	w.mustBe(w.inventory(), "ConfigMap=NAME/c0", "ConfigMap=NAME/c1", "ConfigMap=NAME/c2", "Namespace=NAME")
}

// forgetHolder releases the Lease of one that was killed, as its end would, only sooner.
func (w *world) forgetHolder() {
	w.Helper()
	if lease := w.object("coordination.k8s.io/v1", "Lease", "default/gatehouse-NAME"); lease != nil {
		w.must(w.admin.Patch(w.ctx, lease, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"holderIdentity":"","leaseDurationSeconds":1}}`))))
	}
}

// Of two at once with different content, that of the last is there, whole.
func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	texts := []string{namespace + many(0, 30, "a"), namespace + many(20, 50, "b")}
	var wg sync.WaitGroup
	for range 2 {
		for _, text := range texts {
			wg.Go(func() {
				if out, err := w.process(text).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
	wg.Wait()
	first, last := map[string]string{}, map[string]string{}
	for i := range 50 {
		if i < 30 {
			first[fmt.Sprintf("c%d", i)] = "a"
		}
		if i >= 20 {
			last[fmt.Sprintf("c%d", i)] = "b"
		}
	}
	got := w.configMaps()
	if !maps.Equal(got, first) && !maps.Equal(got, last) {
		t.Errorf("a mixture: %v", got)
	}
	if len(w.inventory()) != len(got)+1 {
		t.Errorf("%d ConfigMaps, inventory %q", len(got), w.inventory())
	}
}

// A run that waits names the one that it waits for. The Lease of a killed run ends.
func TestHeldLease(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	lease := w.object("coordination.k8s.io/v1", "Lease", "default/gatehouse-NAME")
	w.must(w.admin.Patch(w.ctx, lease, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"spec":{"holderIdentity":"ada\u001b@laptop","leaseDurationSeconds":4,"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))))
	var mu sync.Mutex
	var steps []string
	_, wrong := w.apply(namespace, func(o *Options) {
		o.Timeout = time.Second
		o.Progress = func(step string) { mu.Lock(); steps = append(steps, step); mu.Unlock() }
	})
	w.mustSay(wrong, `ada\x1b@laptop still applies it after 1s (Lease default/gatehouse-NAME)`, "--timeout")
	mu.Lock()
	w.mustSay(steps, `waiting for ada\x1b@laptop, who applies it`)
	mu.Unlock()
	w.mustBe(w.mustApply(namespace), "Namespace NAME unchanged")
}

// A run whose Lease somebody took stops before it writes again.
func TestLostLease(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	var once sync.Once
	done, wrong := w.apply(namespace+many(0, 3, "a"), func(o *Options) {
		o.Progress = func(step string) {
			if !strings.HasPrefix(step, "applying") {
				return
			}
			once.Do(func() {
				lease := w.object("coordination.k8s.io/v1", "Lease", "default/gatehouse-NAME")
				w.must(w.admin.Patch(w.ctx, lease, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
					`{"spec":{"holderIdentity":"eve","leaseDurationSeconds":60,"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))))
				time.Sleep(renewDeadline + 3*time.Second)
			})
		}
	})
	w.mustBe(done)
	w.mustSay(wrong, "the Lease that keeps others from applying was lost")
	if got := w.configMaps(); len(got) > 0 {
		t.Errorf("written without the Lease: %v", got)
	}
}
