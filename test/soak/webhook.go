package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/test/webhook"
)

// hangingWebhook allows all updates of Pods in the namespace. While hangs is set, it takes its time.
type hangingWebhook struct {
	*httptest.Server
	hangs atomic.Bool
}

// longestHang is how long an update hangs at most. The controller waits for less.
const longestHang = 25 * time.Second

// newWebhook serves a webhook, and registers it.
func (s *soak) newWebhook(ctx context.Context) (*hangingWebhook, error) {
	w := &hangingWebhook{}
	w.Server = webhook.NewServer(func(*http.Request, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {
		if w.hangs.Load() {
			time.Sleep(rand.N(longestHang)) // also after the API server gave up
		}
	})
	registration := webhook.Validating(w.Server, metav1.ObjectMeta{Name: namespace}, namespace, "pods")
	registration.Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Ignore)
	return w, s.Create(ctx, registration)
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
	registration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
	}
	if err := client.IgnoreNotFound(s.Delete(ctx, registration)); err != nil {
		return fmt.Errorf("remove the webhook: %w", err)
	}
	return nil
}
