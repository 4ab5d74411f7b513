//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
)

// notATime is a string that API servers accept as a time, and Go clients do not.
const notATime = `{"status":{"run":{"scheduledTime":"2026-01-01T00:00:00x5Z"}}}`

// TestUndecodableAtIsLeftOut writes a status that no client can decode. A running controller, and
// a later one, leave the At out and serve all other objects.
func TestUndecodableAtIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.sync("dev")
	counter := w.newCounter()
	for _, namespace := range []string{"e2e-undecodable", "e2e-decodable"} {
		w.namespace(namespace)
	}
	metrics, probes := freeAddress(t), freeAddress(t)
	first := w.controller(w.kubeconfig(), "--metrics-bind-address="+metrics, "--metrics-secure=false", "--health-probe-bind-address="+probes)
	broken, brokenPod := w.createAt("e2e-undecodable", "broken", time.Now().Add(24*time.Hour))
	w.awaitReason("e2e-undecodable", "broken", at.ReasonArmed)
	w.writeAnything(func() {
		w.eventually("a status has a time that is not a time", 30*time.Second, func(ctx context.Context) error {
			return w.Status().Patch(ctx, anyAt(broken), client.RawPatch(types.MergePatchType, []byte(notATime)))
		})
	})
	w.awaitLeftOut(metrics, 1)
	w.checkServed(counter, "first")
	w.checkReady(probes)

	must(t, first.Process.Kill())
	_ = first.Wait()
	w.controller(w.kubeconfig(), "--metrics-bind-address="+metrics, "--metrics-secure=false", "--health-probe-bind-address="+probes)
	w.checkServed(counter, "later")
	w.awaitLeftOut(metrics, 1)
	w.checkReady(probes)
	w.checkGated("e2e-undecodable", brokenPod)

	must(t, w.Status().Patch(t.Context(), anyAt(broken), client.RawPatch(types.MergePatchType, []byte(`{"status":{"run":null}}`))))
	w.awaitLeftOut(metrics, 0)
	w.awaitReason("e2e-undecodable", "broken", at.ReasonArmed)
}

// writeAnything lets a function write a status whose time is not a time.
func (w *world) writeAnything(write func()) {
	w.Helper()
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	definition.SetName("ats." + cnatv1alpha1.SchemeGroupVersion.Group)
	const path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/run/properties/scheduledTime/pattern"
	must(w, w.Get(w.Context(), client.ObjectKeyFromObject(definition), definition))
	pattern := patternOf(w.T, definition)
	remove := fmt.Sprintf(`[{"op":"remove","path":%q}]`, path)
	must(w, w.Patch(w.Context(), definition, client.RawPatch(types.JSONPatchType, []byte(remove))))
	defer func() {
		restore, err := json.Marshal([]map[string]string{{"op": "add", "path": path, "value": pattern}})
		must(w, err)
		must(w, w.Patch(context.WithoutCancel(w.Context()), definition, client.RawPatch(types.JSONPatchType, restore)))
	}()
	write()
}

func patternOf(t *testing.T, definition *unstructured.Unstructured) string {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	must(t, err)
	pattern, found, err := unstructured.NestedString(versions[0].(map[string]any),
		"schema", "openAPIV3Schema", "properties", "status", "properties", "run", "properties", "scheduledTime", "pattern")
	must(t, err)
	if !found {
		t.Fatal("scheduledTime has no pattern")
	}
	return pattern
}

// anyAt returns an At without its Go type.
func anyAt(at *cnatv1alpha1.At) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt))
	object.SetNamespace(at.Namespace)
	object.SetName(at.Name)
	return object
}

// checkServed checks that Ats beside the undecodable one and in another namespace start, and
// that the Memcached has its status.
func (w *world) checkServed(counter, name string) {
	w.Helper()
	namespaces := []string{"e2e-undecodable", "e2e-decodable"}
	w.countFromZero(counter, namespaces[0]+"."+name, namespaces[1]+"."+name)
	for _, namespace := range namespaces {
		w.createAt(namespace, name, time.Now().Add(3*time.Second))
	}
	for _, namespace := range namespaces {
		w.awaitReason(namespace, name, at.ReasonComplete)
		w.checkStarts(counter, namespace+"."+name, 1)
	}
	w.readyMemcached("memcached-sample", "")
}

var leftOutAts = regexp.MustCompile(`(?m)^gatehouse_left_out\{kind="At",reason="Undecodable"\} (\S+)$`)

// awaitLeftOut waits until the metrics of a controller count the wanted number of Ats that are left out.
func (w *world) awaitLeftOut(address string, want int) {
	w.Helper()
	w.eventually(fmt.Sprintf("gatehouse_left_out is %d", want), time.Minute, func(ctx context.Context) error {
		_, content, err := get(ctx, "http://"+address+"/metrics")
		if err != nil {
			return err
		}
		match := leftOutAts.FindStringSubmatch(content)
		if match == nil {
			return errors.New("there is no such metric")
		}
		if match[1] != fmt.Sprint(want) {
			return errors.New(match[0])
		}
		return nil
	})
}

// checkReady checks that a controller says that it is ready.
func (w *world) checkReady(address string) {
	w.Helper()
	code, content, err := get(w.Context(), "http://"+address+"/readyz")
	must(w, err)
	if code != http.StatusOK {
		w.Errorf("/readyz answers %d %s", code, content)
	}
}

func get(ctx context.Context, url string) (code int, content string, _ error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// freeAddress returns an unused local address.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
