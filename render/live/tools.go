package live

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	cliobject "github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/apply"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// inventory is what a tool applied from the environment, and would prune.
type inventory struct {
	entries map[object.ID]string // the version of each; empty for the preferred one
	note    string               // on what is pruned
	stays   bool                 // though it is gone from git
}

// kustomizationOf is the Kustomization of Flux that applied an object, "namespace/name"; empty
// where none did.
func kustomizationOf(o *unstructured.Unstructured) string {
	labels := o.GetLabels()
	if labels[fluxDomain+"/name"] == "" {
		return ""
	}
	return labels[fluxDomain+"/namespace"] + "/" + labels[fluxDomain+"/name"]
}

// applicationOf is the Application of Argo CD that applied an object: its name, and before it
// its namespace and "_" where that is not the one of Argo CD; empty where none did.
func applicationOf(o *unstructured.Unstructured) string {
	if application, _, ok := strings.Cut(o.GetAnnotations()[argoDomain+"/tracking-id"], ":"); ok {
		return application
	}
	return o.GetLabels()[argoDomain+"/instance"]
}

// syncers are the tools that apply the environment, by the names that they put on objects.
type syncers struct{ kustomizations, applications map[string]bool }

func syncersOf(findings []finding) syncers {
	s := syncers{map[string]bool{}, map[string]bool{}}
	for _, f := range findings {
		if f.found != nil {
			s.kustomizations[kustomizationOf(f.found)] = true
			s.applications[applicationOf(f.found)] = true
		}
	}
	delete(s.kustomizations, "")
	delete(s.applications, "")
	return s
}

// inventories are those of the tools that sync this environment and nothing else. A tool that
// syncs others, too, is no longer among the syncers.
func (c *comparison) inventories(ctx context.Context, s syncers) (inventories []inventory, problems []object.Problem, err error) {
	add := func(found *inventory, problem *object.Problem, failed error) {
		if found != nil {
			inventories = append(inventories, *found)
		}
		if problem != nil {
			problem.Warning = true
			problems = append(problems, *problem)
		}
		if err == nil {
			err = failed
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.kustomizations)) {
		add(c.kustomization(ctx, name, s))
	}
	for _, name := range slices.Sorted(maps.Keys(s.applications)) {
		add(c.application(ctx, name, s))
	}
	own, problem := c.ownInventory(ctx)
	add(own, problem, nil)
	return inventories, problems, err
}

// kustomization returns the inventory of a Kustomization.
func (c *comparison) kustomization(ctx context.Context, name string, s syncers) (*inventory, *object.Problem, error) {
	namespace, base, _ := strings.Cut(name, "/")
	k := newObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", namespace, base)
	const kept = "what it prunes is not listed"
	if problem, err := c.read(ctx, k, kept); problem != nil || err != nil {
		return nil, problem, err
	}
	if folder, _, _ := unstructured.NestedString(k.Object, "spec", "path"); !c.isFolder(folder) {
		delete(s.kustomizations, name)
		return nil, &object.Problem{Object: "Kustomization " + name, Message: fmt.Sprintf("syncs %q, which is not rendered/%s alone: %s", folder, c.Name, kept)}, nil
	}
	note := "Kustomization " + name + " prunes it at its next sync"
	prunes, _, _ := unstructured.NestedBool(k.Object, "spec", "prune")
	if !prunes {
		note = "Kustomization " + name + " applied it, and does not prune (spec.prune): delete it"
	}
	entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
	found := &inventory{map[object.ID]string{}, note, !prunes}
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		id, _ := fields["id"].(string)
		version, _ := fields["v"].(string)
		parsed, err := cliobject.ParseObjMetadata(id)
		if err == nil {
			found.entries[object.ID{Group: parsed.GroupKind.Group, Kind: parsed.GroupKind.Kind, Namespace: parsed.Namespace, Name: parsed.Name}] = version
		}
	}
	return found, nil, nil
}

