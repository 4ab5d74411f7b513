package at

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
)

// A run is one Reconcile under way. It pauses at each request until a test answers it, and may stay
// paused forever. It runs the product's code with a fake client, caches and clock.
type run struct {
	// at and pods are the content of its caches.
	at   *cnatv1alpha1.At
	pods []*corev1.Pod

	// request is the request without an answer; nil once the run has ended.
	request *request
	result  reconcile.Result
	err     error

	// read are the Pods that it read, from a cache or the API server; readAt is the At of the API server.
	read   []corev1.Pod
	readAt *cnatv1alpha1.At
	// unheld is the Pod that it tried to hold in vain.
	unheld types.UID
	// surroundings are nil until the run looks around.
	surroundings *surroundings

	answer answer
	resume func() (*request, bool)
	stop   func()
	yield  func(*request) bool
}

// surroundings are the inputs of a run that are not from the API server.
type surroundings struct {
	now      time.Time
	together int // number of Ats that are due in the same second
}

// replica is the state of the process that a Reconcile runs in.
type replica struct{ elected, fresh bool }

type verb string

const (
	look     verb = "look around"
	getAt    verb = "get the At"
	getPod   verb = "get a Pod"
	listPods verb = "list Pods"
	apply    verb = "apply a status"
	openGate verb = "open a gate"
	hold     verb = "hold a Pod"
)

// request is a request of a run to the API server. A write conflicts unless the object has its uid and
// version. An empty uid or version matches every object.
type request struct {
	verb         verb
	name         string
	uid          types.UID
	version      string
	holdsVersion string                 // hold
	status       *cnatv1alpha1.AtStatus // apply
	from         *run

	isChecked bool // checkStatus accepted the status
}

func (q *request) isWrite() bool { return q.verb == apply || q.verb == openGate || q.verb == hold }

type answer struct {
	surroundings surroundings
	at           *cnatv1alpha1.At
	pod          *corev1.Pod
	pods         []*corev1.Pod
	version      string
	err          error

	isStripped bool // admission removed the start from the status
}

var (
	errAbandoned = errors.New("abandoned")
	errTimeout   = context.DeadlineExceeded
)

// startRun starts a Reconcile of a Reconciler or an Opener, and returns it at its first request.
func startRun(at *cnatv1alpha1.At, pods []*corev1.Pod, by *replica, opens bool) *run {
	r := &run{at: at, pods: pods}
	reconciler := &Reconciler{
		Server: &Server{client: fakeClient{run: r}, patient: fakeClient{run: r}, live: fakeClient{run: r}, children: r.children, together: r.together},
		Clock:  r, Grace: 20 * time.Second, Events: noEvents{},
		IsElected: func() bool { return by.elected }, IsFresh: func() bool { return by.fresh },
	}
	r.resume, r.stop = iter.Pull(func(yield func(*request) bool) {
		defer func() {
			if e := recover(); e != nil && e != any(errAbandoned) {
				panic(e)
			}
		}()
		r.yield = yield
		cached := trimAt(at.DeepCopy())
		if opens {
			r.result, r.err = Opener{reconciler}.Reconcile(context.Background(), cached)
			return
		}
		r.result, r.err = reconciler.Reconcile(context.Background(), cached)
	})
	r.request, _ = r.resume()
	return r
}

// proceed answers the request of a run, and resumes it up to its next request.
func (r *run) proceed(a answer) {
	r.answer = a
	r.request, _ = r.resume()
}

func (r *run) ask(q *request) answer {
	q.from = r
	if !r.yield(q) {
		panic(errAbandoned)
	}
	return r.answer
}

func (r *run) look() surroundings {
	if r.surroundings == nil {
		a := r.ask(&request{verb: look})
		r.surroundings = &a.surroundings
	}
	return *r.surroundings
}

func (r *run) together(*TrimmedAt) int { return r.look().together }

// Now implements clock.PassiveClock.
func (r *run) Now() time.Time { return r.look().now }

// Since implements clock.PassiveClock.
func (r *run) Since(t time.Time) time.Duration { return r.Now().Sub(t) }

// children returns the Pods of the cache.
func (r *run) children(context.Context, schema.GroupVersionKind, client.ObjectKey) (cached []kind.Object, _ error) {
	for _, pod := range r.pods {
		r.read = append(r.read, *pod)
		cached = append(cached, trimPod(pod))
	}
	return cached, nil
}

