package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

var now = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

func newFleet(changes ...func(*testkind.Fleet)) *testkind.Fleet {
	s := &testkind.Fleet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Generation: 7},
		Spec:       testkind.Spec{Pods: 2, FrontImage: "front", Message: "hello", Loud: true},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func says(message string) func(*testkind.Fleet) {
	return func(s *testkind.Fleet) { s.Spec.Message = message }
}

func pods(count int32) func(*testkind.Fleet) { return func(s *testkind.Fleet) { s.Spec.Pods = count } }

// synced returns the children of a Fleet in a cluster, all of them ready.
func synced(s *testkind.Fleet, changes ...func(kind.Object)) (children []kind.Object) {
	return syncedBy(testkind.Kind, s, changes...)
}

// syncedBy is synced for a Fleet that a build of the kind rendered.
func syncedBy(k kind.Kind, s *testkind.Fleet, changes ...func(kind.Object)) (children []kind.Object) {
	rendered, err := registry.Expand(&k, s)
	if err != nil {
		panic(err)
	}
	for _, u := range rendered.Objects {
		switch u.GetKind() {
		case "Pod":
			pod := typed[corev1.Pod](u)
			pod.Name += fmt.Sprintf("-%010x", len(s.Spec.Message)) // in place of a hash of its content
			pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			children = append(children, pod)
		case "Deployment":
			deployment := typed[appsv1.Deployment](u)
			deployment.Generation = 1
			deployment.Spec.Replicas = ptr.To[int32](3)
			deployment.Status = appsv1.DeploymentStatus{
				ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3,
				Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
				},
			}
			children = append(children, deployment)
		}
	}
	for _, change := range changes {
		for _, child := range children {
			change(child)
		}
	}
	return children
}

func typed[T any](u *unstructured.Unstructured) *T {
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		panic(err)
	}
	return object
}

// firstPod changes the Pod s-0.
func firstPod(change func(*corev1.Pod)) func(kind.Object) {
	return func(o kind.Object) {
		if pod, ok := o.(*corev1.Pod); ok && strings.HasPrefix(pod.Name, "s-0") {
			change(pod)
		}
	}
}

func deployment(change func(*appsv1.Deployment)) func(kind.Object) {
	return func(o kind.Object) {
		if deployment, ok := o.(*appsv1.Deployment); ok {
			change(deployment)
		}
	}
}

func rollingOut(available int32) func(kind.Object) {
	return deployment(func(d *appsv1.Deployment) {
		d.Status.AvailableReplicas = available
		d.Status.Conditions[0].Status = corev1.ConditionFalse
	})
}

func unschedulable(age time.Duration) func(kind.Object) {
	return firstPod(func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(now.Add(-age))
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}}
	})
}

func waiting(phase corev1.PodPhase, reason string) func(kind.Object) {
	return firstPod(func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}
	})
}

func deleted(o kind.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: now}) }

func ended(phase corev1.PodPhase, reason string) func(kind.Object) {
	return firstPod(func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: phase, Reason: reason} })
}

func terminated(phase corev1.PodPhase, reason string) func(kind.Object) {
	return firstPod(func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: 137}}}}}
	})
}

// restarted restarts a container of the first Pod, this long ago.
func restarted(ago time.Duration) func(kind.Object) {
	return firstPod(func(pod *corev1.Pod) {
		running := &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-ago))}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Ready: true, RestartCount: 1, State: corev1.ContainerState{Running: running}}}
	})
}

// controlled gives an object a controller as owner.
func controlled(o kind.Object) {
	o.SetName("controlled")
	o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "ReplicaSet", Name: "r", Controller: ptr.To(true)}})
}

func and(children []kind.Object, others ...kind.Object) []kind.Object {
	return append(slices.Clone(children), others...)
}

