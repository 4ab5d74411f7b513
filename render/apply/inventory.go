package apply

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/object"
)

// An inventory is the list of what an environment applied to a cluster, kept in a ConfigMap
// there: a line for each object, "Deployment.apps shop/sessions", or those lines compressed
// where they would not fit. It never lacks an object that was applied: before anything is, it
// becomes the union of what it was and what will be.

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

var managedBy = map[string]string{"app.kubernetes.io/managed-by": "gatehouse"}

// inventory is an inventory as the cluster has it; without a version it has none.
type inventory struct {
	ids             map[object.ID]bool
	uid             string
	resourceVersion string
}

// line is the line of an object: "Deployment.apps shop/sessions".
func line(id object.ID) string {
	kind := schema.GroupKind{Group: id.Group, Kind: id.Kind}.String()
	if id.Namespace == "" {
		return kind + " " + id.Name
	}
	return kind + " " + id.Namespace + "/" + id.Name
}

// parseLine returns the object of a line.
func parseLine(text string) (object.ID, error) {
	kind, name, ok := strings.Cut(text, " ")
	if !ok || kind == "" || name == "" {
		return object.ID{}, fmt.Errorf("line %q is not like Deployment.apps shop/sessions", text)
	}
	gk := schema.ParseGroupKind(kind)
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: name}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		id.Namespace, id.Name = namespace, rest
	}
	return id, nil
}

// encode writes objects into a ConfigMap.
func encode(ids map[object.ID]bool, to *corev1.ConfigMap) error {
	lines := make([]string, 0, len(ids))
	for id := range ids {
		lines = append(lines, line(id)+"\n")
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
func decodeInventory(from *corev1.ConfigMap) (map[object.ID]bool, error) {
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
	ids := map[object.ID]bool{}
	for text := range strings.Lines(content) {
		id, err := parseLine(strings.TrimSuffix(text, "\n"))
		if err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, nil
}

// readInventories reads the inventory of the environment, and which objects are in those of
// others.
func (a *applier) readInventories(ctx context.Context) error {
	list := &corev1.ConfigMapList{}
	if err := a.cluster.List(ctx, list, client.InNamespace(homeNamespace), client.MatchingLabels(managedBy)); err != nil {
		return fmt.Errorf("list inventories: %w", err)
	}
	a.others, a.inventory = map[object.ID]string{}, inventory{ids: map[object.ID]bool{}}
	for i := range list.Items {
		c := &list.Items[i]
		environment, ok := strings.CutPrefix(c.Name, prefix)
		if !ok {
			continue
		}
		ids, err := decodeInventory(c)
		switch {
		case err != nil && c.Name == a.manager:
			return fmt.Errorf("the inventory, ConfigMap %s/%s, was edited: %w: mend it, or delete it, and apply again; then what is gone from the environment has to be deleted by hand", homeNamespace, c.Name, err)
		case c.Name == a.manager:
			a.inventory = inventory{ids: ids, uid: string(c.UID), resourceVersion: c.ResourceVersion}
		}
		for id := range ids {
			if c.Name != a.manager {
				a.others[id] = environment
			}
		}
	}
	return a.checkHome(ctx)
}

// checkHome is the error of a ConfigMap that has the name of the inventory and is none.
func (a *applier) checkHome(ctx context.Context) error {
	if a.inventory.resourceVersion != "" {
		return nil
	}
	err := a.cluster.Get(ctx, client.ObjectKey{Namespace: homeNamespace, Name: a.manager}, &corev1.ConfigMap{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read inventory: %w", err)
	}
	return fmt.Errorf("ConfigMap %s/%s is in the way of the inventory, and is none, as it has no label %s: rename or delete it", homeNamespace, a.manager, "app.kubernetes.io/managed-by: gatehouse")
}

// writeInventory has the inventory list objects, if it is still as it was read.
func (a *applier) writeInventory(ctx context.Context, ids map[object.ID]bool) error {
	if a.inventory.resourceVersion != "" && mapsEqual(a.inventory.ids, ids) {
		return nil
	}
	c := a.inventoryObject()
	if err := encode(ids, c); err != nil {
		return err
	}
	var err error
	if a.inventory.resourceVersion == "" {
		err = a.cluster.Create(ctx, c, client.FieldOwner(a.manager))
	} else {
		c.ResourceVersion = a.inventory.resourceVersion
		err = a.cluster.Update(ctx, c, client.FieldOwner(a.manager))
	}
	if err != nil {
		return a.inventoryError("write", err)
	}
	a.inventory = inventory{ids: ids, uid: string(c.UID), resourceVersion: c.ResourceVersion}
	return nil
}

// removeInventory deletes the inventory, if it is still as it was read.
func (a *applier) removeInventory(ctx context.Context) error {
	err := a.cluster.Delete(ctx, a.inventoryObject(), client.Preconditions{ResourceVersion: &a.inventory.resourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return a.inventoryError("delete", err)
	}
	return nil
}

func (a *applier) inventoryObject() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: homeNamespace, Name: a.manager, Labels: managedBy}}
}

func (a *applier) inventoryError(verb string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the inventory, ConfigMap %s/%s, was changed by somebody else meanwhile: run this again", homeNamespace, a.manager)
	}
	return fmt.Errorf("%s inventory: %w", verb, err)
}

// sortIDs puts objects in the order of their lines.
func sortIDs(ids []object.ID) []object.ID {
	slices.SortFunc(ids, func(a, b object.ID) int { return cmp.Compare(line(a), line(b)) })
	return ids
}
