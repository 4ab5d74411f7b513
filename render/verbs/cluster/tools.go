package cluster

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

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// prunedObject is an object that git does not have and a tool prunes.
type prunedObject struct {
	id   manifest.ID
	note string // names the tool that prunes it
	live *unstructured.Unstructured
	err  error // why it is not known whether the cluster has it
}

// findPruned returns what the tools that apply the environment would prune. The problems warn
// of tools of which that is not known.
func (c *comparison) findPruned(ctx context.Context, steps []*step) (pruned []*prunedObject, warnings []manifest.Problem, err error) {
	var all []*prunedObject
	add := func(tool, how string, listed []manifest.ID, err error) {
		if err != nil {
			warnings = append(warnings, manifest.Problem{Warning: true, Object: tool, Message: err.Error() + ": what it prunes is not listed"})
		}
		for _, id := range listed {
			placed := id
			placed.Namespace = cmp.Or(id.Namespace, metav1.NamespaceDefault) // as idInNamespace has it
			if !c.known[placed] {
				c.known[placed] = true
				all = append(all, &prunedObject{id: id, note: tool + " prunes it" + how})
			}
		}
	}
	for _, name := range namesOf(steps, kustomizationOf) {
		listed, err := c.listKustomization(ctx, name)
		add("Kustomization "+name, " at its next sync", listed, err)
	}
	for _, name := range namesOf(steps, applicationOf) {
		listed, how, err := c.listApplication(ctx, name)
		add("Application "+name, how, listed, err)
	}
	listed, err := c.listOwn(ctx)
	add("render apply --env "+c.name, "", listed, err)

	err = concurrently(ctx, len(all), func(ctx context.Context, i int) error {
		o := all[i]
		if o.live, o.err = c.find(ctx, o.id); o.err != nil && isFatal(o.err) {
			return o.err
		}
		return nil
	})
	for _, o := range all {
		switch {
		case o.err != nil:
			warnings = append(warnings, manifest.Problem{Warning: true, Object: o.id.String(), Message: fmt.Sprintf("git does not have it, and whether the cluster has it is not known: %v", withWayOut(o.err))})
		case o.live != nil && o.live.GetDeletionTimestamp() == nil:
			pruned = append(pruned, o)
		}
	}
	return pruned, warnings, err
}

// namesOf returns the names of the tools that applied objects, in order.
func namesOf(steps []*step, toolOf func(*unstructured.Unstructured) string) []string {
	names := map[string]bool{}
	for _, s := range steps {
		if s.live != nil && toolOf(s.live) != "" {
			names[toolOf(s.live)] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// kustomizationOf returns the Kustomization of Flux that applied an object, "namespace/name";
// empty where none did.
func kustomizationOf(o *unstructured.Unstructured) string {
	labels := o.GetLabels()
	if labels[fluxDomain+"/name"] == "" {
		return ""
	}
	return labels[fluxDomain+"/namespace"] + "/" + labels[fluxDomain+"/name"]
}

// applicationOf returns the Application of Argo CD that applied an object: its name, and before
// it its namespace and "_" where that is not the one of Argo CD; empty where none did.
func applicationOf(o *unstructured.Unstructured) string {
	if application, _, ok := strings.Cut(o.GetAnnotations()[argoDomain+"/tracking-id"], ":"); ok {
		return application
	}
	return o.GetLabels()[argoDomain+"/instance"]
}

// listKustomization returns what a Kustomization applied and prunes.
func (c *comparison) listKustomization(ctx context.Context, name string) (ids []manifest.ID, err error) {
	namespace, base, _ := strings.Cut(name, "/")
	k, err := c.find(ctx, manifest.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: namespace, Name: base})
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", err)
	case k == nil:
		return nil, errors.New("is not in this cluster")
	}
	if folder, _, _ := unstructured.NestedString(k.Object, "spec", "path"); !c.isFolder(folder) {
		return nil, fmt.Errorf("syncs %q, which is not rendered/%s alone", folder, c.name)
	}
	if prunes, _, _ := unstructured.NestedBool(k.Object, "spec", "prune"); !prunes {
		return nil, nil
	}
	entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		line, _ := fields["id"].(string)
		if id, err := parseMeta(line); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// listApplication returns what an Application applied, and how it prunes that.
func (c *comparison) listApplication(ctx context.Context, name string) (ids []manifest.ID, how string, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "ApplicationList"})
	if err := c.List(ctx, list); err != nil {
		return nil, "", fmt.Errorf("cannot be read: %w", err)
	}
	i := slices.IndexFunc(list.Items, func(a unstructured.Unstructured) bool {
		return a.GetName() == name || a.GetNamespace()+"_"+a.GetName() == name
	})
	if i < 0 {
		return nil, "", errors.New("is not in this cluster")
	}
	application := list.Items[i].Object
	folder, _, _ := unstructured.NestedString(application, "spec", "source", "path")
	if sources, _, _ := unstructured.NestedSlice(application, "spec", "sources"); len(sources) > 0 || !c.isFolder(folder) {
		return nil, "", fmt.Errorf("syncs %q or several sources, which is not rendered/%s alone", folder, c.name)
	}
	how = " at its next sync"
	if prunes, _, _ := unstructured.NestedBool(application, "spec", "syncPolicy", "automated", "prune"); !prunes {
		how = " when it is synced with --prune"
	}
	resources, _, _ := unstructured.NestedSlice(application, "status", "resources")
	for _, resource := range resources {
		fields, _ := resource.(map[string]any)
		text := func(key string) string { value, _ := fields[key].(string); return value }
		ids = append(ids, manifest.ID{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")})
	}
	return ids, how, nil
}

// isFolder reports whether a folder that a tool syncs has the environment and nothing else:
// that of rendered/, or the root of a branch that render publishes to.
func (c *comparison) isFolder(folder string) bool {
	folder = path.Clean("/" + folder)
	return folder == "/" || strings.HasSuffix(folder, "/"+path.Join(tree.Folder, c.name))
}

// listOwn returns what render apply applied from the environment.
func (c *comparison) listOwn(ctx context.Context) ([]manifest.ID, error) {
	inventories, err := listInventories(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("the inventories of render apply cannot be read: %w", err)
	}
	for _, i := range inventories {
		if i.environment() == c.name {
			return slices.Collect(maps.Keys(i.ids)), i.err
		}
	}
	return nil, nil
}
