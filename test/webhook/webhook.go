// Package webhook serves admission webhooks to tests of controllers, on the loopback address.
package webhook

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Answer answers a request of the API server. The given response allows it.
type Answer func(*http.Request, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)

// NewServer starts a webhook.
func NewServer(answer Answer) *httptest.Server {
	return httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		answer(request, review.Request, review.Response)
		_ = json.NewEncoder(writer).Encode(review)
	}))
}

// Validating registers a webhook for updates of resources in a namespace.
func Validating(server *httptest.Server, meta metav1.ObjectMeta, namespace string,
	resources ...string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "test.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL,
				CABundle: certificate},
			NamespaceSelector:       metav1.SetAsLabelSelector(map[string]string{corev1.LabelMetadataName: namespace}),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          ptr.To[int32](30),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"},
					APIVersions: []string{"v1", "v1alpha1"}, Resources: resources},
			}},
		}},
	}
}

// Mutating is Validating for a webhook that changes objects.
func Mutating(server *httptest.Server, meta metav1.ObjectMeta, namespace string,
	resources ...string) *admissionregistrationv1.MutatingWebhookConfiguration {
	w := Validating(server, meta, namespace, resources...).Webhooks[0]
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: w.Name, ClientConfig: w.ClientConfig, NamespaceSelector: w.NamespaceSelector,
			SideEffects:             w.SideEffects,
			AdmissionReviewVersions: w.AdmissionReviewVersions, TimeoutSeconds: w.TimeoutSeconds, Rules: w.Rules,
		}},
	}
}
