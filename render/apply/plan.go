package apply

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/object"
)

// onlyIfAbsent is on what is created once and then left alone: the Pods of Ats.
var onlyIfAbsent = map[string]string{"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}

// brought is what an environment brings for its own objects to use.
type brought struct {
	crds       map[schema.GroupKind]*step
	namespaces map[string]*step
	names      map[string]bool
}

// step is what to do about one object.
type step struct {
	Manifest
	live   *unstructured.Unstructured // nil where the cluster has none
	action string
	// deferred is why the cluster cannot judge the object before others are there; nil where
	// it has.
	deferred error
	problems []object.Problem
}

// plan is what to do about the objects of an environment, in apply order.
type plan struct {
	definitions []*step // what other objects need first
	rest        []*step
	ids         map[object.ID]bool
}

func (p *plan) inOrder() []*step { return slices.Concat(p.definitions, p.rest) }

func (p *plan) manifests() (manifests []Manifest) {
	for _, s := range p.inOrder() {
		manifests = append(manifests, s.Manifest)
	}
	return manifests
}

// plan finds out what to do about each object. Errors among its problems are why it must not
// be done.
func (a *applier) plan(ctx context.Context, manifests []Manifest) (*plan, []object.Problem) {
	p := &plan{ids: map[object.ID]bool{}}
	a.brought = brought{map[schema.GroupKind]*step{}, map[string]*step{}, map[string]bool{"default": true}}
	for _, m := range manifests {
		s := &step{Manifest: m}
		if ssautils.IsClusterDefinition(m.Unstructured) {
			p.definitions = append(p.definitions, s)
		} else {
			p.rest = append(p.rest, s)
		}
		switch {
		case ssautils.IsCRD(m.Unstructured):
			a.brought.crds[KindOfCRD(m.Unstructured)] = s
		case ssautils.IsNamespace(m.Unstructured):
			a.brought.namespaces[m.GetName()] = s
			ownField(m.Unstructured)
		}
		a.brought.names[m.GetName()] = true
	}
	inApplyOrder(p.definitions)
	inApplyOrder(p.rest)
	problems := a.checkNamespaces(ctx, manifests)
	if object.HasErrors(problems) {
		return p, problems
	}
	problems = append(problems, a.judge(ctx, p.definitions)...)
	problems = append(problems, a.judge(ctx, p.rest)...)
	for _, s := range p.inOrder() {
		p.ids[s.id()] = true
	}
	home := object.ID{Kind: "ConfigMap", Namespace: homeNamespace, Name: a.manager}
	if p.ids[home] {
		problems = append(problems, object.Problem{Object: home.String(), Message: "is where render apply keeps its inventory: give it another name"})
	}
	return p, problems
}

// ownField has an environment own a field of a Namespace, the label that each one has anyway:
// where git has no field but the name, the cluster would not say who applied it.
func ownField(namespace *unstructured.Unstructured) {
	labels := namespace.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelMetadataName] = namespace.GetName()
	namespace.SetLabels(labels)
}