// fakeClient turns the calls of a run into requests.
type fakeClient struct {
	client.Client
	run *run
}

func (w fakeClient) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch object := object.(type) {
	case *corev1.Pod:
		a := w.run.ask(&request{verb: getPod, name: key.Name})
		if a.err == nil {
			a.pod.DeepCopyInto(object)
			w.run.read = append(w.run.read, *object)
		}
		return a.err
	default:
		a := w.run.ask(&request{verb: getAt, name: key.Name})
		if a.err == nil {
			object.SetUID(a.at.UID)
			object.SetResourceVersion(a.at.ResourceVersion)
			w.run.readAt = a.at
		}
		return a.err
	}
}

func (w fakeClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	a := w.run.ask(&request{verb: listPods})
	var items []corev1.Pod
	for _, pod := range a.pods {
		items = append(items, *pod.DeepCopy())
	}
	w.run.read = append(w.run.read, items...)
	list.(*corev1.PodList).Items = items
	return a.err
}

// Patch implements the two patches of Pods that the controller sends.
func (w fakeClient) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	var body struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]string
		}
		Spec *struct{ SchedulingGates []map[string]string }
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return err
	}
	q := &request{verb: hold, name: object.GetName(), uid: body.Metadata.UID, version: body.Metadata.ResourceVersion}
	if body.Spec != nil {
		q.verb = openGate
	}
	q.holdsVersion = body.Metadata.Annotations[kind.HeldAnnotation]
	a := w.run.ask(q)
	if a.err == nil {
		a.pod.DeepCopyInto(object.(*corev1.Pod))
	}
	if q.verb == hold && (a.err != nil || a.pod.Annotations[kind.HeldAnnotation] != q.holdsVersion) {
		w.run.unheld = q.uid
	}
	return a.err
}

func (w fakeClient) Status() client.SubResourceWriter { return fakeStatusWriter{run: w.run} }

type fakeStatusWriter struct {
	client.SubResourceWriter
	run *run
}

func (w fakeStatusWriter) Apply(_ context.Context, object runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var at cnatv1alpha1.At
	if err := json.Unmarshal(data, &at); err != nil {
		return err
	}
	a := w.run.ask(&request{verb: apply, name: at.Name, uid: at.UID, version: at.ResourceVersion, status: &at.Status})
	object.(metav1.Object).SetResourceVersion(a.version)
	if a.isStripped {
		stripped, err := json.Marshal(withoutStart(at.Status))
		if err != nil {
			return err
		}
		var content map[string]any
		if err := json.Unmarshal(stripped, &content); err != nil {
			return err
		}
		reflect.ValueOf(object).Elem().FieldByName("Unstructured").Interface().(*unstructured.Unstructured).Object["status"] = content
	}
	return a.err
}

// withoutStart returns a status without the recorded start.
func withoutStart(status cnatv1alpha1.AtStatus) cnatv1alpha1.AtStatus {
	stripped := *status.DeepCopy()
	stripped.Run.OpenedTime = nil
	return stripped
}

// refusals are answers that an API server may give to any write that it does not make.
var refusals = []error{
	apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "at", errors.New("not allowed")),
	apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "at", errors.New("admission says so")),
	apierrors.NewNotFound(schema.GroupResource{Resource: "webhooks"}, "admission"),
	apierrors.NewInternalError(errors.New("webhook unavailable")),
}

// overload is an answer that an API server may give although it makes the write.
var overload = apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, "patch", schema.GroupResource{}, "at", "timeout", 0, false)

// noEvents is an event recorder that discards events.
type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (q *request) String() string {
	text := fmt.Sprint(q.verb)
	if q.isWrite() {
		text += fmt.Sprintf(" %s %s@%s", q.name, q.uid, q.version)
	}
	if q.status != nil {
		text += " " + describeStatus(*q.status)
	}
	return text
}

// describeStatus summarizes a status in one line.
func describeStatus(status cnatv1alpha1.AtStatus) string {
	text := string(status.Phase)
	if run := status.Run; run != nil {
		text += fmt.Sprintf(" Pod %q", run.PodUID)
		if run.OpenedTime != nil {
			text += " recorded"
		}
	}
	for _, c := range status.Conditions {
		if c.Type == "Ready" {
			text += fmt.Sprintf(" Ready=%s %s", c.Status, c.Reason)
		}
	}
	return text + fmt.Sprintf(" ran %d", len(status.Ran))
}
