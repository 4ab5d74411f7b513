package kustomize

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/source"
)

// reference is a field with the names of objects of a kind.
type reference struct {
	to   resid.Gvk
	from types.FieldSpec
}

// readReferences reads kustomize's own configuration of references from its internal package.
func readReferences(t *testing.T) (all []reference) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kustomize/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "internal/konfig/builtinpluginconsts/namereference.go"))
	if err != nil {
		t.Fatal(err)
	}
	var configuration source.Configuration
	if err := yaml.Unmarshal([]byte(strings.Split(string(content), "`")[1]), &configuration); err != nil {
		t.Fatal(err)
	}
	for _, r := range configuration.NameReference {
		for _, from := range r.FieldSpecs {
			all = append(all, reference{r.Gvk, from})
		}
	}
	return all
}

// Package parts relies on kustomize's own configuration to be as plain as the configurations that it accepts.
func TestKustomizeHasNoReferencesFromGeneratedKinds(t *testing.T) {
	all := readReferences(t)
	if len(all) < 100 {
		t.Fatalf("%d references are read", len(all))
	}
	for _, r := range all {
		if r.from.Kind == "" || buildpath.SelectsGenerated(r.from.Gvk) || buildpath.IsIdentity(strings.Split(r.from.Path, "/")) {
			t.Errorf("%s refers to %s in %s", r.from.Gvk, r.to, r.from.Path)
		}
	}
}

// apiVersions has the versions of kinds in references without group and version.
var apiVersions = map[string]string{
	"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
	"Job": "batch/v1", "CronJob": "batch/v1", "HorizontalPodAutoscaler": "autoscaling/v2",
	"Ingress": "networking.k8s.io/v1", "IngressClass": "networking.k8s.io/v1", "Role": "rbac.authorization.k8s.io/v1",
	"ClusterRole": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1",
	"ClusterRoleBinding": "rbac.authorization.k8s.io/v1", "StorageClass": "storage.k8s.io/v1", "PriorityClass": "scheduling.k8s.io/v1",
	"ValidatingAdmissionPolicy": "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
	"ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
	"APIService": "apiregistration.k8s.io/v1",
}

func apiVersionOf(gvk resid.Gvk) string {
	switch version := apiVersions[gvk.Kind]; {
	case gvk.Group == "serving.knative.dev":
		return gvk.ApiVersion()
	case version != "":
		return version
	}
	return "v1"
}

// lists are the list fields in the paths of references.
var lists = []string{"containers", "initContainers", "env", "envFrom", "volumes", "sources", "imagePullSecrets", "tls", "rules", "paths", "subjects", "webhooks", "resourceNames", "volumeClaimTemplates"}

// mappings are the last fields of references that also have a namespace.
var mappings = []string{"subjects", "service", "configMap"}

// referrer draws an object that refers to another in a field of kustomize's configuration.
func (d *drawing) referrer(namespace string) string {
	r := d.known[d.number(len(d.known))]
	name := d.newConfig(r.from.Kind, namespace)
	if d.chance(50) {
		name = d.newSpec(r.from.Kind, namespace)
	}
	to := d.configName()
	if names := d.here[r.to.Kind]; len(names) > 0 && d.chance(70) {
		to = d.affix(d.pick(names...))
	}
	fields := strings.Split(strings.ReplaceAll(r.from.Path, `\/`, "\x00"), "/")
	last := len(fields) - 1
	value := to
	if slices.Contains(mappings, fields[last]) {
		value = "{name: " + to + d.pick("", ", namespace: one", ", namespace: two", ", namespace: default") + ", kind: " + r.to.Kind + "}"
	}
	for i := last; i >= 0; i-- {
		field := strings.ReplaceAll(fields[i], "\x00", "/")
		if slices.Contains(lists, field) {
			value = "[" + value + "]"
		}
		if i == 0 && field == "metadata" {
			return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s%s, %s}", apiVersionOf(r.from.Gvk), r.from.Kind, name, namespace, strings.TrimPrefix(value, "{"))
		}
		if i == 0 && field == "roleRef" {
			value = strings.TrimSuffix(value, "}") + ", kind: " + r.to.Kind + ", apiGroup: rbac.authorization.k8s.io}"
		}
		value = "{" + field + ": " + value + "}"
	}
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s%s%s}, %s", apiVersionOf(r.from.Gvk), r.from.Kind, name, namespace, d.drawMetadata(), strings.TrimPrefix(value, "{"))
}

// target draws an object of a kind with references to it.
func (d *drawing) target(namespace string) string {
	to := d.known[d.number(len(d.known))].to
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s%s%s}}", apiVersionOf(to), to.Kind, d.newConfig(to.Kind, namespace), namespace, d.drawMetadata())
}

// special draws an object with a name that kustomize treats differently.
func (d *drawing) special() string {
	switch d.number(3) {
	case 0:
		return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", d.pick("one", "two", d.newConfig("Namespace", "none")))
	case 1:
		return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s}, spec: {group: a, names: {kind: cm0, plural: s0}}}", d.newConfig("CustomResourceDefinition", ""))
	}
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, annotations: {config.kubernetes.io/local-config: \"true\"}}, data: {k: v}}", d.newConfig("ConfigMap", ""))
}

// drawPlainPatch draws a patch for a kind and its target, "" if it has none.
func (d *drawing) drawPlainPatch(kind string) (target, patch string) {
	version := apiVersionOf(resid.Gvk{Kind: kind})
	switch kind {
	case "At":
		version = atVersion
	case "Memcached":
		version = memVersion
	}
	one := func() string {
		return fmt.Sprintf(merge, version, kind, d.nameHere(kind), d.pick("data: {added: a}", "spec: {template: {spec: {serviceAccountName: "+d.configName()+"}}}", "imagePullSecrets: [{name: "+d.configName()+"}]"))
	}
	switch n := d.number(20); {
	case n < 8:
		return "", one()
	case n < 10:
		return "", one() + "    ---\n    " + one()
	case n < 11:
		return "", fmt.Sprintf(merge, version, kind, d.nameHere(kind), "$patch: delete")
	case n < 12:
		return "kind: " + kind + ", name: " + d.nameHere(kind), fmt.Sprintf(merge, "v1", "Any", "any", "$patch: delete")
	case n < 13 && d.isWild:
		return "kind: " + kind, fmt.Sprintf("- {op: replace, path: /metadata/name, value: %s}\n", d.configName())
	case n < 15:
		return "kind: " + kind, fmt.Sprintf("- {op: add, path: /%s, value: {name: %s}}\n", d.pick("roleRef", "spec", "metadata/labels"), d.configName())
	}
	return d.pick("kind: "+kind, "name: cm.*", "kind: "+kind+", namespace: one", "kind: "+kind+", labelSelector: team=a"),
		fmt.Sprintf(merge, "v1", "Any", "any", d.pick("spec: {template: {spec: {serviceAccountName: "+d.configName()+"}}}", "metadata: {labels: {team: a}}"))
}
