package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// A leftover is a field that git no longer has, set by a manager whose fields a sync removes.

// removeLeftovers returns the dry-run result of an object without leftovers, as a sync would leave
// it.
func (c *comparison) removeLeftovers(ctx context.Context, s *plan.Step) (*unstructured.Unstructured, error) {
	leftovers := c.leftovers(s)
	isMerged := delivery.Find(delivery.Settings(s.Live, delivery.Flux), delivery.Merged) != nil
	if leftovers.Empty() || isMerged {
		return s.DryRun, nil
	}
	result, err := c.schemas.typed(s.DryRun)
	if err != nil {
		return nil, err
	}
	fields, _ := result.RemoveItems(leftovers).AsValue().Unstructured().(map[string]any)
	// A second dry run adds the defaults of the removed fields.
	synced := plan.WithoutServerFields(&unstructured.Unstructured{Object: fields})
	err = c.Patch(ctx, synced, client.MergeFrom(plan.WithoutServerFields(s.Live)),
		client.FieldOwner(owner.Manager(c.environment)), client.DryRunAll)
	switch {
	case err == nil:
		return synced, nil
	case cluster.IsFatal(err):
		return nil, err
	}
	return s.DryRun, nil // the fields are required
}

// leftovers returns the fields of temporary managers that no other manager has.
func (c *comparison) leftovers(s *plan.Step) *fieldpath.Set {
	left := fieldpath.NewSet()
	kept := fieldpath.NewSet()
	for _, entry := range s.DryRun.GetManagedFields() {
		if !c.isApplier(s, entry) && c.isTemporary(entry) && entry.APIVersion == s.DryRun.GetAPIVersion() {
			left = left.Union(fieldsOf(entry))
		} else {
			kept = kept.Union(fieldsOf(entry))
		}
	}
	leftovers := fieldpath.NewSet()
	left.Difference(kept).Iterate(func(path fieldpath.Path) {
		below := kept
		for _, element := range path {
			below = below.WithPrefix(element)
		}
		if !isKey(path) && below.Empty() {
			leftovers.Insert(path)
		}
	})
	return leftovers
}

// manager returns the field manager of the tool that applied a live object, or else of render
// apply.
func (c *comparison) manager(live *unstructured.Unstructured) string {
	own := owner.Manager(c.environment)
	switch {
	case live == nil:
		return own
	case kustomizationOf(live) != "":
		return owner.Flux
	case applicationOf(live) != "":
		return owner.Argo
	case c.appliers[idInNamespace(live)] != "":
		return c.appliers[idInNamespace(live)]
	}
	appliers := owner.Appliers(live)
	for _, manager := range []string{own, owner.Flux, owner.Argo, owner.Kubectl} {
		if slices.Contains(appliers, manager) {
			return manager
		}
	}
	return own
}

// isApplier reports whether a managed fields entry belongs to the tool that applied the object.
func (c *comparison) isApplier(s *plan.Step, entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == c.manager(s.Live) && entry.Operation == metav1.ManagedFieldsOperationApply
}

// isTemporary reports whether a sync removes a manager's fields unless git has them: edits with
// kubectl, and the fields of previous tools. Controllers keep their fields.
func (c *comparison) isTemporary(entry metav1.ManagedFieldsEntry) bool {
	if entry.Subresource != "" {
		return false
	}
	switch entry.Manager {
	case owner.Flux, owner.Argo, owner.Manager(c.environment), "before-first-apply":
		return true
	}
	return isKubectl(entry.Manager)
}

func isKubectl(manager string) bool { return strings.HasPrefix(manager, owner.Kubectl) }

// fieldsOf decodes the fields of a manager, as the API server encoded them.
func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 != nil {
		_ = fields.FromJSON(entry.FieldsV1.GetRawReader())
	}
	return fields
}

// isKey reports whether a path leads to a field that identifies a list item.
func isKey(path fieldpath.Path) bool {
	if len(path) < 2 || path[len(path)-2].Key == nil || path[len(path)-1].FieldName == nil {
		return false
	}
	return slices.ContainsFunc(*path[len(path)-2].Key, func(key value.Field) bool {
		return key.Name == *path[len(path)-1].FieldName
	})
}

// schemas has the published types of the cluster's kinds.
type schemas struct {
	cluster    *cluster.Cluster
	mu         sync.Mutex
	converters map[schema.GroupVersion]managedfields.TypeConverter
}

// typed returns an object with its published type.
func (s *schemas) typed(o *unstructured.Unstructured) (*typed.TypedValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := o.GroupVersionKind().GroupVersion()
	if s.converters[version] == nil {
		const preserveUnknownFields = false
		published, err := openapi3.NewRoot(s.cluster.Discovery.OpenAPIV3()).GVSpec(version)
		if err == nil {
			s.converters[version], err = managedfields.NewTypeConverter(published.Components.Schemas,
				preserveUnknownFields)
		}
		if err != nil {
			return nil, fmt.Errorf("read the schemas of %s: %w", version, err)
		}
	}
	return s.converters[version].ObjectToTyped(o, typed.AllowDuplicates)
}
