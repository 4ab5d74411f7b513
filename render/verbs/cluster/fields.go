package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"example.com/gatehouse/render/manifest"
)

// schemas has the types of kinds, as the API server publishes them.
type schemas struct {
	cluster    *Cluster
	mu         sync.Mutex
	converters map[schema.GroupVersion]managedfields.TypeConverter
}

// typed returns an object with its type.
func (s *schemas) typed(o *unstructured.Unstructured) (*typed.TypedValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := o.GroupVersionKind().GroupVersion()
	if s.converters[version] == nil {
		const preserveUnknownFields = false
		published, err := openapi3.NewRoot(s.cluster.api.OpenAPIV3()).GVSpec(version)
		if err == nil {
			s.converters[version], err = managedfields.NewTypeConverter(published.Components.Schemas, preserveUnknownFields)
		}
		if err != nil {
			return nil, fmt.Errorf("read the schemas of %s: %w", version, err)
		}
	}
	return s.converters[version].ObjectToTyped(o, typed.AllowDuplicates)
}

// manager returns the field manager of the tool that applied an object, or else that of render
// apply.
func (c *comparison) manager(live *unstructured.Unstructured) string {
	own := managerName(c.name)
	switch {
	case live == nil:
		return own
	case kustomizationOf(live) != "":
		return fluxManager
	case applicationOf(live) != "":
		return argoManager
	}
	by := appliers(live)
	for _, manager := range []string{own, fluxManager, argoManager, kubectlManager} {
		if slices.Contains(by, manager) {
			return manager
		}
	}
	return own
}

// isPassing reports whether a sync removes what a manager set and git does not have: what
// people set by kubectl, and what a tool that applies what git has set before. All else belongs
// to controllers and the API server, which may have their own fields of an object.
func (c *comparison) isPassing(entry metav1.ManagedFieldsEntry) bool {
	if entry.Subresource != "" {
		return false
	}
	switch entry.Manager {
	case fluxManager, argoManager, managerName(c.name), "before-first-apply":
		return true
	}
	return isKubectl(entry.Manager)
}

func isKubectl(manager string) bool { return strings.HasPrefix(manager, kubectlManager) }

// withoutLeftovers returns what a sync makes of an object: what the API server would make of
// it, without the fields that git does not have and whose managers a sync takes them from.
func (c *comparison) withoutLeftovers(ctx context.Context, s *step) (*unstructured.Unstructured, error) {
	leftovers := c.leftovers(s)
	if leftovers.Empty() || s.live.GetAnnotations()[fluxDomain+"/ssa"] == "Merge" {
		return s.after, nil // by ssa: Merge Flux leaves the fields of others alone
	}
	withTypes, err := c.schemas.typed(s.after)
	if err != nil {
		return nil, err
	}
	fields, _ := withTypes.RemoveItems(leftovers).AsValue().Unstructured().(map[string]any)
	without := &unstructured.Unstructured{Object: fields}
	// What is left out may have a default, which only the API server knows.
	after := withoutServerFields(without)
	err = c.Patch(ctx, after, client.MergeFrom(withoutServerFields(s.live)), client.FieldOwner(managerName(c.name)), client.DryRunAll)
	switch {
	case err == nil:
		return after, nil
	case isFatal(err):
		return nil, err
	}
	return s.after, nil // it has to be there
}

// leftovers returns the fields of passing managers that no other manager has.
func (c *comparison) leftovers(s *step) *fieldpath.Set {
	applier := c.manager(s.live)
	left, kept := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range s.after.GetManagedFields() {
		isApplier := entry.Manager == applier && entry.Operation == metav1.ManagedFieldsOperationApply
		if !isApplier && c.isPassing(entry) && entry.APIVersion == s.after.GetAPIVersion() {
			left = left.Union(fieldsOf(entry))
		} else {
			kept = kept.Union(fieldsOf(entry))
		}
	}
	leftovers := fieldpath.NewSet()
	left.Difference(kept).Iterate(func(path fieldpath.Path) {
		if !isKey(path) && !hasFieldsBelow(kept, path) {
			leftovers.Insert(path)
		}
	})
	return leftovers
}

