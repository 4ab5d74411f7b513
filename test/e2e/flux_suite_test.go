//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kindat "example.com/gatehouse/kind/at"
)

// job describes an At.
type job struct {
	due            time.Time
	command, extra string
}

// forgets reports whether the Flux under test is 2.7.0 to 2.8.6, which needs the workaround in
// docs/flux.md.
var forgets = os.Getenv("E2E_FLUX_FORGETS") != ""

// flux is a git repository that Flux syncs.
type flux struct {
	*world
	folder         string
	ats            map[string]job // of the namespace shop of prod
	kustomizations []*unstructured.Unstructured
}

// newFlux makes a repository, with nothing committed.
func newFlux(t *testing.T) *flux {
	t.Helper()
	load := os.Getenv("E2E_LOAD_IMAGE")
	if os.Getenv("E2E_FLUX") == "" || load == "" {
		t.Skip("set E2E_FLUX to a command that has Flux see the git checkout in its argument as GitRepository flux-system/repo, and E2E_LOAD_IMAGE to one that loads the image in an archive into the nodes")
	}
	w := newWorld(t)
	f := &flux{world: w, folder: t.TempDir()}
	f.run("", "sh", "-c", load+` "$0"`, absolute(t, "../../bin/controller.tar"))
	f.run(f.folder, "git", "init", "--quiet", "--initial-branch=main")
	f.render("init", "--image", "gatehouse-controller:dev")
	f.write("environments/prod/kustomization.yaml", "resources: [../base, shop.yaml]\n")
	if forgets {
		const component = "environments/base/gatehouse/applied-again"
		must(f, os.CopyFS(filepath.Join(f.folder, component), os.DirFS("../../"+component)))
		f.write("environments/prod/kustomization.yaml", "resources: [../base, shop.yaml]\ncomponents: [../base/gatehouse/applied-again]\n")
	}
	f.write("environments/team/kustomization.yaml", "metadata: {name: team, annotations: {gatehouse.example.com/elsewhere: Deployment gatehouse-system/gatehouse-controller}}\nresources: [team.yaml]\n")
	f.write("environments/team/team.yaml", namespaceManifest("team")+job{due: time.Now().Add(24 * time.Hour), command: "echo team"}.manifest("team", "waits"))
	return f
}

// emptyCluster removes leftovers of tests.
func (f *flux) emptyCluster() {
	f.Helper()
	f.deleteKustomizations()
	must(f, f.Remove(f.Context(), "dev"))
	f.Cleanup(f.deleteKustomizations)
}

// step runs a part of the test. If it fails, the test ends, as the next parts depend on it.
func (f *flux) step(name string, do func()) {
	whole := f.T
	passed := whole.Run(name, func(t *testing.T) {
		f.T = t
		do()
	})
	f.T = whole
	if !passed {
		f.FailNow()
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	must(t, err)
	return path
}

// run runs a program to its end.
func (f *flux) run(folder, program string, args ...string) string {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), program, args...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		f.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout, stderr.String())
	}
	return string(stdout)
}

func (f *flux) render(args ...string) string {
	f.Helper()
	program := os.Getenv("RENDER")
	if program == "" {
		program = absolute(f.T, "../../bin/render")
	}
	return f.run(f.folder, program, args...)
}

func (f *flux) write(file, content string) {
	f.Helper()
	file = filepath.Join(f.folder, file)
	must(f, os.MkdirAll(filepath.Dir(file), 0o755))
	must(f, os.WriteFile(file, []byte(content), 0o644))
}

func namespaceManifest(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}\n", name)
}

func (j job) manifest(namespace, name string) string {
	return fmt.Sprintf(`---
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: %s, namespace: %s, labels: {team: shop}}
spec:
  schedule: %q
  command: %q
  image: busybox:1.37
  restartPolicy: Never
  %s
`, name, namespace, j.due.UTC().Format(time.RFC3339), j.command, j.extra)
}

