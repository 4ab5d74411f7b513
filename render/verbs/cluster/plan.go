package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/manifest"
)

// concurrency is how many requests are under way at a time.
const concurrency = 8

// onlyIfAbsent marks objects that are created once and then left alone: the Pods of Ats.
var onlyIfAbsent = map[string]string{fluxDomain + "/ssa": "IfNotPresent"}

// planner finds out what applying an environment would do to a cluster.
type planner struct {
	cluster  *Cluster
	progress func(step string)

	// manager returns the field manager that applies an object; live is nil where the cluster
	// does not have the object.
	manager func(live *unstructured.Unstructured) string
	// refuse returns why an object must not be applied; empty where it may.
	refuse func(s *step) string
	// force takes fields from those who changed them.
	force bool

	crds       map[schema.GroupKind]*step // that the environment brings
	namespaces map[string]*step           // that the environment brings
	names      map[string]bool            // of all objects of the environment
	// isSettling is set once the definitions were applied: what the cluster makes of them takes
	// a moment.
	isSettling bool
}

// step is what applying one object would do.
type step struct {
	manifest.Object
	live   *unstructured.Unstructured // nil where the cluster does not have the object
	after  *unstructured.Unstructured // what the API server makes of it; nil where deferred
	action Action
	// deferred is why the cluster cannot judge the object before others are applied; nil where
	// it has judged it.
	deferred error
	problems []manifest.Problem
}

// idsOf returns the IDs of the objects of steps.
func idsOf(steps []*step) map[manifest.ID]bool {
	ids := map[manifest.ID]bool{}
	for _, s := range steps {
		ids[s.ID()] = true
	}
	return ids
}

// plan asks the cluster about each object, and returns the steps in apply order. An environment
// with errors among the problems must not be applied.
func (p *planner) plan(ctx context.Context, manifests []manifest.Object) (steps []*step, problems []manifest.Problem, err error) {
	steps = make([]*step, len(manifests))
	p.crds, p.namespaces, p.names = map[schema.GroupKind]*step{}, map[string]*step{}, map[string]bool{"default": true}
	for i, m := range manifests {
		steps[i] = &step{Object: m}
		switch {
		case ssautils.IsCRD(m.Unstructured):
			p.crds[definedKind(m.Unstructured)] = steps[i]
		case ssautils.IsNamespace(m.Unstructured):
			p.namespaces[m.GetName()] = steps[i]
		}
		p.names[m.GetName()] = true
	}
	slices.SortFunc(steps, func(a, b *step) int { return compareInApplyOrder(a.ID(), b.ID()) })
	definitions, rest := cutDefinitions(steps)
	problems, err = p.judge(ctx, definitions)
	if err != nil {
		return nil, nil, err
	}
	more, err := p.judge(ctx, rest)
	return steps, append(problems, more...), err
}

// cutDefinitions cuts steps in apply order after those that other objects need.
func cutDefinitions(steps []*step) (definitions, rest []*step) {
	for i, s := range steps {
		if !ssautils.IsClusterDefinition(s.Unstructured) {
			return steps[:i:i], steps[i:]
		}
	}
	return steps, nil
}

// compareInApplyOrder compares objects by the order in which Flux applies them.
func compareInApplyOrder(a, b manifest.ID) int {
	switch metas := (ssa.SortableMetas{metaOf(a), metaOf(b)}); {
	case metas.Less(0, 1):
		return -1
	case metas.Less(1, 0):
		return 1
	}
	return 0
}