// fieldsOf returns the fields of a manager, which the API server writes.
func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 != nil {
		_ = fields.FromJSON(entry.FieldsV1.GetRawReader())
	}
	return fields
}

// hasFieldsBelow reports whether a set has fields below a path.
func hasFieldsBelow(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

// isKey reports whether a path leads to a field by which an item of a list is found.
func isKey(path fieldpath.Path) bool {
	if len(path) < 2 || path[len(path)-2].Key == nil || path[len(path)-1].FieldName == nil {
		return false
	}
	return slices.ContainsFunc(*path[len(path)-2].Key, func(key value.Field) bool { return key.Name == *path[len(path)-1].FieldName })
}

// notes returns notes on the fields that a sync changes: who set them, and which tool does not
// change them.
func (c *comparison) notes(s *step, after *unstructured.Unstructured) (notes []string) {
	own, applier, isApplied := managerName(c.name), c.manager(s.live), false
	for _, entry := range s.live.GetManagedFields() {
		isApplier := entry.Manager == applier && entry.Operation == metav1.ManagedFieldsOperationApply
		isApplied = isApplied || isApplier
		if isApplier || entry.Subresource == "status" {
			continue
		}
		if fields := lostFields(entry, after); len(fields) > 0 {
			notes = append(notes, c.note(entry, fields))
		}
	}
	if applier == own && isApplied && len(notes) > 0 {
		notes = append(notes, "render apply sets that back with --force-conflicts; without, it refuses where git has the field, and leaves it where git has not")
	}
	if why := newApplier(c.Cluster, Options{Environment: c.name}).refuse(s); applier == own && why != "" {
		notes = append(notes, "render apply refuses it: it "+why)
	}
	notes = append(notes, fluxNotes(s.live)...)
	slices.Sort(notes)
	return notes
}

// lostFields returns the fields of a manager that a sync takes from it, as it removes them or sets
// another value.
func lostFields(entry metav1.ManagedFieldsEntry, after *unstructured.Unstructured) (names []string) {
	withoutFields := func(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		e.FieldsV1, e.Time = nil, nil
		return e
	}
	lost := fieldsOf(entry)
	for _, e := range after.GetManagedFields() {
		if withoutFields(e) == withoutFields(entry) {
			lost = lost.Difference(fieldsOf(e))
		}
	}
	lost.Leaves().Iterate(func(path fieldpath.Path) {
		if !isKey(path) && !isToolMetadata(path) {
			names = append(names, strings.TrimPrefix(path.String(), "."))
		}
	})
	slices.Sort(names)
	return names
}

// fluxNotes returns notes on annotations by which Flux leaves an object alone.
func fluxNotes(live *unstructured.Unstructured) (notes []string) {
	for key, value := range map[string]string{"reconcile": "disabled", "ssa": "Ignore"} {
		key = fluxDomain + "/" + key
		if ssautils.AnyInMetadata(live, map[string]string{key: value}) {
			notes = append(notes, fmt.Sprintf("Flux leaves it alone, as %s is %s", key, value))
		}
	}
	return notes
}

// note returns the note on fields that a manager set.
func (c *comparison) note(entry metav1.ManagedFieldsEntry, fields []string) string {
	const most = 5
	who := cmp.Or(entry.Manager, "someone")
	if entry.Subresource != "" {
		who += " (" + entry.Subresource + ")"
	}
	when := ""
	if entry.Time != nil {
		when = " at " + entry.Time.UTC().Format(time.RFC3339)
	}
	note := fmt.Sprintf("%s set %s%s", who, manifest.FirstOf(most, fields), when)
	if entry.Subresource == "" && c.isPassing(entry) || isKubectl(entry.Manager) {
		return note
	}
	return note + ": a sync sets what git has, and that may be changed back; leave the field out of git where something else decides it"
}
