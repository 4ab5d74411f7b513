package verdict

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// A cluster of an undeclared version may accept what other versions refuse.
func TestErrorsOfSomeVersionsAreWarningsWithoutADeclaredVersion(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}], ` +
		`initContainers: [{name: i, image: a, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}}`
	const beta = `{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingAdmissionPolicyBinding, ` +
		`metadata: {name: a}, spec: {policyName: a}}`
	const gone = `{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {maxUnavailable: 1}}`
	for name, test := range map[string]struct {
		object    string
		declared  apiserver.Version
		isRead    bool
		isWarning bool
		want      string
	}{
		"some versions refuse it":   {pod, 0, false, true, "(in Kubernetes 1.36, 1.37; no version is declared)"},
		"the declared one refuses":  {pod, apiserver.Newest, false, false, "resizePolicy"},
		"every version refuses it":  {`{apiVersion: v1, kind: Pod, metadata: {name: a}}`, 0, false, false, "spec.containers"},
		"some servers enable it":    {beta, 0, false, true, "--runtime-config"},
		"a read one may enable it":  {beta, apiserver.Newest, true, true, "--runtime-config"},
		"a read one has none":       {gone, apiserver.Newest, true, false, "policy/v1"},
		"none of a declared server": {beta, apiserver.Newest, false, false, "--runtime-config"},
	} {
		checker, _ := New(nil, gatehouse.All(), test.declared, nil)
		checker.IsRead = test.isRead
		_, found := checker.Objects(readObjects(t, test.object))
		if len(found) != 1 || found[0].Warning != test.isWarning || !strings.Contains(found[0].Message, test.want) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// A field that others set in the cluster is not missing.
func TestFieldsThatOthersSetAreNoErrors(t *testing.T) {
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {NAME: VALUE}}, spec: SPEC}`
	const triggered = `{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, ` +
		`spec: {containers: [{name: a}]}}}`
	for name, test := range map[string]struct {
		key, value, spec string
		want             bool
	}{
		"part of an object that Flux merges": {"kustomize.toolkit.fluxcd.io/ssa", "merge", "{replicas: 3}", false},
		"wrong field of such a part":         {"kustomize.toolkit.fluxcd.io/ssa", "Merge", "{replicas: -3}", true},
		"part that Flux applies":             {"kustomize.toolkit.fluxcd.io/ssa", "Ignore", "{replicas: 3}", true},
		"image by a trigger of OpenShift":    {"image.openshift.io/triggers", "'[]'", triggered, false},
		"image of nobody":                    {"example.com/triggers", "'[]'", triggered, true},
	} {
		checker, _ := New(nil, gatehouse.All(), 0, nil)
		object := strings.NewReplacer("NAME", test.key, "VALUE", test.value, "SPEC", test.spec).Replace(deployment)
		_, found := checker.Objects(readObjects(t, object))
		if manifest.HasErrors(found) != test.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// Argo CD and kubectl apply without server-side apply by default.
func TestErrorsOfServerSideApplyAreWarningsWhereOthersApply(t *testing.T) {
	for _, isMerged := range []bool{false, true} {
		checker, _ := New(nil, gatehouse.All(), 0, nil)
		checker.IsByHand = isMerged
		_, found := checker.Objects(readObjects(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: `+
			`[{name: a, image: a, env: [{name: B, value: c}, {name: B, value: d}]}]}}`))
		if len(found) != 1 || found[0].Warning != isMerged || !strings.Contains(found[0].Message, "duplicate entries") {
			t.Errorf("merged: %t: %v", isMerged, found)
		}
	}
}

// A readable Secret is an error where render would write it.
func TestReadableSecretsAreErrorsWhereTheyAreWritten(t *testing.T) {
	for _, isJudgedOnly := range []bool{false, true} {
		checker, _ := New(nil, gatehouse.All(), 0, nil)
		checker.IsJudgedOnly = isJudgedOnly
		_, found := checker.Objects(readObjects(t,
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: hunter2}}`))
		if len(found) != 1 || found[0].Warning != isJudgedOnly {
			t.Errorf("judged only: %t: %v", isJudgedOnly, found)
		}
	}
}

// Argo CD's plugin for Vault fills values in before a cluster gets them. Objects that are written have to be right as
// they are.
func TestValuesThatAPluginFillsInAreNoErrors(t *testing.T) {
	const webhook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, ` +
		`metadata: {name: a, annotations: {avp.kubernetes.io/path: ANNOTATION}}, webhooks: [{name: a.example.com, ` +
		`sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: "https://a", caBundle: "VALUE"}}]}`
	for name, test := range map[string]struct {
		annotation, value    string
		isJudgedOnly, isSure bool
	}{
		"a path":                  {"''", "<path:secret/data/shop#ca | base64encode>", true, false},
		"a path in a written one": {"''", "<path:secret/data/shop#ca | base64encode>", false, true},
		"a key":                   {"secret/data/shop", "<ca>", true, false},
		"a key without its path":  {"''", "<ca>", true, true},
		"another wrong value":     {"secret/data/shop", "-", true, true},
	} {
		checker, _ := New(nil, gatehouse.All(), 0, nil)
		checker.IsJudgedOnly = test.isJudgedOnly
		object := strings.NewReplacer("ANNOTATION", test.annotation, "VALUE", test.value).Replace(webhook)
		_, found := checker.Objects(readObjects(t, object))
		if len(found) != 1 || found[0].IsError() != test.isSure {
			t.Errorf("%s: %v", name, found)
		}
	}
}
