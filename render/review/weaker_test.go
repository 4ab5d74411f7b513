package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/test/changes"
	"example.com/gatehouse/test/testkind"
)

// workload returns an object of a kind whose Pods have a spec.
func workload(version, kind, spec string) string {
	template := "template: {metadata: {labels: {a: b}}, spec: {" + spec + "}}"
	const selector = "selector: {matchLabels: {a: b}}, "
	switch kind {
	case "Pod":
		template = spec
	case "CronJob":
		template = `schedule: "0 3 * * *", jobTemplate: {spec: {` + template + "}}"
	case "Job":
	case "StatefulSet":
		template = "serviceName: a, " + selector + template
	default:
		template = selector + template
	}
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: a, namespace: ns}, spec: {%s}}", version, kind, template)
}

// The review covers every workload, and changes that the API server refuses: a tool may
// be told to replace the object.
func TestWeakerPodsOfEveryWorkload(t *testing.T) {
	const (
		strong = "restartPolicy: Always, containers: [{name: c, image: i, securityContext: {runAsNonRoot: true}}]"
		weak   = "restartPolicy: Always, containers: [{name: c, image: i}]"
		want   = "Pods are less protected: Pod Security restricted forbids runAsNonRoot != true | an attacker in a container can do more than before"
	)
	for kind, version := range map[string]string{
		"CronJob": "batch/v1", "DaemonSet": "apps/v1", "Deployment": "apps/v1", "Job": "batch/v1",
		"Pod": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1",
	} {
		before, after := workload(version, kind, strong), workload(version, kind, weak)
		if strings.HasSuffix(kind, "Job") {
			before, after = strings.ReplaceAll(before, "Always", "Never"), strings.ReplaceAll(after, "Always", "Never")
		}
		line := kind + " ns/a: " + want
		if got := reviewLines(t, before, after); !slices.Contains(got, line) {
			t.Errorf("%s: %q\nwant %q", kind, got, line)
		}
		for _, other := range []string{"", after} {
			if got := reviewLines(t, other, after); slices.Contains(got, line) {
				t.Errorf("%s, new or unchanged: %q", kind, got)
			}
		}
		if got := reviewLines(t, after, before); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "less") }) {
			t.Errorf("%s, stronger: %q", kind, got)
		}
	}
}

func reviewLines(t *testing.T, before, after string) []string {
	t.Helper()
	return changes.Lines(ruled(changes.Between(t, before, after), time.Time{}))
}