// definedKind returns the kind that a CustomResourceDefinition defines.
func definedKind(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// judge asks the cluster about objects, several at a time. An error is of the connection.
func (p *planner) judge(ctx context.Context, steps []*step) (problems []manifest.Problem, err error) {
	p.progress(fmt.Sprintf("asking the cluster about %d objects", len(steps)))
	err = concurrently(ctx, len(steps), func(ctx context.Context, i int) error { return p.judgeOne(ctx, steps[i]) })
	for _, s := range steps {
		problems = append(problems, s.problems...)
	}
	return problems, err
}

// concurrently calls do for each i from 0 to n-1, several at a time, until one fails.
func concurrently(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}

// judgeOne finds out what applying an object would do, that it has to wait for others, or what
// is wrong with it.
func (p *planner) judgeOne(ctx context.Context, s *step) error {
	s.action, s.deferred, s.problems, s.after = "", nil, nil, nil
	err := p.ask(ctx, s)
	switch {
	case s.live == nil:
		s.action = Created
	case err == nil && isUnchanged(s.live, s.after):
		s.action = Unchanged
	default:
		s.action = Configured
	}
	switch {
	case err == nil:
	case isFatal(err):
		return err
	case p.mayPass(s, err):
		s.deferred = err
	default:
		s.problems = explain(s.Object, err)
	}
	return nil
}

// ask reads the object of the cluster, and what the API server would make of it.
func (p *planner) ask(ctx context.Context, s *step) error {
	served, err := p.locate(s)
	if err != nil {
		return err
	}
	s.live = nil
	if !served.Empty() {
		if s.live, err = p.cluster.read(ctx, served, s.ID()); err != nil {
			return err
		}
	}
	if message := p.refuse(s); message != "" {
		return refusal{message: message}
	}
	if served != s.GroupVersionKind() {
		return unserved(s.GroupVersionKind())
	}
	if s.live != nil && ssautils.AnyInMetadata(s.Unstructured, onlyIfAbsent) {
		s.after = s.live
		return nil
	}
	s.after, err = p.dryRun(ctx, s)
	return err
}

// locate puts an object into the namespace in which the cluster has it, and returns the version
// in which the cluster serves its kind: its own where it can, and none where the environment
// brings the kind.
func (p *planner) locate(s *step) (served schema.GroupVersionKind, err error) {
	var scope string
	gvk := s.GroupVersionKind()
	mapping, err := p.cluster.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		mapping, err = p.cluster.RESTMapper().RESTMapping(gvk.GroupKind())
	}
	crd := p.crds[gvk.GroupKind()]
	switch {
	case err == nil:
		served, scope = mapping.GroupVersionKind, string(mapping.Scope.Name())
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

// dryRun returns what the API server would make of an object.
func (p *planner) dryRun(ctx context.Context, s *step) (*unstructured.Unstructured, error) {
	after := s.DeepCopy()
	ssautils.RemoveCABundleFromCRD(after)
	options := []client.ApplyOption{client.FieldOwner(p.manager(s.live)), client.DryRunAll}
	if p.force {
		options = append(options, client.ForceOwnership)
	}
	return after, p.cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(after), options...)
}

// mayPass reports whether an answer may be another one once what the environment brings is
// applied.
func (p *planner) mayPass(s *step, err error) bool {
	crd, namespace := p.crds[s.GroupVersionKind().GroupKind()], p.namespaces[s.GetNamespace()]
	refused, isRefused := err.(refusal) //nolint:errorlint // it is never wrapped
	switch {
	case refused.isUnserved:
		return crd.isPending() || crd != nil && p.isSettling
	case isRefused, isMissingRight(err):
		return false
	case isMissingName(err, p.names):
		return true
	case p.isSettling:
		return apierrors.IsNotFound(err) && (crd != nil || namespace != nil)
	case namespace.isPending():
		return isMissingNamespace(err) || crd.isPending() || apierrors.IsForbidden(err) // such as by Pod Security
	}
	return crd.isPending()
}

// isPending reports whether there is an object that has yet to be applied.
func (s *step) isPending() bool { return s != nil && s.action != Unchanged }

// serverMetadata lists the fields of metadata that the API server keeps.
var serverMetadata = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}

// withoutServerFields returns an object of a cluster without what the API server and
// controllers keep on it.
func withoutServerFields(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	delete(o.Object, "status")
	for _, field := range serverMetadata {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o
}

func isUnchanged(live, after *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(withoutServerFields(live).Object, withoutServerFields(after).Object)
}

func warning(o manifest.Object, message string) manifest.Problem {
	return manifest.Problem{File: o.File, Object: o.String(), Message: message, Warning: true}
}
