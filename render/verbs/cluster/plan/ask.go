package plan

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/verbs/cluster"
)

// ask reads the live object and the dry-run result of a step.
func (p *Plan) ask(ctx context.Context, s *Step) error {
	served, err := p.locate(s)
	if err != nil {
		return err
	}
	s.Live = nil
	if !served.Empty() {
		if s.Live, err = p.cluster.GetVersion(ctx, served, s.ID()); err != nil {
			return err
		}
	}
	if reason := p.options.Refuse(s); reason != "" {
		return cluster.Refusal{Message: reason}
	}
	if served != s.GroupVersionKind() {
		return unserved(s.GroupVersionKind())
	}
	if s.Live != nil && s.IsCreatedOnce() {
		s.DryRun = s.Live
		return nil
	}
	s.DryRun, err = p.dryRun(ctx, s)
	return err
}

// locate sets the namespace of an object as the cluster will. It returns the served version of the
// kind: the object's own version if possible, and none for a kind that the environment defines.
func (p *Plan) locate(s *Step) (served schema.GroupVersionKind, err error) {
	var scope string
	gvk := s.GroupVersionKind()
	mapping, err := p.cluster.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		mapping, err = p.cluster.RESTMapper().RESTMapping(gvk.GroupKind())
	}
	crd := p.crds[gvk.GroupKind()]
	switch {
	case err == nil:
		served = mapping.GroupVersionKind
		scope = string(mapping.Scope.Name())
	case !meta.IsNoMatchError(err):
		return served, fmt.Errorf("ask the cluster for its kinds: %w", err)
	case crd == nil:
		return served, unserved(gvk)
	default:
		scope, _, _ = unstructured.NestedString(crd.Unstructured.Object, "spec", "scope")
	}
	namespace := s.NamespaceOrDefault()
	if scope == "Cluster" || scope == string(meta.RESTScopeNameRoot) {
		namespace = ""
	}
	s.SetNamespace(namespace)
	return served, nil
}

// dryRun cannot be ssa.ResourceManager's Diff, which takes the fields of other managers and
// returns no result for an unchanged object.
func (p *Plan) dryRun(ctx context.Context, s *Step) (*unstructured.Unstructured, error) {
	result := s.DeepCopy()
	ssautils.RemoveCABundleFromCRD(result)
	options := []client.ApplyOption{client.FieldOwner(p.options.Manager(s.Live)), client.DryRunAll}
	if p.options.Force {
		options = append(options, client.ForceOwnership)
	}
	return result, p.cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(result), options...)
}

// WithoutServerFields returns a copy of a live object without status and the metadata that the
// API server sets.
func WithoutServerFields(live *unstructured.Unstructured) *unstructured.Unstructured {
	live = live.DeepCopy()
	registry.DropServerFields(live)
	return live
}

func isUnchanged(s *Step) bool {
	return equality.Semantic.DeepEqual(WithoutServerFields(s.Live).Object, WithoutServerFields(s.DryRun).Object)
}

func unserved(gvk schema.GroupVersionKind) error {
	message := fmt.Sprintf("the cluster has no kind %s of %s: add its CustomResourceDefinition to the environment, "+
		"or first install its provider", gvk.Kind, gvk.GroupVersion())
	return cluster.Refusal{Message: message, IsUnserved: true}
}

// mayPass reports whether an object may be accepted once other objects of the environment are
// applied.
func (p *Plan) mayPass(s *Step, err error) bool {
	var refusal cluster.Refusal
	isRefused := errors.As(err, &refusal)
	crd := p.crds[s.GroupVersionKind().GroupKind()]
	namespace := p.namespaces[s.GetNamespace()]
	switch {
	case refusal.IsUnserved:
		return crd.IsPending() || crd != nil && p.IsSettling
	case isRefused, cluster.IsMissingRight(err):
		return false
	case isMissingName(err, p.names):
		return true
	case p.IsSettling: // the API server may still judge by the previous definition or Namespace
		return crd.IsPending() || apierrors.IsForbidden(err) && namespace.IsPending() ||
			apierrors.IsNotFound(err) && (crd != nil || namespace != nil)
	case namespace.IsPending():
		// Pod Security, for example
		return cluster.IsMissingNamespace(err) || crd.IsPending() || apierrors.IsForbidden(err)
	}
	return crd.IsPending()
}

var missingName = regexp.MustCompile(`"([^"\s]+)" not found|with name (\S+) was found`)

// isMissingName reports whether the API server misses an object with one of the names, such as
// the ServiceAccount or PriorityClass of a Pod.
func isMissingName(err error, names map[string]bool) bool {
	for _, match := range missingName.FindAllStringSubmatch(err.Error(), -1) {
		if names[match[1]+match[2]] && !cluster.IsMissingNamespace(err) {
			return true
		}
	}
	return false
}