// KindOfCRD is the kind that a CustomResourceDefinition defines.
func KindOfCRD(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// inApplyOrder puts steps in the order in which Flux applies objects.
func inApplyOrder(steps []*step) {
	objects, of := make(ssa.SortableUnstructureds, len(steps)), map[*unstructured.Unstructured]*step{}
	for i, s := range steps {
		objects[i], of[s.Unstructured] = s.Unstructured, s
	}
	sort.Sort(objects)
	for i, o := range objects {
		steps[i] = of[o]
	}
}

// checkNamespaces reports namespaces of the environment that are being deleted. Whoever may not
// look at namespaces learns it when objects are refused.
func (a *applier) checkNamespaces(ctx context.Context, manifests []Manifest) (problems []object.Problem) {
	a.Progress("looking at namespaces")
	isSeen := map[string]bool{"": true}
	for _, m := range manifests {
		name := m.GetNamespace()
		if ssautils.IsNamespace(m.Unstructured) {
			name = m.GetName()
		}
		if isSeen[name] {
			continue
		}
		isSeen[name] = true
		namespace := &corev1.Namespace{}
		err := a.cluster.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if err == nil && namespace.DeletionTimestamp != nil {
			problems = append(problems, object.Problem{Object: "Namespace " + name, Message: fmt.Sprintf("is being deleted: wait until it is gone, as with kubectl wait --for=delete namespace/%s, and run this again", name)})
		}
	}
	return problems
}

// judge has the cluster judge objects, several at a time.
func (a *applier) judge(ctx context.Context, steps []*step) (problems []object.Problem) {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i, s := range steps {
		if i%concurrency == 0 {
			a.Progress(fmt.Sprintf("asking the cluster about %d of %d objects", i+1, len(steps)))
		}
		group.Go(func() error {
			s.deferred, s.problems = nil, nil
			a.judgeOne(ctx, s)
			return nil
		})
	}
	_ = group.Wait() // none has an error
	for _, s := range steps {
		problems = append(problems, s.problems...)
	}
	return problems
}

// judgeOne finds out what to do about an object.
func (a *applier) judgeOne(ctx context.Context, s *step) {
	crd := a.brought.crds[s.GroupVersionKind().GroupKind()]
	isKnown := a.settleNamespace(s, crd)
	if len(s.problems) > 0 {
		return
	}
	if !isKnown {
		s.action, s.deferred = Created, fmt.Errorf("the cluster does not know kind %s yet", s.GetKind())
		return
	}
	if a.brought.namespaces[s.GetNamespace()].isAwaited() && !a.isFirst(s) {
		s.action, s.deferred = Created, fmt.Errorf("namespace %s is not there yet", s.GetNamespace())
		return
	}
	if err := a.look(ctx, s); err != nil {
		s.problems = explain(s.Manifest, err)
		return
	}
	if message := a.refuse(s); message != "" {
		s.problems = []object.Problem{s.problem(message)}
		return
	}
	if crd.isPending() {
		s.action, s.deferred = s.likely(), fmt.Errorf("CustomResourceDefinition %s is not as it will be", crd.GetName())
		return
	}
	a.dryRun(ctx, s, crd != nil)
}

// isFirst says whether an object is the first of its kind in a namespace that is asked about:
// in a namespace that is not there yet, the cluster can judge no more than whether one has the
// right.
func (a *applier) isFirst(s *step) bool {
	of := object.ID{Group: s.GroupVersionKind().Group, Kind: s.GetKind(), Namespace: s.GetNamespace()}
	_, isThere := a.asked.LoadOrStore(of, true)
	return !isThere
}

// isPending says whether there is an object that has yet to be applied.
func (s *step) isPending() bool { return s != nil && s.action != Unchanged && len(s.problems) == 0 }

// isAwaited says whether there is an object that the cluster does not have yet.
func (s *step) isAwaited() bool { return s.isPending() && s.live == nil }

// likely is what will be done about an object that the cluster cannot judge yet.
func (s *step) likely() string {
	if s.live == nil {
		return Created
	}
	return Configured
}

// settleNamespace finds out whether the cluster knows the kind of an object, and whether its
// objects have namespaces. A kind that the cluster does not know may come with the environment.
func (a *applier) settleNamespace(s *step, crd *step) (isKnown bool) {
	if crd.isAwaited() {
		return s.settleScope(scopeOf(crd) == "Namespaced", false)
	}
	gvk := s.GroupVersionKind()
	mapping, err := a.cluster.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil:
		return s.settleScope(mapping.Scope.Name() == meta.RESTScopeNameNamespace, true)
	case crd.isPending() || crd != nil && a.settles:
		return s.settleScope(scopeOf(crd) == "Namespaced", false)
	case meta.IsNoMatchError(err):
		s.problems = []object.Problem{s.problem(fmt.Sprintf("the cluster has no kind %s of %s: add its CustomResourceDefinition to the environment, or install first what brings it", gvk.Kind, s.GetAPIVersion()))}
	default:
		s.problems = explain(s.Manifest, fmt.Errorf("ask the cluster for its kinds: %w", err))
	}
	return false
}