func TestDecideReportsStateOfChildren(t *testing.T) {
	const grace = time.Minute
	all := synced(newFleet())
	older := synced(newFleet(says("hi")))
	for name, test := range map[string]struct {
		fleet    *testkind.Fleet
		children []kind.Object
		reason   string
		state    string
		ready    int32
		says     string   // is in the message
		notReady []string // name and reason
		avail    string   // of condition Available
		wake     time.Duration
	}{
		"nothing there":    {newFleet(), nil, ReasonObjectsMissing, condition.Reconciling, 0, "no Deployment s-front, Pod s-0, Pod s-1:", []string{"s-front Missing", "s-0 Missing", "s-1 Missing"}, "", grace},
		"a Pod missing":    {newFleet(), all[1:], ReasonObjectsMissing, condition.Reconciling, 2, "no Pod s-0: render the environment, commit and sync", []string{"s-0 Missing"}, "True", grace},
		"all ready":        {newFleet(), all, ReasonReady, condition.Ready, 3, "", nil, "True", 0},
		"nothing expected": {newFleet(pods(0), func(s *testkind.Fleet) { s.Spec.FrontImage = "" }), nil, ReasonReady, condition.Ready, 0, "", nil, "", 0},

		"stale":                 {newFleet(), older, ReasonRenderingStale, condition.Reconciling, 0, "Deployment s-front, Pod s-0-0000000002, Pod s-1-0000000002: render", []string{"s-front RenderingStale", "s-0-0000000002 RenderingStale", "s-1-0000000002 RenderingStale"}, "True", grace},
		"half synced":           {newFleet(), and(all[:2], older[2]), ReasonRenderingStale, condition.Reconciling, 2, "Deployment s-front:", []string{"s-front RenderingStale"}, "True", grace},
		"not pruned":            {newFleet(), and(all, older[0]), ReasonObjectsLeftOver, condition.Reconciling, 3, "Pod s-0-0000000002: prune", nil, "True", grace},
		"one less, not pruned":  {newFleet(pods(1)), all, ReasonObjectsLeftOver, condition.Reconciling, 2, "Pod s-1-0000000005: prune", nil, "True", grace},
		"not rendered":          {newFleet(), and(all, &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "s-0"}}), ReasonObjectsLeftOver, condition.Reconciling, 3, "Pod s-0:", nil, "True", grace},
		"pruning":               {newFleet(), and(all, synced(newFleet(says("hi")), deleted)...), ReasonObjectsNotReady, condition.Reconciling, 3, "deleted: Deployment s-front, Pod s-0-0000000002", nil, "True", 0},
		"controlled by others":  {newFleet(), and(all, synced(newFleet(says("hi")), controlled)...), ReasonReady, condition.Ready, 3, "", nil, "True", 0},
		"being deleted":         {newFleet(), synced(newFleet(), firstPod(func(p *corev1.Pod) { deleted(p) })), ReasonObjectsNotReady, condition.Reconciling, 2, "Pod s-0-0000000005", []string{"s-0-0000000005 Terminating"}, "True", 0},
		"replaced by its equal": {newFleet(), and(synced(newFleet(), firstPod(func(p *corev1.Pod) { deleted(p) })), synced(newFleet(), firstPod(func(p *corev1.Pod) { p.Name = "s-0-00000000ff" }))[0]), ReasonObjectsNotReady, condition.Reconciling, 3, "deleted: Pod s-0-0000000005", nil, "True", 0},

		"pending":           {newFleet(), synced(newFleet(), waiting(corev1.PodPending, "ContainerCreating")), ReasonObjectsNotReady, condition.Reconciling, 2, "Pod s-0-", []string{"s-0-0000000005 PodPending"}, "True", 0},
		"no image":          {newFleet(), synced(newFleet(), waiting(corev1.PodPending, "ImagePullBackOff")), ReasonObjectsNotReady, condition.Reconciling, 2, "Pod s-0-", []string{"s-0-0000000005 ImageNotPulled"}, "True", 0},
		"no container":      {newFleet(), synced(newFleet(), waiting(corev1.PodPending, "CreateContainerConfigError")), ReasonObjectsNotReady, condition.Reconciling, 2, "Pod s-0-", []string{"s-0-0000000005 ContainerNotCreated"}, "True", 0},
		"killed":            {newFleet(), synced(newFleet(), terminated(corev1.PodFailed, "OOMKilled")), ReasonObjectsFailed, condition.Stalled, 2, "(OOMKilled)", []string{"s-0-0000000005 OOMKilled"}, "True", 0},
		"exited":            {newFleet(), synced(newFleet(), terminated(corev1.PodFailed, "Error")), ReasonObjectsFailed, condition.Stalled, 2, "(PodFailed)", []string{"s-0-0000000005 PodFailed"}, "True", 0},
		"restarted":         {newFleet(), synced(newFleet(), restarted(9*time.Second)), ReasonObjectsNotReady, condition.Reconciling, 2, "Not ready: Pod s-0-0000000005 (ContainerRestarted)", []string{"s-0-0000000005 ContainerRestarted"}, "True", time.Second},
		"stays up":          {newFleet(), synced(newFleet(), restarted(10*time.Second)), ReasonReady, condition.Ready, 3, "", nil, "True", 0},
		"crashes":           {newFleet(), synced(newFleet(), waiting(corev1.PodRunning, "CrashLoopBackOff")), ReasonObjectsFailed, condition.Stalled, 2, "Pod s-0-0000000005 (ContainerCrashLooping)", []string{"s-0-0000000005 ContainerCrashLooping"}, "True", 0},
		"not scheduled yet": {newFleet(), synced(newFleet(), unschedulable(5*time.Second)), ReasonObjectsNotReady, condition.Reconciling, 2, "Pod s-0-", []string{"s-0-0000000005 PodNotScheduled"}, "True", 10 * time.Second},
		"not scheduled":     {newFleet(), synced(newFleet(), unschedulable(15*time.Second)), ReasonObjectsFailed, condition.Stalled, 2, "(PodUnschedulable)", []string{"s-0-0000000005 PodUnschedulable"}, "True", 0},
		"succeeded":         {newFleet(), synced(newFleet(), ended(corev1.PodSucceeded, "")), ReasonReady, condition.Ready, 3, "", nil, "True", 0},
		"failed":            {newFleet(), synced(newFleet(), ended(corev1.PodFailed, "")), ReasonObjectsFailed, condition.Stalled, 2, "(PodFailed)", []string{"s-0-0000000005 PodFailed"}, "True", 0},
		"evicted":           {newFleet(), synced(newFleet(), ended(corev1.PodFailed, "Evicted")), ReasonObjectsFailed, condition.Stalled, 2, "(Evicted)", []string{"s-0-0000000005 Evicted"}, "True", 0},
		"of no word":        {newFleet(), synced(newFleet(), ended(corev1.PodFailed, "\x1b[31m")), ReasonObjectsFailed, condition.Stalled, 2, "(PodFailed)", []string{"s-0-0000000005 PodFailed"}, "True", 0},
		"of no phase known": {newFleet(), synced(newFleet(), ended("Odd", "")), ReasonObjectsNotReady, condition.Reconciling, 2, "Pod s-0-", []string{"s-0-0000000005 Unknown"}, "True", 0},

		"rolls out":       {newFleet(), synced(newFleet(), rollingOut(1)), ReasonObjectsNotReady, condition.Reconciling, 2, "Not ready: Deployment s-front (ReplicasNotReady)", []string{"s-front ReplicasNotReady"}, "False", 0},
		"does not go on":  {newFleet(), synced(newFleet(), deployment(func(d *appsv1.Deployment) { d.Status.Conditions[1].Reason = "ProgressDeadlineExceeded" })), ReasonObjectsFailed, condition.Stalled, 2, "Deployment s-front (ProgressDeadlineExceeded)", []string{"s-front ProgressDeadlineExceeded"}, "True", 0},
		"cannot render":   {newFleet(says("fail")), all, ReasonExpandFailed, condition.Stalled, -1, "nobody says fail", nil, "", 0},
		"panics":          {newFleet(says("panic")), all, ReasonExpandFailed, condition.Stalled, -1, "nobody says panic", nil, "", 0},
		"many that fail":  {newFleet(pods(12)), synced(newFleet(pods(12)), func(o kind.Object) { ended(corev1.PodFailed, "")(o); failEvery(o) }), ReasonObjectsFailed, condition.Stalled, 1, "Pod s-0-0000000005 (PodFailed), Pod s-1-0000000005 (PodFailed), Pod s-10-0000000005 (PodFailed) and others:", tenFailed(), "True", 0},
		"failed and gone": {newFleet(), synced(newFleet(), ended(corev1.PodFailed, ""))[1:], ReasonObjectsMissing, condition.Reconciling, 2, "no Pod s-0", []string{"s-0 Missing"}, "True", grace},
	} {
		t.Run(name, func(t *testing.T) {
			next, wake, _ := decide(snapshot{kind: testkind.Kind, owner: test.fleet, children: test.children, now: now, grace: grace})
			checkStatus(t, test.fleet, next)
			ready := condition.FindReady(next.Conditions)
			if ready.Reason != test.reason || !meta.IsStatusConditionTrue(next.Conditions, test.state) || !strings.Contains(ready.Message, test.says) {
				t.Errorf("conditions are %+v", next.Conditions)
			}
			if got := ptr.Deref(next.ReadyObjects, -1); got != test.ready {
				t.Errorf("%d objects are ready, want %d", got, test.ready)
			}
			var notReady []string
			for _, n := range next.NotReady {
				notReady = append(notReady, n.Name+" "+n.Reason)
			}
			if !slices.Equal(notReady, test.notReady) {
				t.Errorf("not ready are %q, want %q", notReady, test.notReady)
			}
			available := ""
			if c := meta.FindStatusCondition(next.Conditions, Available); c != nil {
				available = string(c.Status)
			}
			if available != test.avail {
				t.Errorf("Available is %q, want %q", available, test.avail)
			}
			if got := wake.Sub(now); (test.wake != 0 || !wake.IsZero()) && got != test.wake {
				t.Errorf("wakes after %s, want %s", got, test.wake)
			}
		})
	}
}

