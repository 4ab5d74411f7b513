package cluster

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An answer of the API server is said with the way out.
func TestMessages(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("cut"), "cut"},
		{apierrors.NewUnauthorized("who?"), "who?: log in to the cluster again"},
		{apierrors.NewForbidden(pods, "p", errors.New(`exceeded quota`)), `pods "p" is forbidden: exceeded quota`},
		{apierrors.NewForbidden(pods, "p", errors.New(`User "u" cannot patch resource "pods" in API group "" in the namespace "n"`)), `pods "p" is forbidden: User "u" cannot patch resource "pods" in API group "" in the namespace "n": ask an administrator of the cluster for that right, or use another --context`},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), `namespaces "n" not found: add a Namespace to the environment, or create it first`},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), `Pod "p" is invalid`},
		{conflictOf(`conflict with "ada"`), `spec.replicas: "ada" changed this field: leave it out of the environment where that is to own it, or take it back with --force-conflicts`},
		{conflictOf(`conflict with "kubectl-edit" using apps/v1 at 2026-01-01T00:00:00Z`), `spec.replicas: "kubectl-edit" changed this field: leave it out of the environment where that is to own it, or take it back with --force-conflicts`},
	} {
		if got := messages(test.err); len(got) != 1 || got[0] != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

func conflictOf(message string) error {
	return apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: message, Field: ".spec.replicas"}}, "conflict")
}

// What an environment brings may be missing yet; what it does not bring is missing.
func TestIsMissingName(t *testing.T) {
	names := map[string]bool{"runner": true, "urgent": true}
	for message, want := range map[string]bool{
		`pods "p" is forbidden: error looking up service account shop/runner: serviceaccount "runner" not found`: true,
		`pods "p" is forbidden: no PriorityClass with name urgent was found`:                                     true,
		`pods "p" is forbidden: error looking up service account shop/other: serviceaccount "other" not found`:   false,
		`pods "runner" is forbidden: exceeded quota`:                                                             false,
	} {
		if got := isMissingName(errors.New(message), names); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
