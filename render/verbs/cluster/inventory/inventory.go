// Package inventory lists the objects that an environment applied to a cluster, in a ConfigMap
// there. It keeps two promises to the runs of render apply and render delete:
//
// An inventory never lacks an applied object. Before a run applies anything it lists its own
// objects beside the previous ones, and drops the previous ones at its end.
//
// Of two simultaneous runs the later one wins. Each run marks the inventory when it begins, with
// the resourceVersion that it read as a precondition, and writes only as long as the mark is its
// own. A run that takes over from another one plans again, so that it sees the other one's writes.
package inventory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/object"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster/owner"
)

const (
	// Namespace is the namespace of inventories, which every cluster has.
	Namespace = metav1.NamespaceDefault
	// Key is the key of the list in the ConfigMap.
	Key = "objects"

	repositoryAnnotation = "gatehouse.example.com/repository"
	runAnnotation        = "gatehouse.example.com/run" // of a run that has not ended
)

var labels = map[string]string{kind.ManagedByLabel: kind.ManagedBy}

// Inventory lists the objects of one environment in a cluster.
type Inventory struct {
	// IDs are the listed objects.
	IDs map[manifest.ID]bool
	// Err is the reason why the list cannot be read.
	Err error

	client    client.Client
	configMap *corev1.ConfigMap // without a resourceVersion until the cluster has it
	run       string            // the mark of this run
}

// List returns the inventories of a cluster.
func List(ctx context.Context, c client.Client) ([]*Inventory, error) {
	list := &corev1.ConfigMapList{}
	if err := c.List(ctx, list, client.InNamespace(Namespace), client.MatchingLabels(labels)); err != nil {
		return nil, err
	}
	var inventories []*Inventory
	for i := range list.Items {
		configMap := list.Items[i].DeepCopy() // lets the list be freed
		if _, ok := owner.Environment(configMap.Name); !ok {
			continue
		}
		ids, err := Decode(configMap.Data[Key])
		if err != nil {
			err = fmt.Errorf("the inventory, ConfigMap %s/%s, was edited: %w", Namespace, configMap.Name, err)
		}
		inventories = append(inventories, &Inventory{IDs: ids, Err: err, client: c, configMap: configMap})
	}
	return inventories, nil
}

// Open returns the inventory of an environment, and the environments of the objects that other
// inventories list. It fails if another repository applied the environment before: each of the two
// would prune the objects of the other.
func Open(ctx context.Context, c client.Client, environment, repository string) (own *Inventory,
	others map[manifest.ID]string, err error) {
	inventories, err := List(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	own = &Inventory{IDs: map[manifest.ID]bool{}, client: c}
	own.configMap = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace,
		Name: owner.Manager(environment), Labels: maps.Clone(labels)}}
	others = map[manifest.ID]string{}
	for _, i := range inventories {
		if i.Environment() == environment {
			own = i
			continue
		}
		for id := range i.IDs {
			others[id] = i.Environment()
		}
	}
	previous := own.configMap.Annotations[repositoryAnnotation]
	switch {
	case own.Err != nil:
		return nil, nil,
			fmt.Errorf("%w: fix it, or delete it, and apply again; without it, objects that left the environment "+
				"have to be deleted by hand", own.Err)
	case repository != "" && previous != "" && repository != previous:
		return nil, nil,
			fmt.Errorf("environment %s was applied to this cluster from another git repository, %s, and this is %s: "+
				"rename one of the two environments; if it is the same environment and its history was rewritten, "+
				"or its folder moved, run kubectl annotate configmap %s --namespace %s %s- and this again",
				environment, previous, repository, own.configMap.Name, Namespace, repositoryAnnotation)
	case repository != "":
		metav1.SetMetaDataAnnotation(&own.configMap.ObjectMeta, repositoryAnnotation, repository)
	}
	return own, others, nil
}

// Environment returns the environment of the inventory.
func (i *Inventory) Environment() string {
	environment, _ := owner.Environment(i.configMap.Name)
	return environment
}

// Exists reports whether the cluster has the inventory.
func (i *Inventory) Exists() bool { return i.configMap.ResourceVersion != "" }

