//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// example is a copy of the example repository, with its own kind and programs.
type example struct {
	*world
	folder, programs string
}

// newExample copies the example, without the Deployment of its controller, which the test runs.
func newExample(t *testing.T) *example {
	t.Helper()
	e := &example{world: newWorld(t), folder: t.TempDir(), programs: t.TempDir()}
	e.run("go", "build", "-C", "../../examples/customcluster", "-o", e.programs, "./cmd/...")
	must(t, os.CopyFS(filepath.Join(e.folder, "environments"), os.DirFS("../../examples/customcluster/environments")))
	e.write("environments/e2e/kustomization.yaml", `resources: [../dev]
patches:
- patch: '{$patch: delete, apiVersion: apps/v1, kind: Deployment, metadata: {name: gatehouse-controller, namespace: gatehouse-system}}'
`)
	e.run("git", "init", "--quiet", e.folder)
	must(t, e.Remove(t.Context(), "dev")) // leftovers of other tests
	return e
}

func (e *example) write(name, content string) {
	e.Helper()
	file := filepath.Join(e.folder, name)
	must(e.T, os.MkdirAll(filepath.Dir(file), 0o755))
	must(e.T, os.WriteFile(file, []byte(content), 0o644))
}

func (e *example) run(program string, args ...string) {
	e.Helper()
	if output, err := exec.CommandContext(context.WithoutCancel(e.Context()), program, args...).CombinedOutput(); err != nil {
		e.Fatalf("%s %q: %v\n%s", filepath.Base(program), args, err, output)
	}
}

// render runs the example's own render.
func (e *example) render(args ...string) {
	e.Helper()
	e.run(filepath.Join(e.programs, "render"), append(args, "--env", "e2e", "--root", e.folder)...)
}

// set changes the Customcluster, and applies its rendered objects.
func (e *example) set(count int, message string) {
	e.Helper()
	e.write("environments/dev/hello.yaml", fmt.Sprintf(namespaceManifest("hello")+`---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Customcluster
metadata: {name: hello, namespace: hello}
spec: {count: %d, message: %q}
`, count, message))
	e.render()
	e.render("apply")
}

// running returns the UIDs of the running Pods, by name.
func (e *example) running() map[string]types.UID {
	e.Helper()
	pods, running := &corev1.PodList{}, map[string]types.UID{}
	must(e.T, e.List(e.Context(), pods, client.InNamespace("hello")))
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running[pod.Name] = pod.UID
		}
	}
	return running
}

// awaitStatus waits until the status has a number of running Pods, a reason of Ready, and the name
// of the object that is not ready, if there is one.
func (e *example) awaitStatus(count int64, message, reason, notReady string) {
	e.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Customcluster"}}
	want := fmt.Sprintf("%d %q %s [%s]", count, message, reason, notReady)
	e.eventually("status "+want, time.Minute, func(ctx context.Context) error {
		if err := e.Get(ctx, client.ObjectKey{Namespace: "hello", Name: "hello"}, object); err != nil {
			return err
		}
		if got := describe(object); got != want {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
}

func describe(object *unstructured.Unstructured) string {
	count, _, _ := unstructured.NestedInt64(object.Object, "status", "count")
	message, _, _ := unstructured.NestedString(object.Object, "status", "message")
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "notReady")
	var reason any
	for _, c := range conditions {
		if condition := c.(map[string]any); condition["type"] == "Ready" {
			reason = condition["reason"]
		}
	}
	var notReady []string
	for _, n := range list {
		entry := n.(map[string]any)
		notReady = append(notReady, fmt.Sprint(entry["name"], " ", entry["reason"]))
	}
	return fmt.Sprintf("%d %q %v %v", count, message, reason, notReady)
}

// TestCustomclusterStatusFollowsPods creates Pods of the example, lets them fail, and deletes them.
func TestCustomclusterStatusFollowsPods(t *testing.T) {
	e := newExample(t)
	t.Cleanup(func() { e.render("delete") })
	e.render()
	e.render("apply", "--wait=false")
	e.start(filepath.Join(e.programs, "controller"), e.kubeconfig())

	const message = "costs $(PRICE) or \\n 5$" // Kubernetes and the shell must not expand it
	e.set(2, message)
	e.awaitStatus(2, message, "Ready", "")
	two := e.running()
	names := slices.Sorted(maps.Keys(two))
	for _, pod := range names {
		if logs := e.logs("hello", pod); !slices.Equal(logs, []string{message}) {
			t.Errorf("%s echoed %q", pod, logs)
		}
	}

	first := &corev1.Pod{}
	must(t, e.Get(t.Context(), client.ObjectKey{Namespace: "hello", Name: names[0]}, first))
	must(t, e.Patch(t.Context(), first, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"activeDeadlineSeconds":1}}`))))
	e.awaitStatus(1, message, "ObjectsFailed", names[0]+" DeadlineExceeded")
	must(t, e.Delete(t.Context(), first))
	e.awaitStatus(1, message, "ObjectsMissing", "hello-0 Missing")
	e.set(2, message)
	e.awaitStatus(2, message, "Ready", "")

	two = e.running()
	e.set(3, message)
	e.awaitStatus(3, message, "Ready", "")
	three := e.running()
	for name, uid := range two {
		if three[name] != uid {
			t.Errorf("%s was replaced for another count", name)
		}
	}
	e.set(1, message)
	e.awaitStatus(1, message, "Ready", "")
	if one := e.running(); one[names[0]] != two[names[0]] {
		t.Errorf("of %v remains %v", two, one)
	}

	e.set(2, "hi")
	e.awaitStatus(2, "hi", "Ready", "")
	for name := range e.running() {
		if _, ok := three[name]; ok || !strings.HasPrefix(name, "hello-") {
			t.Errorf("%s is for another message", name)
		}
	}
}
