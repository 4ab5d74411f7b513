package review

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/gatehouse/test/changes"
)

// A changed definition is a risk where the API server serves, stores, converts or accepts objects otherwise.
func TestReviewOfDefinitions(t *testing.T) {
	version := func(name string, isServed, isStored bool, more string) string {
		return fmt.Sprintf("{name: %s, served: %t, storage: %t, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object%s}}}}}", name, isServed, isStored, more)
	}
	crd := func(kind, scope, more string, versions ...string) string {
		return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: turns.t.example.com}, spec: {group: t.example.com, scope: %s, names: {kind: %s, plural: turns}, %s versions: %s}}\n---\n", scope, kind, more, slices.Clone(versions))
	}
	const ns, webhook = "Namespaced", "conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: a, name: b}}}},"
	const object = "{apiVersion: t.example.com/v1, kind: Turn, metadata: {name: a, namespace: shop}}"
	const name, stays = "CustomResourceDefinition turns.t.example.com: ", " | Flux and Argo CD fail to apply it: it has to be deleted first, and with it every Turn of the cluster"
	v1, old, v2 := version("v1", true, true, ""), version("v1", true, false, ""), version("v2", true, true, "")
	for title, test := range map[string]struct{ before, after, want string }{
		"removed":            {crd("Turn", ns, "", v1) + object, object, "is removed | every Turn of the cluster is deleted, and here are Turn shop/a"},
		"no longer served":   {crd("Turn", ns, "", old+", "+v2) + object, crd("Turn", ns, "", version("v1", false, false, "")+", "+v2) + object, "no longer serves v1 | the API server refuses objects that are written in it: Turn shop/a"},
		"version removed":    {crd("Turn", ns, "", old+", "+v2), crd("Turn", ns, "", v2), "no longer serves v1 | clients that use it fail; the API server refuses this change as long as status.storedVersions lists it"},
		"storage removed":    {crd("Turn", ns, "", v1), crd("Turn", ns, "", v2), "the API server refuses this change: status.storedVersions[0]: missing from spec.versions; v1 was…s persisted in v1 and removes v1 from status.storedVersions | Flux and Argo CD fail to apply it: keep the version until no object is stored in it and status.storedVersions lacks it"},
		"storage moved":      {crd("Turn", ns, "", v1), crd("Turn", ns, "", old+", "+v2), "no longer stores objects in v1 | existing objects stay as they are stored until they are written again: then they lose the fields that the new version lacks"},
		"moved by webhook":   {crd("Turn", ns, webhook, v1), crd("Turn", ns, webhook, old+", "+v2), "no longer stores objects in v1 | its webhook has to convert existing objects, which stay as they are stored until they are written again"},
		"webhook added":      {crd("Turn", ns, "", v1), crd("Turn", ns, webhook, v1), "converts objects by a webhook | without it the API server reads and writes no object of another version than the stored one"},
		"webhook removed":    {crd("Turn", ns, webhook, v1), crd("Turn", ns, "", v1), "no longer converts objects by a webhook | the API server changes their apiVersion alone: fields that a version lacks or has otherwise are lost or wrong"},
		"unknown fields":     {crd("Turn", ns, "", version("v1", true, true, ", x-kubernetes-preserve-unknown-fields: true")), crd("Turn", ns, "", v1), "drops unknown fields: spec.versions[v1].schema.openAPIV3Schema.properties.spec.x-kubernetes-preserve-unknown-fields is no longer true | objects lose them when they are written again"},
		"scope":              {crd("Turn", ns, "", v1), crd("Turn", "Cluster", "", v1), "the API server refuses this change: spec.scope: field is immutable" + stays},
		"kind":               {crd("Turn", ns, "", v1), crd("Turner", ns, "", v1), "the API server refuses this change: spec.names.kind: field is immutable" + stays},
		"columns, no risk":   {crd("Turn", ns, "", v1), crd("Turn", ns, "", "{additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}], "+v1[1:]), ""},
		"new field, no risk": {crd("Turn", ns, "", v1), crd("Turn", ns, "", version("v1", true, true, ", properties: {m: {type: string}}")), ""},
	} {
		got := changes.Lines(ruled(changes.Between(t, test.before, test.after), time.Time{}))
		if test.want == "" && len(got) > 0 || test.want != "" && !slices.Contains(got, name+test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", title, got, name+test.want)
		}
	}
}
