package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	ssaerrors "github.com/fluxcd/pkg/ssa/errors"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/apply"
	"example.com/gatehouse/render/object"
)

// right is one that whoever compares does not have.
type right struct{ verb, resource, namespace string }

func (r right) String() string {
	if r.namespace == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + " in namespace " + r.namespace
}

// isFatal says whether an error is of the connection, rather than of one object.
func isFatal(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsUnauthorized(err)
}

// isMissingRight tells the answer to whom it gives no right from that of admission.
func isMissingRight(err error, verb string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "+verb+" resource ")
}

// refused is the finding of an object that the API server does not let be compared, or would
// not let be applied. An error is for what keeps everything from being compared.
func (c *comparison) refused(f finding, verb string, mapping *meta.RESTMapping, err error) (finding, error) {
	isForced := ssautils.AnyInMetadata(f.wanted.Unstructured, map[string]string{fluxDomain + "/force": "enabled"})
	switch {
	case isFatal(err):
		return f, err
	case verb == "patch" && isMissingRight(err, "create"):
		verb = "create"
		fallthrough
	case isMissingRight(err, verb):
		f.missing = right{verb, mapping.Resource.GroupResource().String(), f.wanted.GetNamespace()}
		return f, nil
	case verb == "get", apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return f.failed("cannot be compared: %v: try again", err), nil
	case strings.Contains(err.Error(), "does not support dry run"):
		return f.failed("cannot be compared: %v: the webhook has to declare sideEffects: None or NoneOnDryRun", err), nil
	case f.live != nil && isForced && ssaerrors.IsImmutableError(err):
		return f.predicted("Flux deletes the object and makes it anew, as " + fluxDomain + "/force has it"), nil
	}
	if before := c.appliedBefore(f.wanted.Unstructured, err); before != "" {
		return f.predicted(fmt.Sprintf("the API server refuses it now, before %s is applied: %v", before, err)), nil
	}
	return f.failed("the API server refuses it, and would refuse a sync: %v", err), nil
}

// appliedBefore is what else the environment changes, which may be why the API server refuses
// an object now; empty where nothing is.
func (c *comparison) appliedBefore(o *unstructured.Unstructured, err error) string {
	gk := o.GroupVersionKind().GroupKind()
	for _, m := range c.Objects {
		id := idOf(m.Unstructured)
		isBehind := ssautils.IsCRD(m.Unstructured) && apply.KindOfCRD(m.Unstructured) == gk || ssautils.IsNamespace(m.Unstructured) && m.GetName() == o.GetNamespace()
		if c.staged[id] && isBehind {
			return object.Object{Unstructured: m.Unstructured}.String()
		}
	}
	account, _, _ := unstructured.NestedString(o.Object, "spec", "serviceAccountName")
	id := object.ID{Kind: "ServiceAccount", Namespace: idOf(o).Namespace, Name: account}
	if gk == (schema.GroupKind{Kind: "Pod"}) && account != "" && c.brought[id] && strings.Contains(err.Error(), "service account") {
		return id.String()
	}
	return ""
}

// problemsOf are those of objects, and the rights that are missing, each once.
func problemsOf(findings []finding) (problems []object.Problem) {
	lacking := map[right][]string{}
	for _, f := range findings {
		if f.problem != nil {
			problems = append(problems, *f.problem)
		}
		if f.found != nil && f.found.GetDeletionTimestamp() != nil && !ssautils.IsNamespace(f.found) {
			p := f.failed("is being deleted since %s: once it is gone, the next sync makes it anew", since(f.found)).problem
			p.Warning = true
			problems = append(problems, *p)
		}
		if f.missing != (right{}) {
			lacking[f.missing] = append(lacking[f.missing], object.Object{Unstructured: f.wanted.Unstructured}.String())
		}
	}
	for _, r := range sortedRights(lacking) {
		objects := lacking[r]
		which := objects[0]
		if more := len(objects) - 1; more > 0 {
			which += fmt.Sprintf(" and %d more", more)
		}
		why := ""
		if r.verb != "get" {
			why = ", which a dry run needs though it changes nothing"
		}
		problems = append(problems, object.Problem{Message: fmt.Sprintf("%s: you have no right to %s%s: ask for it, or name another --context", which, r, why)})
	}
	return problems
}

func sortedRights[T any](rights map[right]T) []right {
	return slices.SortedFunc(maps.Keys(rights), func(a, b right) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.resource, b.resource), strings.Compare(a.verb, b.verb))
	})
}

// namespace is what a cluster has of a namespace.
type namespace struct {
	isThere bool
	problem *object.Problem
}

// readNamespaces finds out which namespaces of the environment are there.
func (c *comparison) readNamespaces(ctx context.Context) error {
	objects, brought := map[string]int{}, map[string]bool{}
	for _, m := range c.Objects {
		objects[m.GetNamespace()]++
		if ssautils.IsNamespace(m.Unstructured) {
			brought[m.GetName()] = true
		}
	}
	delete(objects, "")
	names := slices.Sorted(maps.Keys(objects))
	states := make([]namespace, len(names))
	err := concurrently(ctx, len(names), func(ctx context.Context, i int) (err error) {
		states[i], err = c.readNamespace(ctx, names[i], objects[names[i]], brought[names[i]])
		return err
	})
	c.namespaces = map[string]namespace{"default": {isThere: true}}
	for i, name := range names {
		c.namespaces[name] = states[i]
	}
	return err
}

func (c *comparison) readNamespace(ctx context.Context, name string, objects int, isBrought bool) (namespace, error) {
	found := newObject("v1", "Namespace", "", name)
	err := c.Get(ctx, keyOf(found), found)
	problem := func(format string, args ...any) (namespace, error) {
		return namespace{problem: &object.Problem{Object: "Namespace " + name, Message: fmt.Sprintf(format, args...)}}, nil
	}
	switch {
	case apierrors.IsNotFound(err) && isBrought:
		return namespace{}, nil
	case apierrors.IsNotFound(err):
		return problem("is neither in the cluster nor in the environment, which has %d objects in it: add it to the environment, or create it first", objects)
	case apierrors.IsForbidden(err):
		return namespace{isThere: true}, nil // each object in it says whether it is
	case err != nil && isFatal(err):
		return namespace{}, err
	case err != nil:
		return problem("cannot be read: %v", err)
	case found.GetDeletionTimestamp() != nil:
		return problem("is being deleted since %s, with all that is in it: wait until it is gone, and compare again", since(found))
	}
	return namespace{isThere: true}, nil
}

// since is when an object began to be deleted.
func since(o *unstructured.Unstructured) string {
	return o.GetDeletionTimestamp().UTC().Format(time.RFC3339)
}

func (c *comparison) namespaceProblems() (problems []object.Problem) {
	for _, name := range slices.Sorted(maps.Keys(c.namespaces)) {
		if p := c.namespaces[name].problem; p != nil {
			problems = append(problems, *p)
		}
	}
	return problems
}
