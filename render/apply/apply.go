// Package apply applies an environment to a cluster, and deletes it from there, for whoever has
// no GitOps tool to do so. The cluster gets what git has, an inventory of it and a Lease.
package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/ssa"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/cluster"
	"example.com/gatehouse/render/object"
)

// Options say what to apply, or to delete, and how.
type Options struct {
	Environment string
	// Repository is the repository of git that the environment is of; empty where that is not
	// known. What another one applied is left alone.
	Repository string
	// ForceConflicts takes fields from those who changed them.
	ForceConflicts bool
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
	// Wait waits until what was applied is ready, and what was deleted is gone.
	Wait bool
	// Timeout is how long to wait at most, for others who apply and for what was applied.
	Timeout time.Duration
	// Progress is told what is being done.
	Progress func(step string)
	// Done is told of each object as soon as something was done about it.
	Done func(Change)
}

// Change is what was done about an object, or would be.
type Change struct {
	Object    object.ID `json:"-"`
	Group     string    `json:"group,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	// Action is created, configured, unchanged or deleted. A Pod that was created once is
	// unchanged, whatever became of it.
	Action string `json:"action"`
}

// What is done about an object.
const (
	Created    = string(ssa.CreatedAction)
	Configured = string(ssa.ConfiguredAction)
	Unchanged  = string(ssa.UnchangedAction)
	Deleted    = string(ssa.DeletedAction)
)

// concurrency is how many requests are under way at a time.
const concurrency = 8

// applier applies one environment.
type applier struct {
	Options

	cluster *cluster.Cluster
	manager string // of fields, and the name of the inventory and the Lease

	inventory Inventory
	others    map[object.ID]string // the environments in whose inventories objects are

	brought  brought
	settles  bool             // whether what the environment brings was applied a moment ago
	asked    sync.Map         // the kinds that namespaces which are not there yet were asked about
	warnings []object.Problem // of what turned out when it was done
}

func newApplier(c *cluster.Cluster, options Options) *applier {
	return &applier{Options: options, cluster: c, manager: Manager(options.Environment)}
}

// manage is the library that applies objects, with the environment as the manager of fields.
func (a *applier) manage(c client.Client) *ssa.ResourceManager {
	if !a.ForceConflicts {
		c = polite{c}
	}
	return ssa.NewResourceManager(c, nil, ssa.Owner{Field: a.manager, Group: "gatehouse.example.com"})
}

// Run applies an environment. Problems that are errors are why nothing was written, or the
// error says how far it came.
func Run(ctx context.Context, c *cluster.Cluster, manifests []Manifest, options Options) ([]object.Problem, error) {
	a := newApplier(c, options)
	held, release, err := a.begin(ctx)
	if err != nil {
		return a.problemsAnyway(ctx, manifests, err)
	}
	defer release(false)
	if err := a.readInventories(held); err != nil {
		return a.problemsAnyway(ctx, manifests, err)
	}
	p, problems := a.plan(held, manifests)
	if err := lost(held, nil); err != nil {
		return nil, err
	}
	removals, kept, wrong := a.planRemovals(held, a.gone(p.ids), sparing)
	if problems = append(problems, wrong...); object.HasErrors(problems) {
		return few(object.SortProblems(problems)), nil
	}
	if a.DryRun {
		a.reportPlan(p, removals)
		return problems, nil
	}
	err = a.carryOut(held, p, removals, kept)
	problems = append(problems, a.warnings...)
	if err != nil {
		return problems, lost(held, err)
	}
	release(false) // what others apply need not wait until this is ready
	if !a.Wait {
		return problems, nil
	}
	waited := a.wait(ctx, p.manifests(), removals)
	if err := lost(ctx, nil); err != nil {
		return problems, err
	}
	return append(problems, waited...), nil
}

// begin keeps others from applying the environment, but for a dry run, until release, which
// may remove what it leaves in the cluster.
func (a *applier) begin(ctx context.Context) (held context.Context, release func(remove bool), err error) {
	if a.DryRun {
		return ctx, func(bool) {}, nil
	}
	a.Progress("waiting for others who apply " + a.Environment)
	l, held, err := acquireLease(ctx, a.cluster.Config, a.manager, a.Timeout, a.Progress)
	if err != nil {
		return nil, nil, err
	}
	var once sync.Once
	return held, func(remove bool) {
		once.Do(func() {
			if remove {
				l.remove(context.WithoutCancel(ctx))
			} else {
				l.release()
			}
		})
	}, nil
}

// problemsAnyway finds what else is wrong with an environment that cannot be applied, where
// that is for want of a right: whoever gives that one learns of all of them.
func (a *applier) problemsAnyway(ctx context.Context, manifests []Manifest, err error) ([]object.Problem, error) {
	if !noRight.MatchString(err.Error()) {
		return nil, err
	}
	_, problems := a.plan(ctx, manifests)
	problems, _ = object.SplitProblems(problems)
	return few(append(problems, object.Problem{Message: err.Error() + wayOut(err)})), nil
}

// lost is why a run stopped: the Lease was lost, or it was interrupted, or an error.
func lost(held context.Context, err error) error {
	switch cause := context.Cause(held); {
	case cause == nil:
		return err
	case errors.Is(cause, errLost):
		return cause
	default:
		return fmt.Errorf("interrupted (%w): what was done stays: run this again to complete it", cause)
	}
}

// gone are the objects of the inventory that the environment has no more.
func (a *applier) gone(now map[object.ID]bool) []object.ID {
	var gone []object.ID
	for id := range a.inventory.IDs {
		if !now[id] {
			gone = append(gone, id)
		}
	}
	return sortIDs(gone)
}

// carryOut applies and prunes. At each instant the inventory has all that was applied.
func (a *applier) carryOut(ctx context.Context, p *plan, removals []removal, kept []object.ID) error {
	union := maps.Clone(a.inventory.IDs)
	maps.Copy(union, p.ids)
	if err := a.writeInventory(ctx, union); err != nil {
		return err
	}
	if err := a.applyPlan(ctx, p); err != nil {
		return err
	}
	left, err := a.remove(ctx, removals)
	if err != nil {
		return err
	}
	now := maps.Clone(p.ids)
	for _, id := range slices.Concat(kept, left) {
		now[id] = true
	}
	return a.writeInventory(ctx, now)
}

// report tells what was done about an object.
func (a *applier) report(id object.ID, action string) {
	a.Done(Change{Object: id, Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Action: action})
}

func (a *applier) reportPlan(p *plan, removals []removal) {
	for _, s := range p.inOrder() {
		a.report(s.id(), s.action)
	}
	for _, r := range removals {
		a.report(r.id, Deleted)
	}
}

// polite is a cluster whose fields are not taken from those who changed them: ssa takes them.
type polite struct{ client.Client }

func (c polite) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.Client.Patch(ctx, o, patch, append(options, withoutForce{})...)
}

type withoutForce struct{}

func (withoutForce) ApplyToPatch(o *client.PatchOptions) { o.Force = nil }

// seen is a cluster of which an object was read already, or found missing.
type seen struct {
	client.Client
	live *unstructured.Unstructured
}

func (c seen) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.live == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	c.live.DeepCopyInto(o.(*unstructured.Unstructured)) // ssa knows no others
	return nil
}

// stopped is the error of a run that left an environment half applied.
func stopped(problems []object.Problem) error {
	problems = few(problems)
	lines := make([]error, len(problems))
	for i, p := range problems {
		lines[i] = errors.New(p.String())
	}
	return fmt.Errorf("%w\nwhat was applied before stays: apply again to complete it", errors.Join(lines...))
}
