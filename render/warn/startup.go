package warn

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
)

// Delivery is what a tool applies for one object: for a Kustomization or a HelmRelease of Flux, or an Application of
// Argo CD. It applies nothing while the cluster lacks the kind of an object (ApplyAllStaged in fluxcd/pkg/ssa, Build of
// Helm, getSyncTasks of Argo CD).
type Delivery struct {
	// Object is the delivery; it is empty for an entry that none of its objects syncs.
	manifest.Object
	// First are applied before the others: definitions and Namespaces by Flux, files of definitions by Helm.
	First, Then []manifest.Object
	// IsApart reports whether the objects are applied one by one, as by kubectl.
	IsApart bool
	// IsOpen reports whether there are more objects than are known.
	IsOpen bool
}

// dependency is an object that a delivery waits for. A ResourceSet waits for any kind, and until it is there or, if it
// says so, ready.
type dependency struct {
	APIVersion, Kind, Name, Namespace, ReadyExpr string
	Ready                                        bool
}

// deliverySpec has the fields that decide when a delivery is applied and ready.
type deliverySpec struct {
	DependsOn                      []dependency
	Wait                           bool
	HealthChecks, HealthCheckExprs []struct{ Kind, Name, Namespace string }
	TargetNamespace                string
	Install                        struct{ CreateNamespace bool }
	SyncPolicy                     struct{ SyncOptions []string }
}

// progress is a delivery in an empty cluster.
type progress struct {
	*Delivery
	deliverySpec
	starts, applies, isReady step
}

// step is a stage of a delivery: what it applies first is there once it starts.
type step struct {
	of     *progress
	needs  []need
	isDone bool
	waits  []link // if it is blocked

	order, lowest, group int // see knots
}

// need is a condition of a step, which each of some steps meets.
type need struct {
	how
	object manifest.Object
	what   string
	by     []*step
}

// how is the reason of a step to wait for others: the plainest first.
type how int

const (
	missing how = iota
	ofKind
	inNamespace
	dependsOn
	forHealth
	asApplied
	inOrder
)

func (n need) isUnmet() bool {
	return !slices.ContainsFunc(n.by, func(s *step) bool { return s.isDone })
}

// startup simulates how deliveries bring up an empty cluster: it has Kubernetes, a network, the definitions of the
// tools, and all that no delivery brings.
type startup struct {
	Input
	all      []*progress
	of       map[manifest.ID]*progress
	bringing map[any][]*step // by IDInNamespace of an object, and by schema.GroupKind of its definition
	open     []*step
}

// neverStarting warns of deliveries that wait for each other, or for one that is not there: once for each group. People
// who install something by helmfile may bring what is missing.
func neverStarting(in Input) (warnings []manifest.Problem) {
	s := startup{Input: in, of: map[manifest.ID]*progress{}, bringing: map[any][]*step{}}
	for i := range in.Deliveries {
		s.add(&in.Deliveries[i])
	}
	steps := make([]*step, 0, 3*len(s.all))
	for i, p := range s.all {
		if i > 0 {
			s.start(p)
		}
		s.apply(p)
		s.finish(p)
		steps = append(steps, &p.starts, &p.applies, &p.isReady)
	}
	for isChanged := true; isChanged; {
		isChanged = false
		for _, step := range steps {
			if !step.isDone && !slices.ContainsFunc(step.needs, need.isUnmet) {
				step.isDone = true
				isChanged = true
			}
		}
	}
	for _, k := range knots(steps) {
		if how := k.links()[0].how; how != ofKind && how != inNamespace || !in.IsPrepared() {
			warnings = append(warnings, k.warning(in))
		}
	}
	return warnings
}

// add adds a delivery, and records what it brings.
func (s *startup) add(d *Delivery) {
	p := &progress{Delivery: d}
	p.starts.of = p
	p.applies.of = p
	p.isReady.of = p
	s.all = append(s.all, p)
	if d.Unstructured != nil {
		_ = manifest.Decode(d.Object.Object["spec"], &p.deliverySpec) // a wrong type is an error of the definition
		s.of[d.IDInNamespace()] = p
		if p.Install.CreateNamespace && p.TargetNamespace != d.GetNamespace() {
			id := namespaceID(p.TargetNamespace)
			s.bringing[id] = append(s.bringing[id], &p.starts)
		}
	}
	for i, o := range slices.Concat(d.First, d.Then) {
		by := &p.applies
		if i < len(d.First) || d.IsApart {
			by = &p.starts
		}
		brings := []any{o.IDInNamespace()}
		if crd.Is(o.Unstructured) && !s.Elsewhere.Has(manifest.ID{Kind: o.GetKind(), Name: o.GetName()}) {
			brings = append(brings, crd.Kind(o.Unstructured))
		}
		for _, key := range brings {
			s.bringing[key] = append(s.bringing[key], by)
		}
	}
	if d.IsOpen {
		s.open = append(s.open, &p.applies)
	}
}

func namespaceID(name string) manifest.ID {
	return manifest.ID{Kind: "Namespace", Namespace: "default", Name: name}
}

func (d *Delivery) isOf(kind string) bool { return d.Unstructured != nil && d.GetKind() == kind }

