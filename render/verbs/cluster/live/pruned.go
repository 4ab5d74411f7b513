package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/inventory"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// findPruned returns the objects that git lacks and the tools of the environment would prune. It warns of
// a tool whose objects it cannot list.
func (c *comparison) findPruned(ctx context.Context,
	steps []*plan.Step) (pruned []difference, warnings []manifest.Problem, err error) {
	var ids []manifest.ID
	var notes []string // name the tools
	var readers [][]delivery.Tool
	add := func(tool, when string, listed []manifest.ID, err error, reads ...delivery.Tool) {
		if err != nil {
			warnings = append(warnings, manifest.Problem{Code: manifest.ClusterDiffers, Warning: true, Object: tool,
				Message: err.Error() + ": the objects that it prunes are not listed"})
		}
		for _, id := range listed {
			placed := id
			placed.Namespace = cmp.Or(id.Namespace, metav1.NamespaceDefault) // as in IDInNamespace
			if !c.known[placed] {
				c.known[placed] = true
				ids = append(ids, id)
				notes = append(notes, tool+" prunes it"+when)
				readers = append(readers, reads)
			}
		}
	}
	for _, name := range namesOf(steps, kustomizationOf) {
		listed, err := c.listKustomization(ctx, name)
		add("Kustomization "+name, " at its next sync", listed, err, delivery.Flux)
	}
	for _, name := range namesOf(steps, applicationOf) {
		listed, when, err := c.listApplication(ctx, name)
		add("Application "+name, when, listed, err, delivery.Argo)
	}
	listed, err := c.listInventory(ctx)
	add("render apply --env "+c.environment, "", listed, err, delivery.Flux, delivery.Argo)

	live := make([]*unstructured.Unstructured, len(ids))
	errs := make([]error, len(ids))
	err = cluster.ForEach(ctx, len(ids), func(ctx context.Context, i int) error {
		if live[i], errs[i] = c.Find(ctx, ids[i]); errs[i] != nil && cluster.IsFatal(errs[i]) {
			return errs[i]
		}
		return nil
	})
	for i, id := range ids {
		switch {
		case errs[i] != nil:
			warnings = append(warnings, manifest.Problem{Code: manifest.ClusterDiffers,
				Warning: true, Object: id.String(),
				Message: fmt.Sprintf("git does not have it, and the cluster cannot be asked: %v",
					cluster.WithRemedy(errs[i]))})
		case delivery.Keeping(delivery.Settings(live[i], readers[i]...)) != nil: // it stays
		case live[i] != nil && live[i].GetDeletionTimestamp() == nil:
			pruned = append(pruned, difference{before: clean(live[i]), notes: notes[i : i+1]})
		}
	}
	return pruned, warnings, err
}

// namesOf returns the sorted names of the tools that applied the live objects.
func namesOf(steps []*plan.Step, toolOf func(*unstructured.Unstructured) string) []string {
	names := map[string]bool{}
	for _, s := range steps {
		if s.Live != nil && toolOf(s.Live) != "" {
			names[toolOf(s.Live)] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// kustomizationOf returns the Flux Kustomization that applied a live object, as "namespace/name".
func kustomizationOf(live *unstructured.Unstructured) string {
	labels := live.GetLabels()
	if labels[owner.FluxDomain+"/name"] == "" {
		return ""
	}
	return labels[owner.FluxDomain+"/namespace"] + "/" + labels[owner.FluxDomain+"/name"]
}

// applicationOf returns the name of the Argo CD Application that applied a live object. A namespace
// and "_" precede the name outside of Argo CD's own namespace.
func applicationOf(live *unstructured.Unstructured) string {
	if application, _, ok := strings.Cut(live.GetAnnotations()[owner.ArgoDomain+"/tracking-id"], ":"); ok {
		return application
	}
	return live.GetLabels()[owner.ArgoDomain+"/instance"]
}

// kustomization has the fields of a Flux Kustomization that decide about pruning.
type kustomization struct {
	Spec struct {
		Path  string `json:"path"`
		Prune bool   `json:"prune"`
	} `json:"spec"`
	Status struct {
		Inventory struct {
			Entries []struct {
				ID string `json:"id"`
			} `json:"entries"`
		} `json:"inventory"`
	} `json:"status"`
}

// listKustomization returns the objects that a Kustomization applied, if it prunes.
func (c *comparison) listKustomization(ctx context.Context, name string) (ids []manifest.ID, err error) {
	namespace, base, _ := strings.Cut(name, "/")
	id := manifest.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: namespace, Name: base}
	live, err := c.Find(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", err)
	case live == nil:
		return nil, errors.New("is not in this cluster")
	}
	k := manifest.As[kustomization](live)
	if err := c.checkFolder(id, k.Spec.Path); err != nil || !k.Spec.Prune {
		return nil, err
	}
	for _, entry := range k.Status.Inventory.Entries {
		if id, err := inventory.DecodeLine(entry.ID); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// application has the fields of an Argo CD Application that decide about pruning.
type application struct {
	Spec struct {
		Source struct {
			Path string `json:"path"`
		} `json:"source"`
		Sources    []any `json:"sources"`
		SyncPolicy struct {
			Automated struct {
				Prune bool `json:"prune"`
			} `json:"automated"`
		} `json:"syncPolicy"`
	} `json:"spec"`
	Status struct {
		Resources []manifest.ID `json:"resources"`
	} `json:"status"`
}

// listApplication returns the objects that an Application applied, and when it prunes them.
func (c *comparison) listApplication(ctx context.Context, name string) (ids []manifest.ID, when string, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1",
		Kind: "ApplicationList"})
	if err := c.List(ctx, list); err != nil {
		return nil, "", fmt.Errorf("cannot be read: %w", err)
	}
	i := slices.IndexFunc(list.Items, func(a unstructured.Unstructured) bool {
		return a.GetName() == name || a.GetNamespace()+"_"+a.GetName() == name
	})
	if i < 0 {
		return nil, "", errors.New("is not in this cluster")
	}
	a := manifest.As[application](&list.Items[i])
	if len(a.Spec.Sources) > 0 {
		return nil, "", errors.New("syncs several sources")
	}
	if err := c.checkFolder(manifest.Object{Unstructured: &list.Items[i]}.ID(), a.Spec.Source.Path); err != nil {
		return nil, "", err
	}
	if a.Spec.SyncPolicy.Automated.Prune {
		return a.Status.Resources, " at its next sync", nil
	}
	return a.Status.Resources, " when it is synced with --prune", nil
}

// isFolder reports whether a synced folder is this environment alone: its folder in rendered/, or
// the root of a branch that render publishes to.
func (c *comparison) isFolder(folder string) bool {
	folder = path.Clean("/" + folder)
	return folder == "/" || strings.HasSuffix(folder, "/"+c.folder())
}

// listInventory returns the objects that render apply applied.
func (c *comparison) listInventory(ctx context.Context) ([]manifest.ID, error) {
	inventories, err := inventory.List(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("the inventories of render apply cannot be read: %w", err)
	}
	for _, i := range inventories {
		if i.Environment() == c.environment {
			return slices.Collect(maps.Keys(i.IDs)), i.Err
		}
	}
	return nil, nil
}
