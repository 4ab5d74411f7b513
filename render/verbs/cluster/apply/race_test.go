package apply

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventually waits for a condition.
func (w *world) eventually(condition string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s: not in time", condition)
		}
	}
}

// process returns a command that applies a text.
func (w *world) process(text string) *exec.Cmd {
	w.Helper()
	dir := w.TempDir()
	config, file := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "objects.yaml")
	w.must(writeAdminConfig(server.Admin, config))
	w.must(os.WriteFile(file, []byte(strings.ReplaceAll(text, "NAME", w.name)), 0o600))
	cmd := exec.CommandContext(w.ctx, os.Args[0], config, file)
	cmd.Env = append(os.Environ(), processEnvironment+"="+w.name)
	return cmd
}

// configMapRange returns ConfigMaps c<from> to c<to-1>.
func configMapRange(from, to int, value string) string {
	var text strings.Builder
	for i := from; i < to; i++ {
		text.WriteString(configMap(fmt.Sprintf("c%d", i), value))
	}
	return text.String()
}

// configMaps returns the live ConfigMaps with their values.
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

// The inventory lists each applied object whenever a run is killed, and the next run completes
// the work.
func TestKilledRunLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	from := 0
	for range 8 {
		from += 5
		text := namespace + configMapRange(from, from+20, "a")
		cmd := w.process(text)
		w.must(cmd.Start())
		time.Sleep(rand.N(700 * time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		listed := w.inventory()
		for name := range w.configMaps() {
			if !slices.Contains(listed, "ConfigMap="+w.name+"/"+name) {
				t.Fatalf("the inventory lacks %s", name)
			}
		}
	}
	w.mustApply(namespace + configMapRange(0, 3, "b"))
	want := map[string]string{"c0": "b", "c1": "b", "c2": "b"}
	if got := w.configMaps(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	w.mustBe(w.inventory(), "ConfigMap=NAME/c0", "ConfigMap=NAME/c1", "ConfigMap=NAME/c2", "Namespace=NAME")
}

// Simultaneous runs with different content leave the content of one of them, whole, and each
// other run fails.
func TestSimultaneousRunsLeaveNoMixture(t *testing.T) {
	w := newWorld(t)
	texts := []string{namespace + configMapRange(0, 30, "a"), namespace + configMapRange(20, 50, "b")}
	for round := range 5 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		successes := 0
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * rand.N(200*time.Millisecond))
				out, err := w.process(texts[(round+i)%2]).CombinedOutput()
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					successes++
				} else if !strings.Contains(string(out), "took over") {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		wg.Wait()
		first, second := map[string]string{}, map[string]string{}
		for i := range 50 {
			if i < 30 {
				first[fmt.Sprintf("c%d", i)] = "a"
			}
			if i >= 20 {
				second[fmt.Sprintf("c%d", i)] = "b"
			}
		}
		got := w.configMaps()
		if !maps.Equal(got, first) && !maps.Equal(got, second) {
			t.Errorf("a mixture: %v", got)
		}
		if successes == 0 {
			t.Error("every run failed")
		}
		if len(w.inventory()) != len(got)+1 {
			t.Errorf("%d ConfigMaps, inventory %q", len(got), w.inventory())
		}
	}
}

// takeOver marks the inventory as another run does when it begins.
func (w *world) takeOver(run string) {
	w.Helper()
	configMap := w.inventoryMap()
	configMap.SetAnnotations(map[string]string{"gatehouse.example.com/run": run})
	w.must(w.admin.Update(w.ctx, configMap))
}

func TestRunStopsOnceAnotherTakesOver(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	var once sync.Once
	done, wrong := w.apply(namespace+configMapRange(0, 3, "a"), func(o *Options) {
		o.Progress = func(step string) {
			if strings.HasPrefix(step, "applying ConfigMap") {
				once.Do(func() { w.takeOver("eve\x1b@laptop") })
			}
		}
	})
	w.mustBe(done, "Namespace NAME unchanged")
	w.mustSay(wrong, `eve\x1b@laptop took over`, "run this again")
	if got := w.configMaps(); len(got) > 0 {
		t.Errorf("written after the takeover: %v", got)
	}
	w.mustApply(namespace + configMap("one", "a"))

	done, wrong = w.delete(func(o *Options) {
		o.Progress = func(step string) {
			if strings.HasPrefix(step, "deleting ConfigMap") {
				w.takeOver("eve")
			}
		}
	})
	w.mustBe(done)
	w.mustSay(wrong, "eve took over")
	if w.configMap("one") == nil {
		t.Error("deleted after the takeover")
	}
}

// A run that began while another one planned makes the other one stop before its first write.
func TestRunStopsIfAnotherBeginsDuringPlan(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace)
	var once sync.Once
	done, wrong := w.apply(namespace+configMap("one", "a"), func(o *Options) {
		o.Progress = func(string) { once.Do(func() { w.takeOver("eve") }) }
	})
	w.mustBe(done)
	w.mustSay(wrong, "eve took over")
	if w.configMap("one") != nil {
		t.Error("written after the takeover")
	}
}

// A run that takes over plans after the last writes of the other run.
func TestTakeoverPlansAfterTheLastWrites(t *testing.T) {
	w := newWorld(t)
	all := namespace + configMap("one", "a")
	w.mustApply(all)
	w.takeOver("eve")
	done := w.mustApply(all, func(o *Options) {
		o.Progress = func(step string) {
			if strings.HasPrefix(step, "waiting for the last requests") {
				w.applyElse("gatehouse-"+w.name, configMap("one", "b"))
			}
		}
	})
	w.mustBe(done, "Namespace NAME unchanged", "ConfigMap NAME/one configured")
	if data, _, _ := unstructured.NestedString(w.configMap("one").Object, "data", "key"); data != "a" {
		t.Errorf("key is %q", data)
	}
}
