package apply

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

	"example.com/gatehouse/render/object"
)

// explain says what an answer of the API server to an object means, and the way out.
func explain(m Manifest, err error) (problems []object.Problem) {
	for _, message := range messages(err) {
		problems = append(problems, m.problem(message))
	}
	return problems
}

// messages are what an answer of the API server means: one for each field that others manage.
func messages(err error) (messages []string) {
	var dryRun *ssaerrors.DryRunErr
	if errors.As(err, &dryRun) {
		err = dryRun.Unwrap() // the object is named anyway
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return []string{err.Error()}
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Type == metav1.CauseTypeFieldManagerConflict {
				messages = append(messages, conflict(cause))
			}
		}
	}
	if len(messages) > 0 {
		return messages
	}
	return []string{err.Error() + wayOut(err)}
}

// managerOfConflict matches who manages a field, in quotes, in the cause of a conflict.
var managerOfConflict = regexp.MustCompile(`^conflict with ("(?:[^"\\]|\\.)*")`)

// conflict says who manages a field.
func conflict(cause metav1.StatusCause) string {
	manager := "somebody else"
	if match := managerOfConflict.FindStringSubmatch(cause.Message); match != nil {
		manager = match[1]
	}
	return fmt.Sprintf("%s: %s changed this field: leave it out of the environment where that is to own it, or take it back with --force-conflicts", strings.TrimPrefix(cause.Field, "."), manager)
}

// noRight matches what the API server says to whom it gives no right.
var noRight = regexp.MustCompile(`cannot [a-z]+ resource "`)

// wayOut is what to do about an answer of the API server; empty where that says it.
func wayOut(err error) string {
	message := err.Error()
	switch {
	case meta.IsNoMatchError(err):
		return ""
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ": wait until the namespace is gone, and run this again"
	case apierrors.IsForbidden(err) && noRight.MatchString(message):
		return ": ask whoever runs the cluster for that right, or use another --context"
	case apierrors.IsUnauthorized(err):
		return ": log in to the cluster again"
	case isMissingNamespace(err):
		return ": add a Namespace to the environment, or create it first"
	case apierrors.IsInvalid(err) && strings.Contains(message, "immutable"):
		return ": give the object another name, or delete it with kubectl, and run this again"
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return ": run this again"
	}
	return ""
}

// isMissingNamespace says whether it is the namespace of an object that there is not.
func isMissingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return status.Status().Details.Kind == "namespaces"
}

// isMissing says whether an answer is that something is missing which has one of some names,
// as the ServiceAccount or PriorityClass of a Pod.
func isMissing(err error, names map[string]bool) bool {
	for _, match := range missingName.FindAllStringSubmatch(err.Error(), -1) {
		if names[match[1]+match[2]] {
			return true
		}
	}
	return false
}

var missingName = regexp.MustCompile(`"([^"\s]+)" not found|with name (\S+) was found`)

// few returns problems with those together that differ in nothing but the object: a right that
// is missing is missing for many.
func few(problems []object.Problem) (kept []object.Problem) {
	type likeness struct {
		message string
		warning bool
	}
	first, more := map[likeness]int{}, map[likeness]int{}
	for _, p := range problems {
		_, name, _ := strings.Cut(p.Object, " ")
		_, short, ok := strings.Cut(name, "/")
		if !ok {
			short = name
		}
		kind, _, _ := strings.Cut(p.Object, " ")
		like := likeness{kind + strings.ReplaceAll(p.Message, fmt.Sprintf("%q", short), ""), p.Warning}
		if _, isThere := first[like]; isThere && noRight.MatchString(p.Message) {
			more[like]++
			continue
		}
		first[like] = len(kept)
		kept = append(kept, p)
	}
	for like, n := range more {
		kept[first[like]].Message += fmt.Sprintf(" (and %d more like it)", n)
	}
	return kept
}
