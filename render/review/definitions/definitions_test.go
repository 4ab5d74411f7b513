package definitions

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/changes"
)

// definition returns the CustomResourceDefinition of Turns, with versions.
func definition(versions string) string {
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: turns.t.example.com}," +
		" spec: {group: t.example.com, scope: Namespaced, names: {kind: Turn, plural: turns}, versions: [" + versions + "]}}\n---\n"
}

// TestChangedDefinitionsTellWhoFails has a definition, and a Turn of version v1 beside it.
func TestChangedDefinitionsTellWhoFails(t *testing.T) {
	const (
		turn   = "{apiVersion: t.example.com/v1, kind: Turn, metadata: {name: a, namespace: shop}}\n---\n"
		v1     = "{name: v1, served: true, storage: true}"
		notV1  = "{name: v1, served: false, storage: false}, "
		alsoV1 = "{name: v1, served: true, storage: false}, "
		v2     = "{name: v2, served: true, storage: true}"
	)
	for name, test := range map[string]struct{ before, after, want string }{
		"no change":          {definition(v1), definition(v1), ""},
		"a new version":      {definition(v1), definition(v1 + ", {name: v2, served: true, storage: false}"), ""},
		"removed":            {definition(v1), "", "is removed: every Turn of the cluster is deleted"},
		"removed with users": {definition(v1) + turn, turn, "is removed: every Turn of the cluster is deleted, and here are Turn shop/a"},
		"not served":         {definition(alsoV1 + v2), definition(notV1 + v2), "no longer serves v1: clients that use it fail"},
		"not served, with users": {definition(alsoV1+v2) + turn, definition(notV1+v2) + turn,
			"no longer serves v1: the API server refuses objects that are written in it: Turn shop/a"},
		"not there": {definition(alsoV1 + v2), definition(v2), "no longer serves v1: clients that use it fail; the API server refuses this change as long as " +
			"status.storedVersions lists it"},
		"stored in another version": {definition(v1), definition(alsoV1 + v2), "no longer stores objects in v1: existing objects stay as they are stored until " +
			"they are written again: then they lose the fields that the new version lacks"},
	} {
		e := changes.Between(t, test.before, test.after)
		got := ""
		for _, c := range e.Changes {
			for _, found := range Review(e, c) {
				got += found.What.Plain() + ": " + found.Risk.Plain()
			}
		}
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}

// TestVerdictsTellRefusedAndLostObjects has the difference of two verdicts on one object.
func TestVerdictsTellRefusedAndLostObjects(t *testing.T) {
	turn := changes.Objects(t, "{apiVersion: t.example.com/v1, kind: Turn, metadata: {name: a, namespace: shop}}")[0]
	problem := manifest.Problem{Subject: turn, File: "turn.yaml", Line: 4, Message: "spec.size: Required value"}
	field := func(path string, before, after *string) compare.FieldChange {
		return compare.FieldChange{Path: path, Before: before, After: after}
	}
	small := ptr.To("1")
	large := ptr.To("2")
	for name, test := range map[string]struct {
		verdicts *compare.Verdicts
		want     []string
	}{
		"none":     {nil, nil},
		"the same": {&compare.Verdicts{}, nil},
		"refused": {&compare.Verdicts{Errors: []compare.Refusal{{Problem: problem}}}, []string{
			"Turn shop/a: is refused after this change, turn.yaml:4: spec.size: Required value | Flux and Argo CD fail to apply it"}},
		"refused if it is new": {&compare.Verdicts{Errors: []compare.Refusal{{Problem: problem, MayStay: true}}}, []string{
			"Turn shop/a: is refused after this change, turn.yaml:4: spec.size: Required value | an existing object may stay as it is: " +
				"the API server refuses a new one, and changes that leave this wrong"}},
		"warned": {&compare.Verdicts{Warnings: []manifest.Problem{problem}}, []string{
			"Turn shop/a: has a new warning, turn.yaml:4: spec.size: Required value | check the programs that read or write it"}},
		"a lost field": {&compare.Verdicts{Stored: []compare.StoredObject{{Problem: problem,
			Existing: []compare.FieldChange{field("spec.size", small, nil)}}}}, []string{
			"Turn shop/a: loses fields (turn.yaml:4): spec.size: 1 | the API server no longer stores them"}},
		"another value": {&compare.Verdicts{Stored: []compare.StoredObject{{Problem: problem,
			Existing: []compare.FieldChange{field("spec.size", small, large)}, Fields: []compare.FieldChange{field("spec.size", small, large)}}}}, []string{
			"Turn shop/a: is read and stored otherwise (turn.yaml:4): it changes spec.size: 1 → 2 | no change of it in git says so"}},
		"another default": {&compare.Verdicts{Stored: []compare.StoredObject{{Problem: problem,
			Fields: []compare.FieldChange{field("spec.size", small, large)}}}}, []string{
			"Turn shop/a: is stored otherwise if it is new (turn.yaml:4): it changes spec.size: 1 → 2 | an existing object stays, " +
				"and differs from one that is created again"}},
	} {
		if got := changes.Lines(Verdicts(test.verdicts)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q\nwant %q", name, got, test.want)
		}
	}
}
