package apply

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
)

const deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: NAME}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
`

func (w *world) writeStatus(o *unstructured.Unstructured, status string) {
	w.Helper()
	w.must(w.admin.Status().Patch(w.ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))))
}

// Waiting ends with the reasons why objects are not ready. Meanwhile another run may begin.
func TestWaitReportsReasons(t *testing.T) {
	w := newWorld(t)
	all := namespace + deployment + gatedPod
	_, wrong := w.apply(all, wait, timeout(time.Second))
	w.mustSay(wrong, "rendered/NAME/1.yaml: Deployment NAME/d: is not ready after 1s: ")
	if len(wrong) != 1 {
		t.Errorf("%q, want the Deployment alone", wrong)
	}
	d := w.object("apps/v1", "Deployment", "NAME/d")
	w.writeStatus(d, `{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","message":"no \u001b progress"}]}`)
	began := time.Now()
	_, wrong = w.apply(all, wait)
	w.mustSay(wrong, "Deployment NAME/d: failed: ")
	if time.Since(began) > 30*time.Second || strings.Contains(strings.Join(wrong, ""), "\x1b") {
		t.Errorf("%q after %s", wrong, time.Since(began))
	}
	var hasEnded bool
	_, wrong = w.apply(all, wait, func(o *Options) {
		o.Progress = func(step string) {
			if strings.HasPrefix(step, "waiting for 1 of 2 objects: Deployment "+w.name+"/d: ") {
				hasEnded = w.inventoryMap().GetAnnotations()["gatehouse.example.com/run"] == ""
				w.writeStatus(d, `{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`)
			}
		}
		w.writeStatus(d, `{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"True"}]}`)
	})
	w.mustBe(wrong)
	if !hasEnded {
		t.Error("the inventory is claimed while the run waits")
	}
}

// The health of an At is its delivery, not the result of its command.
func TestHealthIsOfDeliveryNotOfCommand(t *testing.T) {
	for name, test := range map[string]struct {
		object, message string
		want            status.Status
	}{
		"an unobserved At":         {at("{phase: PENDING, observedGeneration: -1}"), "is gatehouse-controller running?", status.InProgressStatus},
		"an edited At":             {at("{phase: DONE, observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}"), "", status.InProgressStatus},
		"an armed At":              {at("{phase: PENDING, observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}"), "", status.CurrentStatus},
		"an At without its Pod":    {at("{phase: PENDING, observedGeneration: 2, conditions: [{type: Ready, status: 'False'}, {type: Reconciling, status: 'True', message: no Pod}]}"), "no Pod", status.InProgressStatus},
		"a stalled At":             {at("{phase: PENDING, observedGeneration: 2, conditions: [{type: Ready, status: 'False'}, {type: Stalled, status: 'True', message: no time}]}"), "no time", status.FailedStatus},
		"a running At":             {at("{phase: RUNNING, observedGeneration: 2, conditions: [{type: Ready, status: 'False'}, {type: Reconciling, status: 'True'}]}"), "", status.CurrentStatus},
		"a failed At":              {at("{phase: DONE, observedGeneration: 2, conditions: [{type: Ready, status: 'False'}, {type: Stalled, status: 'True'}]}"), "", status.CurrentStatus},
		"a terminating Namespace":  {"apiVersion: v1\nkind: Namespace\nmetadata: {name: n, deletionTimestamp: '2026-01-01T00:00:00Z'}", "is being deleted", status.InProgressStatus},
		"a terminating object":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n, deletionTimestamp: '2026-01-01T00:00:00Z'}", "is being deleted", status.InProgressStatus},
		"an object without status": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}", "", status.CurrentStatus},
	} {
		js, err := yaml.YAMLToJSON([]byte(test.object))
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(js); err != nil {
			t.Fatal(err)
		}
		if got, message := health(gatehouse.All(), o); got != test.want || !strings.Contains(message, test.message) {
			t.Errorf("%s: %s: %s, want %s: %s", name, got, message, test.want, test.message)
		}
	}
}

func at(status string) string {
	return "apiVersion: cnat.programming-kubernetes.info/v1alpha1\nkind: At\nmetadata: {name: a, namespace: shop, generation: 2}\nstatus: " + status
}