// application returns the inventory of an Application.
func (c *comparison) application(ctx context.Context, name string, s syncers) (*inventory, *object.Problem, error) {
	const kept = "what it prunes is listed as far as it is of the kinds and in the Namespaces of the environment"
	warn := func(format string, args ...any) (*inventory, *object.Problem, error) {
		return nil, &object.Problem{Object: "Application " + name, Message: fmt.Sprintf(format, args...) + ": " + kept}, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "ApplicationList"})
	switch err := c.List(ctx, list); {
	case meta.IsNoMatchError(err):
		return warn("is of an Argo CD in another cluster")
	case err != nil && isFatal(err):
		return nil, nil, err
	case err != nil:
		return warn("cannot be read: %v", err)
	}
	i := slices.IndexFunc(list.Items, func(a unstructured.Unstructured) bool {
		return a.GetName() == name || a.GetNamespace()+"_"+a.GetName() == name
	})
	if i < 0 {
		return warn("is not in this cluster")
	}
	application := list.Items[i].Object
	if folders := sourcesOf(application); !slices.ContainsFunc(folders, c.isFolder) {
		delete(s.applications, name)
		return nil, &object.Problem{Object: "Application " + name, Message: fmt.Sprintf("syncs %q, which is not rendered/%s alone: what it prunes is not listed", folders, c.Name)}, nil
	}
	note := "Application " + name + " prunes it at its next sync"
	if prunes, _, _ := unstructured.NestedBool(application, "spec", "syncPolicy", "automated", "prune"); !prunes {
		note = "Application " + name + " prunes it when it is synced with --prune"
	}
	found := &inventory{entries: map[object.ID]string{}, note: note}
	resources, _, _ := unstructured.NestedSlice(application, "status", "resources")
	for _, resource := range resources {
		fields, _ := resource.(map[string]any)
		text := func(key string) string { value, _ := fields[key].(string); return value }
		found.entries[object.ID{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}] = text("version")
	}
	return found, nil, nil
}

// sourcesOf are the folders that an Application syncs; none where it syncs several sources, as
// nobody can tell which of them an object is from.
func sourcesOf(application map[string]any) []string {
	if sources, ok, _ := unstructured.NestedSlice(application, "spec", "sources"); ok && len(sources) != 1 {
		return nil
	} else if ok {
		source, _ := sources[0].(map[string]any)
		folder, _ := source["path"].(string)
		return []string{folder}
	}
	folder, _, _ := unstructured.NestedString(application, "spec", "source", "path")
	return []string{folder}
}

// isFolder says whether a folder that a tool syncs has the environment and nothing else: that
// of rendered/, or the root of a branch that render publishes to.
func (c *comparison) isFolder(folder string) bool {
	folder = path.Clean("/" + folder)
	return folder == "/" || strings.HasSuffix(folder, "/"+path.Join(tree.Folder, c.Name))
}

// ownInventory returns the inventory that render apply keeps, and notes what render
// apply applied from any environment.
func (c *comparison) ownInventory(ctx context.Context) (*inventory, *object.Problem) {
	inventories, err := apply.Inventories(ctx, c)
	if err != nil { // of the connection it is one that other requests have, too
		return nil, &object.Problem{Message: fmt.Sprintf("the inventories of render apply cannot be read: %v: what it would prune is not listed", err)}
	}
	var own *inventory
	var problem *object.Problem
	for _, i := range inventories {
		entries := map[object.ID]string{}
		for id := range i.IDs {
			entries[id], c.applied[id] = "", true
		}
		switch {
		case i.Environment != c.Name:
		case i.Err != nil:
			problem = &object.Problem{Message: fmt.Sprintf("%v: what render apply would prune is not listed", i.Err)}
		default:
			own = &inventory{entries: entries, note: "render apply --env " + c.Name + " prunes it"}
		}
	}
	return own, problem
}

// read reads an object of a tool. A problem says what follows where it cannot be read.
func (c *comparison) read(ctx context.Context, o *unstructured.Unstructured, follows string) (*object.Problem, error) {
	err := c.Get(ctx, keyOf(o), o)
	switch {
	case err == nil:
		return nil, nil
	case !meta.IsNoMatchError(err) && isFatal(err):
		return nil, err
	}
	return &object.Problem{Object: idOf(o).String(), Message: fmt.Sprintf("cannot be read: %v: %s", err, follows)}, nil
}

func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func keyOf(o *unstructured.Unstructured) client.ObjectKey { return client.ObjectKeyFromObject(o) }
