package world

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/verdict/policy"
)

// refusals returns the changes that the API server refuses, such as changes of immutable fields.
func (w *World) refusals() map[manifest.ID]kind.Effect {
	refused := map[manifest.ID]kind.Effect{}
	for _, c := range slices.Concat(w.Changes, w.Definitions) {
		if c.Action() != compare.Changed || LeftBy(c) != nil || delivery.RunsAgain(c.Before) {
			continue
		}
		if errs := w.checks.Update(manifest.Object{Unstructured: c.Before},
			manifest.Object{Unstructured: c.After}); len(errs) > 0 {
			refused[IDOf(c.After)] = kind.Effect{Type: effect.UpdateRefused,
				What: kind.Say("the API server refuses this change: %s", reason(errs)), Risk: remedy(c, errs[0].Field)}
		}
	}
	return refused
}

// Mutations returns the changes of the objects of a side by the MutatingAdmissionPolicies among them, by object.
func (w *World) Mutations(s Side) map[manifest.ID]policy.Mutation {
	objects, hasPolicy := make([]manifest.Object, 0, len(s.Objects)), false
	for _, o := range s.Objects {
		objects, hasPolicy = append(objects, manifest.Object{Unstructured: o, Written: o}), hasPolicy ||
			o.GetKind() == "MutatingAdmissionPolicy"
	}
	if !hasPolicy {
		return nil
	}
	checker := *w.checks
	checker.RuntimeConfig = "admissionregistration.k8s.io/v1beta1" // or else there were no such policies in git
	all, _ := checker.Mutations(objects)
	mutations := map[manifest.ID]policy.Mutation{}
	for i, m := range all {
		mutations[objects[i].ID()] = m
	}
	return mutations
}

// reason returns the API server's reason for a refusal, on one line and without values, which may be secret.
func reason(errs field.ErrorList) kind.Sentence {
	detail, _, _ := strings.Cut(errs[0].Detail, "\n")
	said := kind.Say("%s", fmt.Sprintf("%s: %s", errs[0].Field, detail))
	if len(errs) > 1 {
		said += kind.Say(" and %d more", len(errs)-1)
	}
	return said
}

// IsForced reports whether a tool deletes and recreates an object if the API server refuses its change.
func IsForced(c compare.Change) bool {
	return delivery.Find(Settings(c, c.After), delivery.Forced, delivery.Recreated) != nil
}

// remedy describes the reaction of GitOps tools to a refused change, and a safe way to make the change.
func remedy(c compare.Change, field string) kind.Sentence {
	o := c.After
	var with kind.Sentence
	if crd.Is(o) {
		with = kind.Say(", and with it every %s of the cluster", crd.Kind(c.Before).Kind)
	}
	switch {
	case IsForced(c):
		return "Flux or Argo CD deletes and recreates it" + with + ", because of its annotations or labels"
	case strings.HasPrefix(field, "status.storedVersions"):
		return "Flux and Argo CD fail to apply it: keep the version until no object is stored in it and " +
			"status.storedVersions lacks it"
	case with != "" && strings.HasPrefix(field, "spec."):
		return "Flux and Argo CD fail to apply it: it has to be deleted first" + with
	}
	switch o.GetKind() {
	case "ClusterRoleBinding", "ConfigMap", "DaemonSet", "Deployment", "Job", "Pod", "RoleBinding", "Secret":
		return "Flux and Argo CD fail to apply it: rename it to create a new one"
	}
	return "Flux and Argo CD fail to apply it"
}
