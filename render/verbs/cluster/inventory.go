package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/object"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/manifest"
)

// An inventory lists what an environment applied to a cluster. It is a ConfigMap there, with a
// line for each object as Flux writes them: "shop_sessions_apps_Deployment". It never lacks an
// object that was applied: before anything is applied, it becomes the union of what it was and what
// it will be.

const (
	// homeNamespace is the namespace of inventories and Leases: every cluster has it.
	homeNamespace = metav1.NamespaceDefault
	// prefix begins the names of inventories, Leases and field managers.
	prefix = "gatehouse-"
	// inventoryKey is the key of the lines in the ConfigMap.
	inventoryKey = "objects"
)

// repositoryAnnotation has the repository that an inventory was applied from.
const repositoryAnnotation = "gatehouse.example.com/repository"

var managedBy = map[string]string{"app.kubernetes.io/managed-by": "gatehouse"}

// managerName returns the field manager of what is applied from an environment. The inventory
// and the Lease have that name as well.
func managerName(environment string) string { return prefix + environment }

// inventory is what was applied to a cluster from an environment.
type inventory struct {
	// ConfigMap is what the cluster has, without a resourceVersion where it has none yet.
	*corev1.ConfigMap
	ids map[manifest.ID]bool
	err error // why it cannot be read
}

func (i inventory) environment() string { return strings.TrimPrefix(i.Name, prefix) }

// metaOf returns an ID as Flux and its libraries have it.
func metaOf(id manifest.ID) object.ObjMetadata {
	return object.ObjMetadata{Namespace: id.Namespace, Name: id.Name, GroupKind: schema.GroupKind{Group: id.Group, Kind: id.Kind}}
}

// parseMeta returns the ID in a line of an inventory.
func parseMeta(line string) (manifest.ID, error) {
	m, err := object.ParseObjMetadata(line)
	return manifest.ID{Group: m.GroupKind.Group, Kind: m.GroupKind.Kind, Namespace: m.Namespace, Name: m.Name}, err
}

// encodeInventory returns a line for each object.
func encodeInventory(ids map[manifest.ID]bool) string {
	lines := make([]string, 0, len(ids))
	for id := range ids {
		lines = append(lines, metaOf(id).String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// decodeInventory returns the objects in lines.
func decodeInventory(lines string) (map[manifest.ID]bool, error) {
	ids := map[manifest.ID]bool{}
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		id, err := parseMeta(line)
		if err != nil {
			return nil, fmt.Errorf("line %q is not like shop_sessions_apps_Deployment", line)
		}
		ids[id] = true
	}
	return ids, nil
}

// listInventories reads the inventories that a cluster has.
func listInventories(ctx context.Context, c client.Reader) ([]inventory, error) {
	list := &corev1.ConfigMapList{}
	if err := c.List(ctx, list, client.InNamespace(homeNamespace), client.MatchingLabels(managedBy)); err != nil {
		return nil, err
	}
	var inventories []inventory
	for i := range list.Items {
		found := inventory{ConfigMap: list.Items[i].DeepCopy()} // so that the list can go
		if !strings.HasPrefix(found.Name, prefix) {
			continue
		}
		var err error
		if found.ids, err = decodeInventory(found.Data[inventoryKey]); err != nil {
			found.err = fmt.Errorf("the inventory, ConfigMap %s/%s, was edited: %w", homeNamespace, found.Name, err)
		}
		inventories = append(inventories, found)
	}
	return inventories, nil
}

// readInventories reads the inventory of the environment, and which objects others list.
func (a *applier) readInventories(ctx context.Context) error {
	inventories, err := listInventories(ctx, a.cluster)
	if err != nil {
		return fmt.Errorf("list inventories: %w", err)
	}
	empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: homeNamespace, Name: a.name, Labels: managedBy}}
	a.others, a.inventory = map[manifest.ID]string{}, inventory{ConfigMap: empty, ids: map[manifest.ID]bool{}}
	for _, i := range inventories {
		if i.Name == a.name {
			a.inventory = i
			continue
		}
		for id := range i.ids {
			a.others[id] = i.environment()
		}
	}
	repository := a.inventory.Annotations[repositoryAnnotation]
	switch {
	case a.inventory.err != nil:
		return fmt.Errorf("%w: fix it, or delete it, and apply again; then what is gone from the environment has to be deleted by hand", a.inventory.err)
	case a.Repository != "" && repository != "" && a.Repository != repository:
		// To apply this environment would delete what only that of the other repository has.
		return fmt.Errorf("environment %s was applied to this cluster from another repository of git, that of %s, and this is %s: give one of the two environments another name; if it is the same one and its history was rewritten, or its folder moved, run kubectl annotate configmap %s --namespace %s %s- and this again",
			a.Environment, repository, a.Repository, a.name, homeNamespace, repositoryAnnotation)
	}
	return nil
}

// writeInventory makes the inventory list objects, if it is still as it was read.
func (a *applier) writeInventory(ctx context.Context, ids map[manifest.ID]bool) error {
	next := inventory{ConfigMap: a.inventory.DeepCopy(), ids: ids}
	if a.Repository != "" {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, repositoryAnnotation, a.Repository)
	}
	isThere := next.ResourceVersion != ""
	if isThere && maps.Equal(a.inventory.ids, ids) && maps.Equal(a.inventory.Annotations, next.Annotations) {
		return nil
	}
	next.Data = map[string]string{inventoryKey: encodeInventory(ids)}
	var err error
	if isThere {
		err = a.cluster.Update(ctx, next.ConfigMap, client.FieldOwner(a.name))
	} else {
		err = a.cluster.Create(ctx, next.ConfigMap, client.FieldOwner(a.name))
	}
	if err != nil {
		return a.inventoryError("write", err)
	}
	a.inventory = next
	return nil
}

// removeInventory deletes the inventory, if it is still as it was read.
func (a *applier) removeInventory(ctx context.Context) error {
	err := a.cluster.Delete(ctx, a.inventory.ConfigMap, client.Preconditions{ResourceVersion: &a.inventory.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return a.inventoryError("delete", err)
	}
	return nil
}

func (a *applier) inventoryError(verb string, err error) error {
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("the inventory, ConfigMap %s/%s, was changed by somebody else meanwhile: run this again", homeNamespace, a.name)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("ConfigMap %s/%s is in the way of the inventory, and is not one, as it has no label app.kubernetes.io/managed-by: gatehouse: rename or delete it", homeNamespace, a.name)
	}
	return fmt.Errorf("%s inventory: %w", verb, err)
}