// start sets the needs of a delivery to start. People start the entry, with what it depends on.
func (s *startup) start(p *progress) {
	own := p.IDInNamespace()
	if by := s.bringing[own]; len(by) > 0 {
		p.starts.needs = append(p.starts.needs, need{asApplied, p.Object, "", by})
	}
	for _, on := range p.DependsOn {
		id := own
		id.Name = on.Name
		id.Namespace = cmp.Or(on.Namespace, own.Namespace)
		if on.Kind != "" {
			id.Kind = on.Kind
			id.Group = manifest.Group(on.APIVersion)
		}
		n := need{dependsOn, p.Object, id.String(), nil}
		switch dependency := s.of[id]; {
		case dependency == nil && on.Kind != "": // any object, which a chart may bring
			continue
		case dependency != nil && (on.ReadyExpr != "" || on.Kind != "" && !on.Ready):
			n.by = []*step{&dependency.starts}
		case dependency != nil:
			n.by = []*step{&dependency.isReady}
		case s.all[0].Unstructured == nil, len(s.openTo("")) > 0, flux.HasVariables(id.Name), s.Elsewhere.Has(id):
			continue // it may be there
		default:
			n.how = missing
		}
		p.starts.needs = append(p.starts.needs, n)
	}
}

// openTo returns the steps that may bring an object of a kind: a chart that is not here at most definitions.
func (s *startup) openTo(kind string) (steps []*step) {
	for _, step := range s.open {
		if kind == "CustomResourceDefinition" || !step.of.isOf("HelmRelease") {
			steps = append(steps, step)
		}
	}
	return steps
}

// apply sets the needs of a delivery to be applied: the kinds and the Namespaces of its objects. Argo CD creates these
// one by one.
func (s *startup) apply(p *progress) {
	p.applies.needs = append(p.applies.needs, need{how: inOrder, by: []*step{&p.starts}})
	if p.IsApart {
		return
	}
	isKnown := map[any]bool{}
	for _, o := range p.Then {
		kind := o.GroupVersionKind().GroupKind()
		id := namespaceID(o.GetNamespace())
		if by := s.bringing[kind]; len(by) > 0 && !isKnown[kind] && !s.isDefined(kind) && !p.skips(o, by) {
			isKnown[kind] = true
			p.applies.needs = append(p.applies.needs, need{ofKind, o, "kind " + kind.Kind,
				slices.Concat(by, s.openTo("CustomResourceDefinition"))})
		}
		isNamespaced, isDefined := s.IsNamespaced(o.GroupVersionKind())
		if by := s.bringing[id]; len(by) > 0 && !isKnown[id] && !p.isOf("Application") &&
			(isNamespaced || !isDefined) && !isInEveryCluster(id.Name) &&
			!s.Elsewhere.Has(manifest.ID{Kind: id.Kind, Name: id.Name}) {
			isKnown[id] = true
			p.applies.needs = append(p.applies.needs, need{inNamespace, o, "Namespace " + id.Name,
				slices.Concat(by, s.openTo(id.Kind))})
		}
	}
}

// skips reports whether a tool applies an object without its definition, which some steps bring: Argo CD if it is told
// so, and each tool but Flux beside the definition.
func (p *progress) skips(o manifest.Object, by []*step) bool {
	const option = "SkipDryRunOnMissingResource=true"
	isOwn := slices.ContainsFunc(by, func(s *step) bool { return s.of == p })
	if !p.isOf("Application") {
		return isOwn && p.isOf("HelmRelease")
	}
	isSet := func(s delivery.Setting) bool { return s.Value == option }
	return isOwn || slices.Contains(p.SyncPolicy.SyncOptions, option) ||
		slices.ContainsFunc(delivery.Settings(o.Unstructured, delivery.Argo), isSet)
}

// networks are the groups of networks: without one no tool runs.
var networks = []string{"cilium.io", "crd.projectcalico.org", "operator.tigera.io", "projectcalico.org"}

// isDefined reports whether a cluster has a kind before any delivery.
func (s *startup) isDefined(kind schema.GroupKind) bool {
	isOfArgo := kind.Group == "argoproj.io" && strings.HasPrefix(kind.Kind, "App")
	return isOfArgo || strings.HasSuffix(kind.Group, ".fluxcd.io") || kind.Group == "fluxcd.controlplane.io" ||
		slices.Contains(networks, kind.Group) || slices.ContainsFunc(s.Local, func(o manifest.Object) bool {
		return o.Delivery == nil && crd.Kind(o.Unstructured) == kind
	})
}

// finish sets the needs of a delivery to be ready: with spec.wait the deliveries that it applies, or otherwise those
// that spec.healthChecks names.
func (s *startup) finish(p *progress) {
	p.isReady.needs = append(p.isReady.needs, need{how: inOrder, by: []*step{&p.applies}})
	for _, child := range s.all[1:] {
		isChecked := p.Wait && slices.ContainsFunc(s.bringing[child.IDInNamespace()], func(by *step) bool {
			return by.of == p
		})
		for _, r := range p.HealthChecks {
			isChecked = isChecked || !p.Wait && r.Kind == child.GetKind() && r.Name == child.GetName() &&
				r.Namespace == child.GetNamespace()
		}
		for _, r := range p.HealthCheckExprs {
			isChecked = isChecked && r.Kind != child.GetKind()
		}
		if isChecked && child != p {
			p.isReady.needs = append(p.isReady.needs, need{forHealth, p.Object, child.String(),
				[]*step{&child.isReady}})
		}
	}
}
