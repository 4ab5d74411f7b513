package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	ssaerrors "github.com/fluxcd/pkg/ssa/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/manifest"
)

// refusal is the error of an object that render refuses, rather than the API server.
type refusal struct {
	message    string
	isUnserved bool // the cluster does not know its kind, or the version of it
}

func (r refusal) Error() string { return r.message }

func unserved(gvk schema.GroupVersionKind) error {
	message := fmt.Sprintf("the cluster has no kind %s of %s: add its CustomResourceDefinition to the environment, or install first what brings it", gvk.Kind, gvk.GroupVersion())
	return refusal{message, true}
}

// isFatal reports whether an error is of the connection, rather than of one object.
func isFatal(err error) bool {
	var status apierrors.APIStatus
	var refused refusal
	return !errors.As(err, &status) && !errors.As(err, &refused) || apierrors.IsUnauthorized(err)
}

// explain returns the problems with an object that an answer of the API server means.
func explain(o manifest.Object, err error) (problems []manifest.Problem) {
	for _, message := range messages(err) {
		problems = append(problems, manifest.Problem{File: o.File, Object: o.String(), Message: message})
	}
	return problems
}

// messages returns what an answer of the API server means, and the way out: one message for
// each field that others manage.
func messages(err error) (messages []string) {
	var dryRun *ssaerrors.DryRunErr
	if errors.As(err, &dryRun) {
		err = dryRun.Unwrap() // the object is named anyway
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == metav1.CauseTypeFieldManagerConflict {
				messages = append(messages, conflictMessage(cause))
			}
		}
	}
	if len(messages) > 0 {
		return messages
	}
	return []string{withWayOut(err).Error()}
}

// conflictMessage returns a message that names the manager of a field: what the API server says of
// it is like `conflict with "kubectl-edit" using apps/v1 at 2026-01-01T00:00:00Z`.
func conflictMessage(cause metav1.StatusCause) string {
	manager, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, "conflict with "), " using ")
	return fmt.Sprintf("%s: %s changed this field: leave it out of the environment where that is to own it, or take it back with --force-conflicts", strings.TrimPrefix(cause.Field, "."), manager)
}

// What the API server says to users who lack a right, and of an object whose namespace is missing.
var (
	missingRight     = regexp.MustCompile(`cannot [a-z]+ resource "`)
	missingNamespace = regexp.MustCompile(`namespaces "[^"]*" not found`)
)

func isMissingRight(err error) bool {
	return apierrors.IsForbidden(err) && missingRight.MatchString(err.Error())
}

func isMissingNamespace(err error) bool {
	return apierrors.IsNotFound(err) && missingNamespace.MatchString(err.Error())
}

// withWayOut returns an error of the API server with what to do about it.
func withWayOut(err error) error {
	if out := wayOut(err); out != "" {
		return fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// wayOut returns what to do about an answer of the API server; empty where that says it.
func wayOut(err error) string {
	switch {
	case err == nil, meta.IsNoMatchError(err):
		return ""
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "wait until the namespace is gone, and run this again"
	case isMissingRight(err):
		return "ask an administrator of the cluster for that right, or use another --context"
	case apierrors.IsUnauthorized(err):
		return "log in to the cluster again"
	case isMissingNamespace(err):
		return "add a Namespace to the environment, or create it first"
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "immutable"):
		return "give the object another name, or delete it with kubectl, and run this again"
	case strings.Contains(err.Error(), "does not support dry run"):
		return "the webhook has to declare sideEffects: None or NoneOnDryRun"
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return "run this again"
	}
	return ""
}

// isMissingName reports whether an answer is that something of one of some names is missing, such
// as the ServiceAccount or PriorityClass of a Pod.
func isMissingName(err error, names map[string]bool) bool {
	for _, match := range missingName.FindAllStringSubmatch(err.Error(), -1) {
		if names[match[1]+match[2]] && !isMissingNamespace(err) {
			return true
		}
	}
	return false
}

var missingName = regexp.MustCompile(`"([^"\s]+)" not found|with name (\S+) was found`)
