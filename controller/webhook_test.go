package controller_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// webhook answers a request of the API server. The given response allows it.
type webhook func(*http.Request, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)

// intercept adds a webhook for all updates of a resource in this namespace.
func (w *world) intercept(resource string, mutating bool, answer webhook) {
	w.Helper()
	var asked atomic.Bool
	hook := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if review.Request.Name == "probe" {
			asked.Store(true)
		} else {
			answer(request, review.Request, review.Response)
		}
		_ = json.NewEncoder(writer).Encode(review)
	}))
	w.Cleanup(hook.Close)
	w.register(hook, resource, mutating)
	w.awaitWebhook(&asked)
}

func (w *world) register(hook *httptest.Server, resource string, mutating bool) {
	w.Helper()
	clients, err := kubernetes.NewForConfig(server.Admin)
	w.must(err)
	meta := metav1.ObjectMeta{GenerateName: "test-"}
	client := admissionregistrationv1.WebhookClientConfig{
		URL: &hook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}),
	}
	selector := metav1.SetAsLabelSelector(map[string]string{corev1.LabelMetadataName: w.namespace})
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"v1", "v1alpha1"}, Resources: []string{"pods", resource}},
	}}
	sideEffects, versions := ptr.To(admissionregistrationv1.SideEffectClassNone), []string{"v1"}
	registrations := clients.AdmissionregistrationV1()
	if mutating {
		created, err := registrations.MutatingWebhookConfigurations().Create(w.ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "test.example.com", ClientConfig: client, NamespaceSelector: selector, SideEffects: sideEffects,
				AdmissionReviewVersions: versions, Rules: rules, TimeoutSeconds: ptr.To[int32](30),
			}},
		}, metav1.CreateOptions{})
		w.must(err)
		w.Cleanup(func() {
			_ = registrations.MutatingWebhookConfigurations().Delete(context.Background(), created.Name, metav1.DeleteOptions{})
		})
		return
	}
	created, err := registrations.ValidatingWebhookConfigurations().Create(w.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "test.example.com", ClientConfig: client, NamespaceSelector: selector, SideEffects: sideEffects,
			AdmissionReviewVersions: versions, Rules: rules, TimeoutSeconds: ptr.To[int32](30),
		}},
	}, metav1.CreateOptions{})
	w.must(err)
	w.Cleanup(func() {
		_ = registrations.ValidatingWebhookConfigurations().Delete(context.Background(), created.Name, metav1.DeleteOptions{})
	})
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