// IsUnfinished reports whether a run has begun and not ended. It may be under way, or dead.
func (i *Inventory) IsUnfinished() bool { return i.configMap.Annotations[runAnnotation] != "" }

// Begin marks the inventory as this run's and adds objects to it. It fails if another run
// changed the inventory since Open.
func (i *Inventory) Begin(ctx context.Context, ids map[manifest.ID]bool) error {
	union := maps.Clone(i.IDs)
	maps.Copy(union, ids)
	i.run = newRunID()
	metav1.SetMetaDataAnnotation(&i.configMap.ObjectMeta, runAnnotation, i.run)
	return i.write(ctx, union)
}

// End removes the mark and replaces the list. It deletes an empty inventory.
func (i *Inventory) End(ctx context.Context, ids map[manifest.ID]bool) error {
	if len(ids) > 0 {
		delete(i.configMap.Annotations, runAnnotation)
		return i.write(ctx, ids)
	}
	err := i.client.Delete(ctx, i.configMap, client.Preconditions{ResourceVersion: &i.configMap.ResourceVersion})
	return i.explain(ctx, "delete", client.IgnoreNotFound(err))
}

func (i *Inventory) write(ctx context.Context, ids map[manifest.ID]bool) error {
	i.configMap.Data = map[string]string{Key: Encode(ids)}
	manager := client.FieldOwner(i.configMap.Name)
	if i.Exists() {
		return i.explain(ctx, "update", i.client.Update(ctx, i.configMap, manager))
	}
	return i.explain(ctx, "create", i.client.Create(ctx, i.configMap, manager))
}

func (i *Inventory) explain(ctx context.Context, verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return cmp.Or(i.Check(ctx), err)
	}
	return fmt.Errorf("%s inventory: %w", verb, err)
}

// Check returns an error if the mark in the inventory is not this run's.
func (i *Inventory) Check(ctx context.Context) error {
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := i.client.Get(ctx, client.ObjectKeyFromObject(i.configMap), now)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("get inventory: %w", err)
	case err == nil && now.Labels[kind.ManagedByLabel] != kind.ManagedBy:
		return fmt.Errorf("ConfigMap %s/%s has the name of the inventory and lacks the label %s: %s: rename or "+
			"delete it", Namespace, i.configMap.Name, kind.ManagedByLabel, kind.ManagedBy)
	case err == nil && now.Annotations[runAnnotation] == i.run:
		return nil
	}
	other := cmp.Or(kind.Visible(now.Annotations[runAnnotation]), "another run")
	return fmt.Errorf("%s took over: it applied or deleted environment %s at the same time; run this again to apply "+
		"this version instead", other, i.Environment())
}

// newRunID returns a unique name of this run that people recognize.
func newRunID() string {
	name := "somebody"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%s@%s (process %d, %s)", name, host, os.Getpid(), rand.String(5))
}

// Encode returns a line for each object, as Flux writes it: "shop_sessions_apps_Deployment".
func Encode(ids map[manifest.ID]bool) string {
	lines := make([]string, 0, len(ids))
	for id := range ids {
		lines = append(lines, Metadata(id).String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Decode returns the objects in lines.
func Decode(lines string) (map[manifest.ID]bool, error) {
	ids := map[manifest.ID]bool{}
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		id, err := DecodeLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %q is not like shop_sessions_apps_Deployment", line)
		}
		ids[id] = true
	}
	return ids, nil
}

// DecodeLine returns the object in a line.
func DecodeLine(line string) (manifest.ID, error) {
	m, err := object.ParseObjMetadata(line)
	return manifest.ID{Group: m.GroupKind.Group, Kind: m.GroupKind.Kind, Namespace: m.Namespace, Name: m.Name}, err
}

// Metadata returns an ID in the form of Flux's libraries.
func Metadata(id manifest.ID) object.ObjMetadata {
	return object.ObjMetadata{Namespace: id.Namespace, Name: id.Name,
		GroupKind: schema.GroupKind{Group: id.Group, Kind: id.Kind}}
}
