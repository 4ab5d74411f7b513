package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/ssa"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"example.com/gatehouse/render/apply"
)

// The field managers of tools that apply what git has.
const (
	fluxManager    = "kustomize-controller"
	argoManager    = "argocd-controller"
	kubectlManager = "kubectl"
)

// own is the field manager of render apply.
func (c *comparison) own() string { return apply.Manager(c.Name) }

// manager is the field manager that applied what is found, or else that of render apply.
func (c *comparison) manager(found *unstructured.Unstructured) string {
	switch {
	case found == nil:
		return c.own()
	case kustomizationOf(found) != "":
		return fluxManager
	case applicationOf(found) != "":
		return argoManager
	}
	appliers := map[string]bool{}
	for _, entry := range found.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			appliers[entry.Manager] = true
		}
	}
	for _, manager := range []string{c.own(), fluxManager, argoManager, kubectlManager} {
		if appliers[manager] {
			return manager
		}
	}
	return c.own()
}

// isPassing says whether what a manager set, and git does not have, is a difference: what
// people set by kubectl, and what a tool that applies what git has set before. All else is of
// controllers and the API server, which may have their own fields of an object.
func (c *comparison) isPassing(entry metav1.ManagedFieldsEntry) bool {
	if entry.Subresource != "" {
		return false
	}
	switch entry.Manager {
	case fluxManager, argoManager, c.own(), "before-first-apply":
		return true
	}
	return isByHand(entry.Manager)
}

func isByHand(manager string) bool { return strings.HasPrefix(manager, kubectlManager) }

// withoutLeftovers is what would come of an object without the fields that git does not have
// and nobody sets who may; ok says whether there are such.
func (c *comparison) withoutLeftovers(found, after *unstructured.Unstructured) (rest *unstructured.Unstructured, ok bool) {
	if found.GetAnnotations()[fluxDomain+"/ssa"] == "Merge" {
		return nil, false // Flux leaves the fields of others alone
	}
	applier := c.manager(found)
	left, kept := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range after.GetManagedFields() {
		fields, ok := fieldsOf(entry)
		isApplier := entry.Manager == applier && entry.Operation == metav1.ManagedFieldsOperationApply
		switch {
		case !ok:
		case !isApplier && c.isPassing(entry) && entry.APIVersion == after.GetAPIVersion():
			left = left.Union(fields)
		default:
			kept = kept.Union(fields)
		}
	}
	if left.Empty() {
		return nil, false
	}
	rest = without(after, left, kept)
	return rest, !sameJSON(cleaned(rest).Object, cleaned(after).Object)
}

func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, bool) {
	if entry.FieldsV1 == nil {
		return nil, false
	}
	fields, err := ssa.FieldsToSet(*entry.FieldsV1)
	return &fields, err == nil
}

// notes say who set the fields of what is found that a sync changes, and whether one changes
// them at all.
func (c *comparison) notes(wanted, found, after *unstructured.Unstructured) (notes []string) {
	was, is := cleaned(found), cleaned(after)
	if sameJSON(was.Object, is.Object) {
		return nil
	}
	applier, isOwn := c.manager(found), false
	for _, entry := range found.GetManagedFields() {
		fields, ok := fieldsOf(entry)
		isApplier := entry.Manager == applier && entry.Operation == metav1.ManagedFieldsOperationApply
		isOwn = isOwn || isApplier && applier == c.own()
		if !ok || isApplier || entry.Subresource == "status" || entry.APIVersion != found.GetAPIVersion() {
			continue
		}
		if changed := changedFields(fields, was, is); len(changed) > 0 {
			notes = append(notes, c.note(entry, changed))
		}
	}
	if isOwn && len(notes) > 0 {
		notes = append(notes, "render apply sets that back with --force-conflicts; without, it refuses where git has the field, and leaves it where git has not")
	}
	if why := apply.Refuse(c.Name, found, wanted); applier == c.own() && why != "" {
		notes = append(notes, "render apply refuses it: it "+why)
	}
	notes = append(notes, leftAlone(found)...)
	slices.Sort(notes)
	return notes
}

// leftAlone says whether Flux leaves an object alone.
func leftAlone(found *unstructured.Unstructured) (notes []string) {
	for key, value := range map[string]string{"reconcile": "disabled", "ssa": "Ignore"} {
		key = fluxDomain + "/" + key
		if found.GetAnnotations()[key] == value || found.GetLabels()[key] == value {
			notes = append(notes, fmt.Sprintf("Flux leaves it alone, as %s is %s", key, value))
		}
	}
	return notes
}

// changedFields are those of some fields that are other than they were.
func changedFields(fields *fieldpath.Set, was, is *unstructured.Unstructured) (changed []string) {
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		before, wasThere := valueAt(was.Object, path)
		now, isThere := valueAt(is.Object, path)
		if wasThere && !isKey(path) && (!isThere || !sameJSON(before, now)) {
			changed = append(changed, strings.TrimPrefix(path.String(), "."))
		}
	})
	slices.Sort(changed)
	return changed
}

// note says who set fields.
func (c *comparison) note(entry metav1.ManagedFieldsEntry, fields []string) string {
	const most = 5
	if more := len(fields) - most; more > 0 {
		fields = append(slices.Clone(fields[:most]), fmt.Sprintf("%d more", more))
	}
	who := entry.Manager
	if entry.Subresource != "" {
		who += " (" + entry.Subresource + ")"
	}
	when := ""
	if entry.Time != nil {
		when = " at " + entry.Time.UTC().Format(time.RFC3339)
	}
	note := fmt.Sprintf("%s set %s%s", cmp.Or(who, "someone"), strings.Join(fields, ", "), when)
	if entry.Subresource == "" && c.isPassing(entry) || isByHand(entry.Manager) {
		return note
	}
	return note + ": a sync sets what git has, and that may be changed back; leave the field out of git where something else decides it"
}
