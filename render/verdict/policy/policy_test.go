package policy_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
)

// replicas is a policy of Deployments without its validations.
const replicas = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: replicas}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, `

// binding binds the policy without the end of its spec.
const binding = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: all}, spec: {policyName: replicas, `

const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 9, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: web}]}}}}`

// TestCheckObjectsAsTheAPIServer has the result of a policy for a Deployment of nine replicas: "" for none.
func TestCheckObjectsAsTheAPIServer(t *testing.T) {
	const atMost5 = `validations: [{expression: "object.spec.replicas <= 5", message: too many}]}}`
	for name, test := range map[string]struct {
		policy, binding, more string
		want                  string // the result begins with it
	}{
		"denied":                  {atMost5, `validationActions: [Deny]}}`, "", `error: denied by ValidatingAdmissionPolicy "replicas" (binding "all"), here: too many`},
		"a met validation":        {`validations: [{expression: "object.spec.replicas > 5"}]}}`, `validationActions: [Deny]}}`, "", ""},
		"the default of a field":  {`validations: [{expression: "object.spec.progressDeadlineSeconds == 601"}]}}`, `validationActions: [Deny]}}`, "", "error: denied"},
		"warned":                  {atMost5, `validationActions: [Warn]}}`, "", `warning: against ValidatingAdmissionPolicy "replicas" (binding "all" only warns)`},
		"audited":                 {atMost5, `validationActions: [Audit]}}`, "", `warning: against ValidatingAdmissionPolicy "replicas" (binding "all" only audits)`},
		"no binding":              {atMost5, "", "", ""},
		"another namespace":       {atMost5, `validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}}}`, "", ""},
		"a label of a Namespace":  {atMost5, `validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {strict: "true"}}}}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {strict: "true"}}}`, "error: denied"},
		"a label that it lacks":   {atMost5, `validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {strict: "true"}}}}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, ""},
		"an unknown Namespace":    {atMost5, `validationActions: [Deny], matchResources: {namespaceSelector: {matchExpressions: [{key: lax, operator: DoesNotExist}]}}}}`, "", "warning: may be denied"},
		"the user":                {`validations: [{expression: "request.userInfo.username == 'admin'"}]}}`, `validationActions: [Deny]}}`, "", ""},
		"a user that is exempted": {`matchConditions: [{name: a, expression: "request.userInfo.username != 'admin'"}], ` + atMost5, `validationActions: [Deny]}}`, "", "warning: may be denied"},
		"a parameter":             {`paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "object.spec.replicas <= int(params.data.most)"}]}}`, `validationActions: [Deny], paramRef: {name: limits, namespace: shop, parameterNotFoundAction: Deny}}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: shop}, data: {most: "5"}}`, "error: denied"},
		"a larger parameter":      {`paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "object.spec.replicas <= int(params.data.most)"}]}}`, `validationActions: [Deny], paramRef: {name: limits, namespace: shop, parameterNotFoundAction: Deny}}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: shop}, data: {most: "10"}}`, ""},
		"a failing expression":    {`validations: [{expression: "object.metadata.labels['a'] == 'b'"}]}}`, `validationActions: [Deny]}}`, "", "error: denied"},
		"a failure that is open":  {`failurePolicy: Ignore, validations: [{expression: "object.metadata.labels['a'] == 'b'"}]}}`, `validationActions: [Deny]}}`, "", ""},
	} {
		documents := []string{replicas + test.policy, web}
		if test.binding != "" {
			documents = append(documents, binding+test.binding)
		}
		if test.more != "" {
			documents = append(documents, test.more)
		}
		got := strings.Join(admit(t, documents), "\n")
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestMutationsAreJudged has policies that change a Deployment, and a policy that denies its new replicas.
func TestMutationsAreJudged(t *testing.T) {
	policy := func(name, expression string) string {
		return `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: ` + name + `}, spec: {reinvocationPolicy: Never,
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]},
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "` + expression + `"}}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: ` + name + `}, spec: {policyName: ` + name + `}}`
	}
	set := func(replicas string) string { return "Object{spec: Object.spec{replicas: " + replicas + "}}" }
	denies := []string{replicas + `validations: [{expression: "object.spec.replicas != 3", message: three}]}}`, binding + `validationActions: [Deny]}}`, web}
	for name, test := range map[string]struct {
		policies []string
		want     string
	}{
		"a changed object":          {[]string{policy("a", set("3"))}, "error: denied by ValidatingAdmissionPolicy \"replicas\" (binding \"all\"), here: three (after its change by MutatingAdmissionPolicy a)"},
		"an unchanged object":       {[]string{policy("a", set("9"))}, ""},
		"an order that matters":     {[]string{policy("a", set("3")), policy("b", set("4"))}, "warning: is not evaluated for objects such as Deployment shop/web: the API server evaluates policies in any order"},
		"a value that nobody knows": {[]string{policy("a", "Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}")}, "warning: is not evaluated"},
	} {
		got := strings.Join(admit(t, slices.Concat(denies, test.policies)), "\n")
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// admit returns the problems of valid objects, without their titles.
func admit(t *testing.T, documents []string) (said []string) {
	t.Helper()
	objects, problems := tree.Objects("", []tree.File{{Path: "all.yaml", Content: []byte(strings.Join(documents, "\n---\n"))}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for i := range objects {
		objects[i].Written = objects[i].Unstructured
	}
	checker, problems := verdict.New(nil, gatehouse.All(), 0, objects)
	_, invalid := checker.Objects(objects)
	if problems = append(problems, invalid...); manifest.HasErrors(problems) {
		t.Fatal(problems)
	}
	here := func(manifest.Problem) string { return "here" }
	isController := func(manifest.Object) bool { return false }
	for _, p := range checker.Admit(checker.Applied(objects), here, isController) {
		level := "error: "
		if p.Warning {
			level = "warning: "
		}
		said = append(said, level+p.Message)
	}
	return said
}