func failEvery(o kind.Object) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed}
	}
}

func tenFailed() (names []string) {
	for _, i := range []int{0, 1, 10, 11, 2, 3, 4, 5, 6, 7} {
		names = append(names, fmt.Sprintf("s-%d-0000000005 PodFailed", i))
	}
	return names
}

// checkStatus checks the invariants of every status.
func checkStatus(t *testing.T, s *testkind.Fleet, next kind.Status) {
	t.Helper()
	after := s.DeepCopyObject().(*testkind.Fleet)
	after.Status.Status = next
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(testkind.Kind.GVK())
	if violations := condition.Violations(object); len(violations) > 0 || next.ObservedGeneration != s.Generation || len(next.NotReady) > 10 {
		t.Errorf("%q: status is %+v", violations, next)
	}
}

// A missing object stalls its owner after the grace period. The owner stays stalled if another
// object is missing then. A new spec starts a new period.
func TestMissingObjectStallsAfterGrace(t *testing.T) {
	const grace = time.Minute
	s := newFleet()
	all := synced(newFleet())
	step := func(after time.Duration, generation int64, children []kind.Object) kind.Status {
		t.Helper()
		s.Generation = generation
		next, _, _ := decide(snapshot{kind: testkind.Kind, owner: s, last: s.Status.Conditions, children: children, now: now.Add(after), grace: grace})
		checkStatus(t, s, next)
		s.Status.Status = next
		return next
	}
	for i, test := range []struct {
		after      time.Duration
		generation int64
		children   []kind.Object
		reason     string
		state      string
		available  metav1.ConditionStatus
	}{
		{0, 1, all, ReasonReady, condition.Ready, "True"},
		{time.Minute, 1, all[:2], ReasonObjectsMissing, condition.Reconciling, "False"}, // the Deployment had the condition
		{time.Minute + 59*time.Second, 1, nil, ReasonObjectsMissing, condition.Reconciling, "False"},
		{2 * time.Minute, 1, nil, ReasonObjectsMissing, condition.Stalled, "False"},
		{3 * time.Minute, 1, and(all, synced(newFleet(says("hi")))...), ReasonObjectsLeftOver, condition.Stalled, "True"},
		{4 * time.Minute, 2, nil, ReasonObjectsMissing, condition.Reconciling, "False"},
		{5 * time.Minute, 2, all, ReasonReady, condition.Ready, "True"},
	} {
		next := step(test.after, test.generation, test.children)
		available := meta.FindStatusCondition(next.Conditions, Available)
		if condition.FindReady(next.Conditions).Reason != test.reason || !meta.IsStatusConditionTrue(next.Conditions, test.state) || available.Status != test.available {
			t.Errorf("step %d: conditions are %+v", i, next.Conditions)
		}
	}
}

