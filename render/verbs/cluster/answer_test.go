package cluster

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMessagesAddRemedies(t *testing.T) {
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
		{conflictOf(`conflict with "ada"`), `spec.replicas: "ada" changed this field: remove it from the environment to leave it to that manager, or take it back with --force-conflicts`},
		{conflictOf(`conflict with "kubectl-edit" using apps/v1 at 2026-01-01T00:00:00Z`), `spec.replicas: "kubectl-edit" changed this field: remove it from the environment to leave it to that manager, or take it back with --force-conflicts`},
	} {
		if got := Messages(test.err); len(got) != 1 || got[0] != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

func conflictOf(message string) error {
	return apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: message, Field: ".spec.replicas"}}, "conflict")
}