// mustHaveLines fails unless the review of a change has the lines.
func mustHaveLines(t *testing.T, name, before, after string, want []string) {
	t.Helper()
	if got := reviewLines(t, before, after); !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestViolationsOfBaselineAreReportedOnce(t *testing.T) {
	const (
		baseline = " | its Pods can reach beyond their containers (Pod Security baseline forbids it)"
		rolls    = "Deployment ns/a: Pods are replaced: "
	)
	host := func(fields string) string { return fill(deployment, "MORE="+fields+",") }
	hardened := func(fields string) string {
		return fill(deployment, "FIELD=securityContext: {capabilities: {"+fields+"}}")
	}
	for _, test := range []struct {
		before, after string
		want          []string
	}{
		{fill(deployment), host("hostPID: true"), []string{rolls + "spec.template.spec.hostPID: unset → true" + baseline}},
		{hardened("drop: [ALL]"), hardened("add: [SYS_ADMIN]"), []string{rolls + `spec.template.spec.containers[c].securityContext.capabilities.add[0]: unset → SYS_ADMIN; spec.template.spec.containers[c].securityContext.capabilities.drop: ["ALL"] → unset` + baseline + ": spec.template.spec.containers[c].securityContext.capabilities.add[0]"}},
		{host("securityContext: {seccompProfile: {type: RuntimeDefault}}"), host("securityContext: {seccompProfile: {type: Unconfined}}"), []string{rolls + "spec.template.spec.securityContext.seccompProfile.type: RuntimeDefault → Unconfined" + baseline}},
		{hardened("drop: [ALL]"), strings.Replace(fill(deployment, "MORE=hostPID: true,"), "FIELD", "", 1), []string{
			rolls + `spec.template.spec.containers[c].securityContext: {"capabilities":{"drop":["ALL"]}} → unset; spec.template.spec.hostPID: unset → true` + baseline + ": spec.template.spec.hostPID",
			"Deployment ns/a: Pods are less protected: Pod Security restricted forbids unrestricted capabilities | an attacker in a container can do more than before",
		}},
	} {
		if got := reviewLines(t, test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%q\nwant\n%q", got, test.want)
		}
	}
}

// A ServiceAccount may say for its Pods that they get no token.
func TestMountedTokensAreReported(t *testing.T) {
	account := func(name, fields string) string {
		return "\n---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: " + name + ", namespace: ns}, " + fields + "}"
	}
	const refuses = "automountServiceAccountToken: false"
	pods := func(fields string) string { return fill(deployment, "MORE="+fields+",") }
	const (
		gets  = "Deployment ns/a: Pods get the token of the ServiceAccount web | an attacker in a container can act as it at the API server"
		gone  = "is removed | its new Pods are refused; a cluster creates the ServiceAccount default again, and mounts its token"
		rolls = "Deployment ns/a: Pods are replaced: spec.template.spec.automountServiceAccountToken: "
	)
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"left to nobody", pods("serviceAccountName: web, " + refuses), pods("serviceAccountName: web"), []string{gets, rolls + "false → unset"}},
		{"left to one that refuses", pods("serviceAccountName: web, "+refuses) + account("web", refuses), pods("serviceAccountName: web") + account("web", refuses), []string{rolls + "false → unset"}},
		{"left to one that mounts", pods("serviceAccountName: web, "+refuses) + account("web", ""), pods("serviceAccountName: web") + account("web", ""), []string{gets, rolls + "false → unset"}},
		{"asked for in spite of one", pods("serviceAccountName: web") + account("web", refuses), pods("serviceAccountName: web, automountServiceAccountToken: true") + account("web", refuses), []string{gets, rolls + "unset → true"}},
		{"a ServiceAccount", account("web", refuses), account("web", ""), []string{"ServiceAccount ns/web: changes automountServiceAccountToken: false → unset | its Pods get its token, unless they opt out: an attacker in a container can act as it at the API server"}},
		{"a ServiceAccount that goes", account("web", refuses), "", []string{"ServiceAccount ns/web: " + gone}},
		{"the default one goes", account("default", refuses), "", []string{"ServiceAccount ns/default: " + gone}},
		{"a ServiceAccount that comes", "", account("web", ""), nil},
	} {
		mustHaveLines(t, test.name, test.before, test.after, test.want)
	}
}

// This holds for kinds with and without a review.
func TestWeakerRenderedPodsAreReportedOnce(t *testing.T) {
	reviewed := testkind.Definition()
	reviewed.Review = func(kind.Change[testkind.Fleet]) []kind.Effect { return nil }
	const less = "Pods are less protected: Pod Security restricted forbids runAsNonRoot != true | an attacker in a container can do more than before"
	const lost = `changes spec.containers[c].securityContext: {"runAsNonRoot":true} → unset | its running Pods are stopped`
	strong := strings.NewReplacer("image: i}", "image: i, securityContext: {runAsNonRoot: true}}")
	weak := fleet(fleetPod("f-0-1"), fleetPod("f-1-1"), fleetFront("i"))
	before := strong.Replace(fleet(fleetPod("f-0-0"), fleetPod("f-1-0"), fleetFront("i")))
	for _, test := range []struct {
		name string
		kind kind.Kind
		want []string
	}{
		{"with a Review", kind.Define(reviewed), []string{"Fleet ns/f: " + less, "Deployment ns/f-front: " + less}},
		{"without", testkind.Kind, []string{"Fleet ns/f: " + less, `Pod ns/f-0-1: ` + lost, `Pod ns/f-1-1: ` + lost, "Deployment ns/f-front: " + less, `Deployment ns/f-front: Pods are replaced: spec.template.spec.containers[c].securityContext: {"runAsNonRoot":true} → unset`}},
	} {
		kinds, err := registry.New(test.kind)
		if err != nil {
			t.Fatal(err)
		}
		got := changes.Lines(ruled(compare.New(kinds, "prod", compare.Input{Objects: changes.Objects(t, before)}, compare.Input{Objects: changes.Objects(t, weak)}), time.Time{}))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q\nwant\n%q", test.name, got, test.want)
		}
	}
}