// commit renders the environments, commits them, and shows the commit to Flux.
func (f *flux) commit() {
	f.Helper()
	manifests := namespaceManifest("shop") + `---
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: sessions, namespace: shop}
spec: {size: 1, image: "memcached:1.6"}
`
	for name, job := range f.ats {
		manifests += job.manifest("shop", name)
	}
	f.write("environments/prod/shop.yaml", manifests)
	f.render("--all")
	f.run(f.folder, "git", "add", ".")
	f.run(f.folder, "git", "-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "commit", "--quiet", "--message", "Edit")
	f.run("", "sh", "-c", os.Getenv("E2E_FLUX")+` "$0"`, f.folder)
}

// readKustomizations reads the Kustomizations that render prints, and gives them the source and
// intervals of the test.
func (f *flux) readKustomizations() {
	f.Helper()
	for _, environment := range []string{"prod", "team"} {
		printed := f.render("sync", "flux", "--env", environment, "--repo", "https://localhost/repo")
		objects, err := ssautils.ReadObjects(strings.NewReader(printed))
		must(f, err)
		for _, object := range objects {
			if object.GetKind() != "Kustomization" {
				continue
			}
			must(f, unstructured.SetNestedField(object.Object, "repo", "spec", "sourceRef", "name"))
			must(f, unstructured.SetNestedField(object.Object, syncTimeout.String(), "spec", "timeout"))
			must(f, unstructured.SetNestedField(object.Object, "2s", "spec", "retryInterval"))
			if forgets {
				must(f, unstructured.SetNestedSlice(object.Object, []any{map[string]any{
					"target": map[string]any{"kind": "Pod", "labelSelector": kindat.Label},
					"patch":  "{apiVersion: v1, kind: Pod, metadata: {name: all, annotations: {kustomize.toolkit.fluxcd.io/ssa: null}}}",
				}}, "spec", "patches"))
			}
			f.kustomizations = append(f.kustomizations, object)
		}
	}
}

// applyKustomizations creates the Kustomizations.
func (f *flux) applyKustomizations() {
	f.Helper()
	for _, k := range f.kustomizations {
		must(f, f.Create(f.Context(), k.DeepCopy()))
	}
}

// deleteKustomizations has Flux delete all that it applied, the environment with the kinds last.
func (f *flux) deleteKustomizations() {
	f.Helper()
	for _, k := range slices.Backward(f.kustomizations) {
		if err := f.Delete(context.WithoutCancel(f.Context()), k); !meta.IsNoMatchError(err) {
			must(f, client.IgnoreNotFound(err))
		}
		f.isGone(k.DeepCopy())
	}
}

// kustomization returns a Kustomization of the cluster.
func (f *flux) kustomization(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	i := slices.IndexFunc(f.kustomizations, func(k *unstructured.Unstructured) bool { return k.GetName() == name })
	k := f.kustomizations[i].DeepCopy()
	return k, f.Get(ctx, client.ObjectKeyFromObject(k), k)
}

// awaitRevision waits until an environment is Ready at the last commit.
func (f *flux) awaitRevision(name string) {
	f.Helper()
	head := strings.TrimSpace(f.run(f.folder, "git", "rev-parse", "HEAD"))
	f.awaitReady(name, func(status map[string]any) bool {
		revision, _ := status["lastAppliedRevision"].(string)
		return strings.HasSuffix(revision, head)
	})
}

// sync has Flux sync an environment, and waits until it is Ready.
func (f *flux) sync(name string) {
	f.Helper()
	request := f.request(name)
	f.awaitReady(name, func(status map[string]any) bool { return status["lastHandledReconcileAt"] == request })
}

// request has Flux sync an environment soon.
// https://fluxcd.io/flux/components/kustomize/kustomizations/#triggering-a-reconcile
func (f *flux) request(name string) string {
	f.Helper()
	k, err := f.kustomization(f.Context(), name)
	must(f, err)
	request := time.Now().Format(time.RFC3339Nano)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, request)
	must(f, f.Patch(f.Context(), k, client.RawPatch(types.MergePatchType, []byte(patch))))
	return request
}

// awaitReady waits until an environment is Ready with a status.
func (f *flux) awaitReady(name string, matches func(status map[string]any) bool) {
	f.Helper()
	// Flux retries after a minute if it does not see its applied objects.
	f.eventually("environment "+name+" is Ready", 5*time.Minute, func(ctx context.Context) error {
		k, err := f.kustomization(ctx, name)
		if status, _, _ := unstructured.NestedMap(k.Object, "status"); err == nil && (readyCondition(k)["status"] != "True" || !matches(status)) {
			err = fmt.Errorf("conditions: %v", status["conditions"])
		}
		return err
	})
}

// readyCondition returns the condition Ready of an object.
func readyCondition(object *unstructured.Unstructured) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == "Ready" {
			return condition
		}
	}
	return nil
}

// watchFailures watches an environment. The returned function reports each failure since its last
// call, except waiting for another environment.
func (f *flux) watchFailures(name string) (seen func() []string) {
	f.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(f.kustomizations[0].GroupVersionKind())
	ctx := f.Context()
	watcher, err := f.Watch(ctx, list, client.InNamespace("flux-system"), client.MatchingFields{"metadata.name": name})
	must(f, err)
	var mutex sync.Mutex
	var failures []string
	note := func(failure string) {
		mutex.Lock()
		defer mutex.Unlock()
		failures = append(failures, failure)
	}
	go func() {
		for event := range watcher.ResultChan() {
			k, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				note(fmt.Sprintf("watch: %v", event.Object))
				continue
			}
			if ready := readyCondition(k); ready["status"] == "False" && ready["reason"] != "DependencyNotReady" {
				note(fmt.Sprintf("%s: %v: %v", name, ready["reason"], ready["message"]))
			}
		}
		note("the watch ended")
	}()
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		defer func() { failures = nil }()
		return failures
	}
}
