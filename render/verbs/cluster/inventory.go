package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/manifest"
)

// An inventory lists what an environment applied to a cluster. It is a ConfigMap there, with a
// line for each object, like "Deployment.apps shop/sessions", or with those lines compressed
// where there are many. It never lacks an object that was applied: before anything is applied, it
// becomes the union of what it was and what it will be.

const (
	// homeNamespace is the namespace of inventories and Leases: every cluster has it.
	homeNamespace = metav1.NamespaceDefault
	// prefix begins the names of inventories, Leases and field managers.
	prefix = "gatehouse-"

	plainKey      = "objects"
	compressedKey = "objects.gz"
	// largestPlain is how many bytes of lines are kept readable.
	largestPlain = 256 << 10
	// largest is how many bytes a ConfigMap can have, with room for its metadata.
	largest = 1<<20 - 4<<10
	// largestLines is how many bytes of lines are ever read: a hundred times what
	// a thousand objects have.
	largestLines = 64 << 20
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

// lineOf returns the line of an object: "Deployment.apps shop/sessions".
func lineOf(id manifest.ID) string {
	kind := schema.GroupKind{Group: id.Group, Kind: id.Kind}
	return kind.String() + strings.TrimPrefix(id.String(), id.Kind)
}

// parseLine returns the object of a line.
func parseLine(text string) (manifest.ID, error) {
	kind, name, ok := strings.Cut(text, " ")
	if !ok || kind == "" || name == "" {
		return manifest.ID{}, fmt.Errorf("line %q is not like Deployment.apps shop/sessions", text)
	}
	gk := schema.ParseGroupKind(kind)
	id := manifest.ID{Group: gk.Group, Kind: gk.Kind, Name: name}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		id.Namespace, id.Name = namespace, rest
	}
	return id, nil
}

// encodeInventory writes objects into a ConfigMap.
func encodeInventory(ids map[manifest.ID]bool, to *corev1.ConfigMap) error {
	lines := make([]string, 0, len(ids))
	for id := range ids {
		lines = append(lines, lineOf(id)+"\n")
	}
	slices.Sort(lines)
	content := strings.Join(lines, "")
	to.Data, to.BinaryData = nil, nil
	if len(content) <= largestPlain {
		to.Data = map[string]string{plainKey: content}
		return nil
	}
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	_, _ = io.WriteString(w, content) // into memory
	_ = w.Close()
	if compressed.Len() > largest {
		return fmt.Errorf("an inventory of %d objects does not fit into a ConfigMap: divide the environment", len(ids))
	}
	to.BinaryData = map[string][]byte{compressedKey: compressed.Bytes()}
	return nil
}

// decodeInventory reads the objects from a ConfigMap.
func decodeInventory(from *corev1.ConfigMap) (map[manifest.ID]bool, error) {
	content := from.Data[plainKey]
	if compressed, ok := from.BinaryData[compressedKey]; ok {
		r, err := gzip.NewReader(bytes.NewReader(compressed))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", compressedKey, err)
		}
		b, err := io.ReadAll(io.LimitReader(r, largestLines))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", compressedKey, err)
		}
		content = string(b)
	}
	ids := map[manifest.ID]bool{}
	for text := range strings.Lines(content) {
		id, err := parseLine(strings.TrimSuffix(text, "\n"))
		if err != nil {
			return nil, err
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
		if found.ids, err = decodeInventory(found.ConfigMap); err != nil {
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
	err := encodeInventory(ids, next.ConfigMap)
	switch {
	case err != nil:
		return err
	case isThere:
		err = a.cluster.Update(ctx, next.ConfigMap, client.FieldOwner(a.name))
	default:
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
