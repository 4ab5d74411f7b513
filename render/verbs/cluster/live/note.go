package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster/owner"
	"example.com/gatehouse/render/verbs/cluster/plan"
)

// notes names the managers of the fields that a sync changes, and the tools that would not change
// them.
func (c *comparison) notes(s *plan.Step, synced *unstructured.Unstructured) (notes []string) {
	isApplied := false
	for _, entry := range s.Live.GetManagedFields() {
		isApplier := c.isApplier(s, entry)
		isApplied = isApplied || isApplier
		if isApplier || entry.Subresource == "status" {
			continue
		}
		if fields := lostFields(entry, synced); len(fields) > 0 {
			notes = append(notes, c.note(entry, fields))
		}
	}
	if c.manager(s.Live) == owner.Manager(c.environment) {
		if isApplied && len(notes) > 0 {
			notes = append(notes,
				"render apply sets that back with --force-conflicts; otherwise it refuses to change a field that "+
					"git has, and keeps a field that git lacks")
		}
		if reason := plan.RefuseForeign(c.environment, nil, s); reason != "" {
			notes = append(notes, "render apply refuses it: it "+reason)
		}
	}
	settings := slices.Concat(delivery.Settings(s.Live, delivery.Flux),
		delivery.Settings(s.Unstructured, delivery.Flux))
	if ignored := delivery.Find(settings, delivery.Ignored); ignored != nil {
		notes = append(notes, fmt.Sprintf("Flux leaves it alone, as %s is %s", ignored.Key, ignored.Value))
	}
	slices.Sort(notes)
	return notes
}

// lostFields returns the fields that a sync takes from a manager, by removing or overwriting them.
func lostFields(entry metav1.ManagedFieldsEntry, synced *unstructured.Unstructured) (names []string) {
	identity := func(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		e.FieldsV1 = nil
		e.Time = nil
		return e
	}
	lost := fieldsOf(entry)
	for _, e := range synced.GetManagedFields() {
		if identity(e) == identity(entry) {
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

// note names a manager and its fields.
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
	if c.isTemporary(entry) || isKubectl(entry.Manager) {
		return note
	}
	return note +
		": a sync sets the value in git, and the manager may set it back; remove the field from git to leave it to " +
		"that manager"
}