func scopeOf(crd *step) string {
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	return scope
}

// settleScope settles the namespace of an object whose kind has namespaces, or none, and returns
// whether the cluster knows it.
func (s *step) settleScope(hasNamespace, isKnown bool) bool {
	switch {
	case hasNamespace && s.GetNamespace() == "":
		s.problems = []object.Problem{s.problem("has no namespace: write one, or namespace: in a kustomization, and render")}
	case !hasNamespace:
		s.SetNamespace("")
	}
	return isKnown
}

// look reads the object of the cluster.
func (a *applier) look(ctx context.Context, s *step) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(s.GroupVersionKind())
	err := a.cluster.Get(ctx, client.ObjectKeyFromObject(s.Unstructured), live)
	switch {
	case err == nil:
		s.live = live
	case apierrors.IsNotFound(err):
		s.live = nil
	default:
		return err
	}
	return nil
}

// refuse says why an object must not be applied; empty where it may.
func (a *applier) refuse(s *step) string {
	if listedBy := a.others[s.id()]; s.live == nil && listedBy != "" {
		return fmt.Sprintf("belongs to environment %s, whose inventory has it: apply that again, or run render delete --env %s", listedBy, listedBy)
	}
	if s.live == nil {
		return ""
	}
	return refuse(s.live, s.Unstructured, a.manager, a.others[s.id()])
}

// Refuse says why an environment must not be applied to an object of a cluster; empty where it
// may.
func Refuse(environment string, live, wanted *unstructured.Unstructured) string {
	return refuse(live, wanted, Manager(environment), "")
}

func refuse(live, wanted *unstructured.Unstructured, manager, listedBy string) string {
	if live.GetDeletionTimestamp() != nil {
		return "is being deleted: wait until it is gone, and run this again"
	}
	if message := refuseOwned(live, manager, listedBy); message != "" {
		return message
	}
	if ssautils.IsCRD(live) {
		return refuseOlder(live, wanted)
	}
	return ""
}

// dryRun asks the cluster what would become of an object. It is deferred if that needs others
// which the environment brings.
func (a *applier) dryRun(ctx context.Context, s *step, isBrought bool) {
	manager := a.manage(seen{a.cluster, s.live})
	entry, _, _, err := manager.Diff(ctx, s.DeepCopy(), ssa.DiffOptions{IfNotPresentSelector: onlyIfAbsent})
	switch {
	case err == nil:
		s.action = string(entry.Action)
		if entry.Action == ssa.SkippedAction {
			s.action = Unchanged
		}
	case isMissingNamespace(err) && a.brought.namespaces[s.GetNamespace()].isAwaited(), isMissing(err, a.brought.names), isBrought && a.settles && apierrors.IsNotFound(err):
		s.action, s.deferred = s.likely(), err
	default:
		s.problems = explain(s.Manifest, err)
	}
}

const (
	// settling is how long what the cluster makes of a new namespace or kind may take.
	settling = 30 * time.Second
	// glance is how long to wait before looking again.
	glance = 250 * time.Millisecond
)

// applyPlan applies definitions, waits until they hold, and then the rest, as soon as the
// cluster has judged it.
func (a *applier) applyPlan(ctx context.Context, p *plan) error {
	if err := a.applyAll(ctx, p.definitions); err != nil {
		return err
	}
	if problems := a.waitForDefinitions(ctx, p.definitions); len(problems) > 0 {
		return stopped(problems)
	}
	for _, s := range p.definitions {
		s.action = Unchanged
	}
	a.settles = true
	deadline := time.Now().Add(min(settling, a.Timeout))
	for rest := p.rest; len(rest) > 0; {
		ready, deferred := split(rest)
		problems := a.judge(ctx, deferred)
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(problems) > 0 {
			return stopped(problems)
		}
		more, deferred := split(deferred)
		ready = append(ready, more...)
		inApplyOrder(ready)
		if err := a.applyAll(ctx, ready); err != nil {
			return err
		}
		if rest = deferred; len(ready) > 0 {
			continue
		}
		if time.Now().After(deadline) {
			return stopped(whyDeferred(deferred))
		}
		if err := pause(ctx, glance); err != nil {
			return err
		}
	}
	return nil
}

