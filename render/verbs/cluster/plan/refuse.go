package plan

import (
	"fmt"
	"slices"

	ssautils "github.com/fluxcd/pkg/ssa/utils"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster/inventory"
	"example.com/gatehouse/render/verbs/cluster/owner"
)

// RefuseForeign returns the reason why an environment must not apply an object, if it belongs to
// another owner or to a newer version. Listed has the environments of the objects that other
// inventories list.
func RefuseForeign(environment string, listed map[manifest.ID]string, s *Step) string {
	manager, lister := owner.Manager(environment), listed[s.ID()] // a lister may not have applied it yet
	switch {
	case s.ID() == (manifest.ID{Kind: "ConfigMap", Namespace: inventory.Namespace, Name: manager}):
		return "has the name of the inventory of render apply: give it another name"
	case s.Live == nil && lister != "":
		return fmt.Sprintf("belongs to environment %s, whose inventory lists it: apply that again, or run render "+
			"delete --env %s", lister, lister)
	case s.Live == nil:
		return ""
	case s.Live.GetDeletionTimestamp() != nil:
		return "is being deleted: wait until it is gone, and run this again"
	}
	appliers := owner.Appliers(s.Live)
	other := ""
	for _, applier := range appliers {
		if environment, ok := owner.Environment(applier); ok && applier != manager {
			other = environment
			break
		}
	}
	if other == "" && !slices.Contains(appliers, manager) {
		other = lister
	}
	if other != "" {
		return fmt.Sprintf("belongs to environment %s: move objects that two environments need to a third; to move "+
			"one here, remove it from %s and apply that first, or, if %s is gone from git, run render delete --env %s",
			other, other, other, other)
	}
	if tool := owner.Of(s.Live); tool != "" {
		return fmt.Sprintf("belongs to %s: change it there, or have that give it up, or leave it out of this "+
			"environment", tool)
	}
	if ssautils.IsCRD(s.Live) {
		return refuseOlder(s.Live, s.Unstructured)
	}
	return ""
}
