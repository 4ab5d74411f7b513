package controller_test

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/condition"
	kinds "example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/test/health"
)

// checkEveryVersion checks the status of every version of every source object until the test ends.
func (w *world) checkEveryVersion(admin client.WithWatch) {
	for _, c := range w.controllers {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(c.Kind.GVK().GroupVersion().WithKind(c.Kind.GVK().Kind + "List"))
		watcher, err := admin.Watch(w.ctx, list, client.InNamespace(w.namespace))
		w.must(err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			last := map[string][]metav1.Condition{}
			for event := range watcher.ResultChan() {
				if event.Type == watch.Added || event.Type == watch.Modified {
					w.checkVersion(event.Object.(*unstructured.Unstructured), last)
				}
			}
		}()
		w.Cleanup(func() { watcher.Stop(); <-done })
	}
}

// poisoned is the name of an object whose status a test makes undecodable.
const poisoned = "poisoned"

func (w *world) checkVersion(object *unstructured.Unstructured, last map[string][]metav1.Condition) {
	problem := func(text string) { w.Errorf("%s: %v", text, object.Object["status"]) }
	var read struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		if object.GetName() != poisoned {
			w.Error(err)
		}
		delete(last, string(object.GetUID()))
		return
	}
	if w.isForged(object) {
		return
	}
	for _, text := range condition.Violations(object) {
		problem(text)
	}
	if kinds.All().Find(object.GroupVersionKind()) != nil { // these kinds have health checks
		if err := health.Check(object); err != nil {
			problem(err.Error())
		}
	}
	for _, c := range read.Status.Conditions {
		if before := meta.FindStatusCondition(last[string(object.GetUID())], c.Type); before != nil &&
			before.Status == c.Status && !before.LastTransitionTime.Equal(&c.LastTransitionTime) {
			problem(c.Type + " keeps its status but not its lastTransitionTime")
		}
	}
	last[string(object.GetUID())] = read.Status.Conditions
}
