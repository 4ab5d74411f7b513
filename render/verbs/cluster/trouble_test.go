package cluster

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const podOfDeployment = `
---
apiVersion: v1
kind: Pod
metadata: {name: d-1, namespace: NAME, labels: {a: b}}
spec: {containers: [{name: c, image: i}]}
`

// What is not ready in time is reported with the state of a Pod, or why there is no Pod.
func TestTrouble(t *testing.T) {
	w := newWorld(t)
	short := func(o *Options) { o.Timeout = time.Second }
	mustSay := func(words ...string) {
		t.Helper()
		_, wrong := w.apply(namespace+deployment, wait, short)
		w.mustSay(wrong, words...)
	}
	mustSay("Deployment NAME/d: is not ready after 1s: ")
	w.writeStatus(w.object("apps/v1", "Deployment", "NAME/d"), `{"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"quota is used up"}]}`)
	mustSay("is not ready after 1s: Replicas: 0/1: FailedCreate: quota is used up")
	w.create(podOfDeployment)
	pod := w.object("v1", "Pod", "NAME/d-1")
	for _, test := range []struct{ status, want string }{
		{`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes are available."}]}`, "Unschedulable: 0/1 nodes are available"},
		{`{"conditions":[{"type":"PodScheduled","status":"True"}],"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]}`, "ContainerCreating"},
		{`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]}`, "ErrImagePull: no such image"},
		{`{"containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off"}},"lastState":{"terminated":{"exitCode":3}}}]}`, "CrashLoopBackOff: container c exited with 3"},
		{`{"phase":"Running","containerStatuses":[{"name":"c","state":{"running":{},"waiting":null}}]}`, "Running, but not ready"},
	} {
		w.writeStatus(pod, test.status)
		mustSay("rendered/NAME/1.yaml: Deployment NAME/d: is not ready after 1s: Replicas: 0/1: Pod d-1: " + test.want)
	}
	w.writeStatus(pod, `{"conditions":[{"type":"Ready","status":"True"}]}`)
	mustSay("is not ready after 1s: Replicas: 0/1: FailedCreate: quota is used up")
	w.must(w.admin.Delete(w.ctx, pod, client.GracePeriodSeconds(0)))
}
