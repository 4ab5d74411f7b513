package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhook allows all updates of Pods in the namespace. While hangs is set, it takes its time.
type webhook struct {
	*httptest.Server
	hangs atomic.Bool
}

// longestHang is how long an update hangs at most. The controller waits for less.
const longestHang = 25 * time.Second

// newWebhook serves a webhook on the loopback address, and registers it.
func (s *soak) newWebhook(ctx context.Context) (*webhook, error) {
	w := &webhook{}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(w.answer))
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	return w, s.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "hangs.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &w.URL, CABundle: certificate},
			NamespaceSelector:       metav1.SetAsLabelSelector(map[string]string{corev1.LabelMetadataName: namespace}),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			FailurePolicy:           ptr.To(admissionregistrationv1.Ignore),
			TimeoutSeconds:          ptr.To[int32](30),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	})
}

func (w *webhook) answer(writer http.ResponseWriter, request *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	if w.hangs.Load() {
		time.Sleep(rand.N(longestHang)) // also after the API server gave up
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(writer).Encode(review)
}

// hangUpdates lets updates of Pods hang for a time, again and again until ctx is done.
func (s *soak) hangUpdates(ctx context.Context) {
	for pause(ctx, rand.N(time.Minute)) {
		s.webhook.hangs.Store(true)
		s.count("webhook hangs")
		pause(ctx, time.Second+rand.N(20*time.Second))
		s.webhook.hangs.Store(false)
	}
}

func (s *soak) removeWebhook(ctx context.Context) error {
	if s.webhook == nil {
		return nil
	}
	s.webhook.CloseClientConnections()
	registration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := client.IgnoreNotFound(s.Delete(ctx, registration)); err != nil {
		return fmt.Errorf("remove the webhook: %w", err)
	}
	return nil
}
