package guards

import (
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

// TestChangedFieldsAreJudgedByTheFirstGuard has one object before and after a change, and all risks of its fields.
func TestChangedFieldsAreJudgedByTheFirstGuard(t *testing.T) {
	const pdb = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: a}}, "
	for name, test := range map[string]struct {
		before, after string
		want          map[string]kind.Sentence // by path
	}{
		"a limit that rises": {pdb + "maxUnavailable: 1}", pdb + "maxUnavailable: 2}", map[string]kind.Sentence{"spec.maxUnavailable": stopsMore}},
		"a limit that falls": {pdb + "maxUnavailable: 2}", pdb + "maxUnavailable: 1}", nil},
		"a new object":       {"", pdb + "maxUnavailable: 2}", nil},
		"a suspended job": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily', suspend: false}",
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily', suspend: true}", map[string]kind.Sentence{"spec.suspend": isUndone}},
		"a date that never comes": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily'}",
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 0 30 2 *'}", map[string]kind.Sentence{"spec.schedule": "this date never comes: its work is not done"}},
		"the end of a group": {"apiVersion: x.networking.istio.io/v1\nkind: Any\nmetadata: {name: a}\nspec: {b: 1}",
			"apiVersion: x.networking.istio.io/v1\nkind: Any\nmetadata: {name: a}\nspec: {b: 2}", map[string]kind.Sentence{"spec.b": connects}},
		"metadata of a guarded kind": {"apiVersion: cilium.io/v2\nkind: Any\nmetadata: {name: a, labels: {b: c}}", "apiVersion: cilium.io/v2\nkind: Any\nmetadata: {name: a, labels: {b: d}}", nil},
		"a privileged container": {"", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a, securityContext: {privileged: true}}]}",
			map[string]kind.Sentence{"spec.containers[a].securityContext.privileged": ""}},
		"a privileged container of an unknown kind": {"", "apiVersion: example.org/v1\nkind: Any\nmetadata: {name: a}\nspec: {deep: {containers: [{name: a, image: a, securityContext: {privileged: true}}]}}",
			map[string]kind.Sentence{"spec.deep.containers[a].securityContext.privileged": ""}},
		"a port of a Service": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: NodePort, ports: [{port: 80}]}",
			map[string]kind.Sentence{"spec.type": "its Pods are reachable from outside of the cluster"}},
	} {
		w, c := change(t, test.before, test.after)
		got := map[string]kind.Sentence{}
		for _, r := range Risks(w, c) {
			got[r.Path] = r.Risk
		}
		for path, want := range test.want {
			if risk, ok := got[path]; !ok || want != "" && risk != want {
				t.Errorf("%s: %s is %q, want %q", name, path, risk, want)
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// TestLossHasTheSeverityOfTheGuard has removed objects.
func TestLossHasTheSeverityOfTheGuard(t *testing.T) {
	for removed, want := range map[string]struct {
		risk     kind.Sentence
		severity effect.Severity
	}{
		"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}":                                   {unadmitted, grave},
		"apiVersion: cilium.io/v2\nkind: Any\nmetadata: {name: a}":                                                                            {connects, effect.Serious},
		"apiVersion: cilium.io/v2\nkind: Any\nmetadata: {name: a, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}":                {"", 0},
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}":                                                                                {"", 0},
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {scaleTargetRef: {kind: Deployment, name: a}}": {"its workload keeps its current number of Pods, or the number in its spec", effect.Serious},
	} {
		w, c := change(t, removed, "")
		if risk, severity := Loss(w, c); risk != want.risk || severity != want.severity {
			t.Errorf("%s: got %q of severity %d, want %q of %d", removed, risk, severity, want.risk, want.severity)
		}
	}
}

// change returns the change of one object; before or after is empty if there is none.
func change(t *testing.T, before, after string) (*compare.Comparison, compare.Change) {
	t.Helper()
	e := changes.Between(t, before, after)
	if len(e.Changes) != 1 {
		t.Fatalf("%d changes", len(e.Changes))
	}
	return e, e.Changes[0]
}
