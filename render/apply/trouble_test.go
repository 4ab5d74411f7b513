package apply

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const podOfDeployment = `
---
apiVersion: v1
kind: Pod
metadata: {name: d-1, namespace: NAME, labels: {a: b}}
spec: {containers: [{name: c, image: i}]}
`

// Who waits in vain learns what kubectl describe would show.
func TestTrouble(t *testing.T) {
	w := newWorld(t)
	short := func(o *Options) { o.Timeout = time.Second }
	mustSay := func(words ...string) {
		t.Helper()
		_, wrong := w.apply(namespace+deployment, wait, short)
		w.mustSay(wrong, words...)
	}
	mustSay("Deployment NAME/d: is not ready after 1s: ", ": no Pod of it says why: see kubectl describe deployment d --namespace NAME")
	w.writeStatus(w.object("apps/v1", "Deployment", "NAME/d"), `{"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"quota is used up"}]}`)
	mustSay("is not ready after 1s: Replicas: 0/1: FailedCreate: quota is used up")
	w.create(podOfDeployment)
	pod := w.object("v1", "Pod", "NAME/d-1")
	w.must(w.admin.Create(w.ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "e", Namespace: w.name},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.name, Name: "d-1", UID: pod.GetUID()},
		Type:           corev1.EventTypeWarning, Reason: "FailedMount", Message: "there is no volume v", LastTimestamp: metav1.Now(),
	}))
	const see = ": see kubectl describe pod d-1 --namespace NAME"
	for _, test := range []struct{ status, want string }{
		{`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes are available."}]}`, "Unschedulable: 0/1 nodes are available" + see},
		{`{"conditions":[{"type":"PodScheduled","status":"True"}],"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]}`, "ContainerCreating: there is no volume v" + see},
		{`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]}`, "ErrImagePull: no such image" + see},
		{`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off"}},"lastState":{"terminated":{"exitCode":3}}}]}`, "CrashLoopBackOff: container c exited with 3" + see},
		{`{"phase":"Running","containerStatuses":[{"name":"c","state":{"running":{},"waiting":null}}]}`, "Running, but not ready: there is no volume v" + see},
	} {
		w.writeStatus(pod, test.status)
		mustSay("rendered/NAME/1.yaml: Deployment NAME/d: is not ready after 1s: Replicas: 0/1: Pod d-1: " + test.want)
	}
	w.writeStatus(pod, `{"conditions":[{"type":"Ready","status":"True"}]}`)
	steady := strings.Replace(deployment, "selector:", "minReadySeconds: 20\n  selector:", 1)
	_, wrong := w.apply(namespace+steady, wait, short)
	w.mustSay(wrong, "quota is used up")
	w.writeStatus(w.object("apps/v1", "Deployment", "NAME/d"), `{"observedGeneration":2,"conditions":[]}`)
	_, wrong = w.apply(namespace+steady, wait, short)
	w.mustSay(wrong, "its Pods have yet to be ready for 20 seconds (spec.minReadySeconds)")
	w.must(w.admin.Delete(w.ctx, pod, client.GracePeriodSeconds(0)))
}