// split returns the steps that can be taken and those that are deferred.
func split(steps []*step) (ready, deferred []*step) {
	for _, s := range steps {
		if s.deferred != nil {
			deferred = append(deferred, s)
		} else {
			ready = append(ready, s)
		}
	}
	return ready, deferred
}

func whyDeferred(steps []*step) (problems []object.Problem) {
	for _, s := range steps {
		problems = append(problems, explain(s.Manifest, s.deferred)...)
	}
	return problems
}

// applyAll applies objects, those of one kind several at a time.
func (a *applier) applyAll(ctx context.Context, steps []*step) error {
	for _, kind := range byKind(steps) {
		a.Progress(fmt.Sprintf("applying %d of kind %s", len(kind), kind[0].GetKind()))
		done, errs := make([]string, len(kind)), make([]error, len(kind))
		var group errgroup.Group
		group.SetLimit(concurrency)
		for i, s := range kind {
			group.Go(func() error { done[i], errs[i] = a.applyOne(ctx, s); return nil })
		}
		_ = group.Wait() // errs has them
		var problems []object.Problem
		for i, s := range kind {
			if errs[i] != nil {
				problems = append(problems, explain(s.Manifest, errs[i])...)
			} else {
				a.report(s.id(), done[i])
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if len(problems) > 0 {
			return stopped(problems)
		}
	}
	return nil
}

// byKind divides steps that are in apply order.
func byKind(steps []*step) (kinds [][]*step) {
	for i, s := range steps {
		if i == 0 || s.GroupVersionKind() != steps[i-1].GroupVersionKind() {
			kinds = append(kinds, nil)
		}
		kinds[len(kinds)-1] = append(kinds[len(kinds)-1], s)
	}
	return kinds
}

// applyOne applies an object unless it is as it is to be, and returns what was done.
func (a *applier) applyOne(ctx context.Context, s *step) (action string, err error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	switch isOnce := ssautils.AnyInMetadata(s.Unstructured, onlyIfAbsent); {
	case a.ForceConflicts, isOnce && s.isPending(): // what is applied once, somebody may have applied meanwhile
	case s.isPending():
		return s.action, a.cluster.Patch(ctx, s.DeepCopy(), client.Apply, client.FieldOwner(a.manager)) //nolint:staticcheck // as ssa does it
	default:
		return Unchanged, nil
	}
	options := ssa.ApplyOptions{IfNotPresentSelector: onlyIfAbsent}
	if a.ForceConflicts {
		options.Cleanup = takeFromKubectl
	}
	entry, err := a.manage(a.cluster).Apply(ctx, s.DeepCopy(), options)
	switch {
	case err != nil:
		return "", err
	case entry.Action == ssa.SkippedAction:
		return Unchanged, nil
	}
	return string(entry.Action), nil
}

// takeFromKubectl leaves nothing to kubectl that it applied, as Flux does: what is taken out of
// git later would stay in the cluster.
var takeFromKubectl = ssa.ApplyCleanupOptions{
	Annotations: []string{corev1.LastAppliedConfigAnnotation},
	FieldManagers: []ssa.FieldManager{
		{Name: "kubectl", OperationType: "Apply"},
		{Name: "kubectl", OperationType: "Update"},
		{Name: "before-first-apply", OperationType: "Update"},
	},
}

// pause waits a moment, or for the end of a run.
func pause(ctx context.Context, moment time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(moment):
		return nil
	}
}
