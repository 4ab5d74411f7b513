package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/manifest"
)

// Refusal is the error of an object that render itself refuses to apply.
type Refusal struct {
	Message string
	// IsUnserved says that the cluster does not serve the kind or version of the object.
	IsUnserved bool
}

func (r Refusal) Error() string { return r.Message }

// IsFatal reports whether an error concerns the connection rather than one object.
func IsFatal(err error) bool {
	var status apierrors.APIStatus
	var refusal Refusal
	return !errors.As(err, &status) && !errors.As(err, &refusal) || apierrors.IsUnauthorized(err)
}

// Explain returns the problems that an answer of the API server means for an object.
func Explain(o manifest.Object, err error) (problems []manifest.Problem) {
	for _, message := range Messages(err) {
		problems = append(problems, manifest.Problem{Code: manifest.ClusterRefused,
			File: o.File, Object: o.String(), Message: message})
	}
	return problems
}

// Messages returns the meaning of an answer of the API server with its remedy. A conflict has a
// message for each field of another manager.
func Messages(err error) (messages []string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type != metav1.CauseTypeFieldManagerConflict {
				continue
			}
			// Its own message is like `conflict with "kubectl-edit" using apps/v1 at 2026-01-01T00:00:00Z`.
			manager, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, "conflict with "), " using ")
			messages = append(messages, fmt.Sprintf("%s: %s changed this field: remove it from the environment to "+
				"leave it to that manager, or take it back with --force-conflicts",
				strings.TrimPrefix(cause.Field, "."), manager))
		}
	}
	if len(messages) == 0 {
		messages = []string{WithRemedy(err).Error()}
	}
	return messages
}

// Messages of the API server to users who lack a right, and about a missing namespace.
var (
	missingRight     = regexp.MustCompile(`cannot [a-z]+ resource "`)
	missingNamespace = regexp.MustCompile(`namespaces "[^"]*" not found`)
)

// IsMissingRight reports whether the user lacks a right.
func IsMissingRight(err error) bool {
	return apierrors.IsForbidden(err) && missingRight.MatchString(err.Error())
}

// IsMissingNamespace reports whether the namespace of an object does not exist.
func IsMissingNamespace(err error) bool {
	return apierrors.IsNotFound(err) && missingNamespace.MatchString(err.Error())
}

// WithRemedy adds advice to an error of the API server.
func WithRemedy(err error) error {
	if advice := remedy(err); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// remedy returns advice on an answer of the API server, if render has any.
func remedy(err error) string {
	switch {
	case err == nil, meta.IsNoMatchError(err):
		return ""
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "wait until the namespace is gone, and run this again"
	case IsMissingRight(err):
		return "ask an administrator of the cluster for that right, or use another --context"
	case apierrors.IsUnauthorized(err):
		return "log in to the cluster again"
	case IsMissingNamespace(err):
		return "add a Namespace to the environment, or create it first"
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "immutable"):
		return "give the object another name, or delete it with kubectl, and run this again"
	case strings.Contains(err.Error(), "does not support dry run"):
		return "the webhook has to declare sideEffects: None or NoneOnDryRun"
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsServiceUnavailable(err):
		return "run this again"
	}
	return ""
}