// The status stays the same throughout a rollout, and for any order of a cached list.
func TestStatusDoesNotChurn(t *testing.T) {
	first, _, _ := decide(snapshot{kind: testkind.Kind, owner: newFleet(), children: synced(newFleet(), rollingOut(1)), now: now})
	for available := range int32(3) {
		children := synced(newFleet(), rollingOut(available))
		slices.Reverse(children)
		next, _, _ := decide(snapshot{kind: testkind.Kind, owner: newFleet(), last: first.Conditions, children: children, now: now.Add(time.Hour)})
		if !equality.Semantic.DeepEqual(first, next) {
			t.Errorf("was %+v, is %+v", first, next)
		}
	}
}

func TestJobIsReadyOnceComplete(t *testing.T) {
	for name, test := range map[string]struct {
		status batchv1.JobStatus
		want   string
	}{
		"not started": {batchv1.JobStatus{}, "InProgress JobNotStarted"},
		"running":     {batchv1.JobStatus{StartTime: &metav1.Time{Time: now}, Active: 1}, "InProgress JobRunning"},
		"complete":    {batchv1.JobStatus{StartTime: &metav1.Time{Time: now}, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}, "Current Current"},
		"failed":      {batchv1.JobStatus{StartTime: &metav1.Time{Time: now}, Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}, "Failed JobFailed"},
	} {
		job := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, Status: test.status}
		h := stateOf(job, now)
		if got := string(h.status) + " " + h.reason; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// An object of an unknown kind may have any form of status.
func TestStateAcceptsAnyFormOfStatus(t *testing.T) {
	for want, status := range map[string]any{
		"Current Current":    map[string]any{},
		"InProgress Waiting": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "Waiting"}}},
		"Failed Broken":      map[string]any{"conditions": []any{map[string]any{"type": "Stalled", "status": "True", "reason": "Broken"}}},
		"Failed Failed":      map[string]any{"conditions": []any{map[string]any{"type": "Stalled", "status": "True", "reason": "two words"}}},
		"InProgress Unknown": map[string]any{"conditions": "none"},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a.example/v1", "kind": "A", "status": status}}
		h := stateOf(o, now)
		if got := string(h.status) + " " + h.reason; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
