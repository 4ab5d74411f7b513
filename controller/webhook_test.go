package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/gatehouse/test/webhook"
)

// intercept adds a webhook for all updates of a resource in this namespace.
func (w *world) intercept(resource string, mutating bool, answer webhook.Answer) {
	w.Helper()
	var asked atomic.Bool
	hook := webhook.NewServer(func(request *http.Request, review *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) {
		if review.Name == "probe" {
			asked.Store(true)
		} else {
			answer(request, review, response)
		}
	})
	w.Cleanup(hook.Close)
	clients, err := kubernetes.NewForConfig(server.Admin)
	w.must(err)
	registrations := clients.AdmissionregistrationV1()
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, hook.Listener.Addr().(*net.TCPAddr).Port)}
	if mutating {
		_, err = registrations.MutatingWebhookConfigurations().Create(w.ctx, webhook.Mutating(hook, meta, w.namespace, "pods", resource), metav1.CreateOptions{})
	} else {
		_, err = registrations.ValidatingWebhookConfigurations().Create(w.ctx, webhook.Validating(hook, meta, w.namespace, "pods", resource), metav1.CreateOptions{})
	}
	w.must(err)
	w.Cleanup(func() {
		_ = registrations.MutatingWebhookConfigurations().Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = registrations.ValidatingWebhookConfigurations().Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
	})
	w.awaitWebhook(&asked)
}

// awaitWebhook waits until the API server asks a webhook about a Pod.
func (w *world) awaitWebhook(asked *atomic.Bool) {
	w.Helper()
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "probe"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	w.must(w.Create(w.ctx, probe))
	w.eventually("the API server asks the webhook", func() error {
		probe.Labels = map[string]string{"tried": string(probe.UID) + "-" + probe.ResourceVersion}
		if err := w.Update(w.ctx, probe); err != nil {
			return err
		}
		if !asked.Load() {
			return errors.New("it does not")
		}
		return nil
	})
}
