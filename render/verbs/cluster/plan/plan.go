// Package plan asks the API server, by server-side dry run, about each object of an environment.
// A Plan has every error before anything is written. Objects that need others of the environment
// first are deferred: the API server cannot judge them yet.
package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/inventory"
)

// Options say how objects would be applied.
type Options struct {
	Progress func(step string)
	// Manager returns the field manager to apply an object with. Live is nil if the cluster
	// lacks the object.
	Manager func(live *unstructured.Unstructured) string
	// Refuse returns the reason not to apply an object, if there is one.
	Refuse func(s *Step) string
	// Force takes fields from other managers.
	Force bool
}

// Plan has a step for each object of an environment.
type Plan struct {
	// Steps are in apply order.
	Steps []*Step
	// IsSettling says that the definitions were applied. The cluster takes a moment to serve
	// new kinds and namespaces.
	IsSettling bool

	cluster *cluster.Cluster
	options Options

	crds       map[schema.GroupKind]*Step // the environment's definitions, by the kind they define
	namespaces map[string]*Step           // the environment's namespaces
	names      map[string]bool            // the names of all its objects
}

// Step is the effect of applying one object.
type Step struct {
	manifest.Object
	Live   *unstructured.Unstructured // nil if the cluster lacks the object
	DryRun *unstructured.Unstructured // the dry-run result; nil if deferred
	Action ssa.Action
	// Deferred is the reason why the API server cannot judge the object before others are
	// applied; nil once it has.
	Deferred error

	problems []manifest.Problem
}

// New asks the cluster about objects. A plan with errors among its problems must not be carried
// out.
func New(ctx context.Context, c *cluster.Cluster, objects []manifest.Object,
	options Options) (*Plan, []manifest.Problem, error) {
	p := &Plan{
		cluster: c, options: options,
		crds: map[schema.GroupKind]*Step{}, namespaces: map[string]*Step{}, names: map[string]bool{"default": true},
	}
	for _, o := range objects {
		s := &Step{Object: o}
		switch {
		case ssautils.IsCRD(o.Unstructured):
			p.crds[crd.Kind(o.Unstructured)] = s
		case ssautils.IsNamespace(o.Unstructured):
			p.namespaces[o.GetName()] = s
		}
		p.names[o.GetName()] = true
		p.Steps = append(p.Steps, s)
	}
	slices.SortFunc(p.Steps, func(a, b *Step) int { return CompareIDs(a.ID(), b.ID()) })
	definitions, rest := p.Definitions()
	problems, err := p.Judge(ctx, definitions)
	if err != nil {
		return nil, nil, err
	}
	more, err := p.Judge(ctx, rest)
	return p, append(problems, more...), err
}

// CompareIDs orders objects as Flux applies them.
func CompareIDs(a, b manifest.ID) int {
	switch metas := (ssa.SortableMetas{inventory.Metadata(a), inventory.Metadata(b)}); {
	case metas.Less(0, 1):
		return -1
	case metas.Less(1, 0):
		return 1
	}
	return 0
}

// IDs returns the IDs of the planned objects.
func (p *Plan) IDs() map[manifest.ID]bool {
	ids := map[manifest.ID]bool{}
	for _, s := range p.Steps {
		ids[s.ID()] = true
	}
	return ids
}

// Definitions cuts the steps after the objects that others may need: Namespaces,
// CustomResourceDefinitions and ClusterRoles.
func (p *Plan) Definitions() (definitions, rest []*Step) {
	for i, s := range p.Steps {
		if !ssautils.IsClusterDefinition(s.Unstructured) {
			return p.Steps[:i:i], p.Steps[i:]
		}
	}
	return p.Steps, nil
}

// Judge asks the cluster about objects, and updates their steps. An error concerns the connection.
func (p *Plan) Judge(ctx context.Context, steps []*Step) (problems []manifest.Problem, err error) {
	if len(steps) > 0 {
		p.options.Progress(fmt.Sprintf("asking the cluster about %d objects", len(steps)))
	}
	err = cluster.ForEach(ctx, len(steps), func(ctx context.Context, i int) error { return p.judge(ctx, steps[i]) })
	for _, s := range steps {
		problems = append(problems, s.problems...)
	}
	return problems, err
}

func (p *Plan) judge(ctx context.Context, s *Step) error {
	*s = Step{Object: s.Object}
	err := p.ask(ctx, s)
	switch {
	case s.Live == nil:
		s.Action = ssa.CreatedAction
	case err == nil && isUnchanged(s):
		s.Action = ssa.UnchangedAction
	default:
		s.Action = ssa.ConfiguredAction
	}
	switch {
	case err == nil:
	case cluster.IsFatal(err):
		return err
	case p.mayPass(s, err):
		s.Deferred = err
	default:
		s.problems = cluster.Explain(s.Object, err)
	}
	return nil
}

// DropEncrypted returns the objects that SOPS has not encrypted, and a warning for each other
// object that names the consequence.
func DropEncrypted(objects []manifest.Object, consequence string) (readable []manifest.Object,
	warnings []manifest.Problem) {
	for _, o := range objects {
		if !manifest.IsEncrypted(o.Unstructured) {
			readable = append(readable, o)
			continue
		}
		warnings = append(warnings, manifest.Problem{Code: manifest.ClusterDiffers, Warning: true,
			File: o.File, Object: o.String(), Message: "SOPS encrypted it, and " + consequence})
	}
	return readable, warnings
}

// IsPending reports whether there is a step that has yet to change its object.
func (s *Step) IsPending() bool { return s != nil && s.Action != ssa.UnchangedAction }

// IsCreatedOnce reports whether the object is created and never changed, as the Pods of Ats are.
func (s *Step) IsCreatedOnce() bool {
	return delivery.Find(delivery.Settings(s.Unstructured, delivery.Flux), delivery.CreatedOnce) != nil
}
