package warn_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/warn"
	"example.com/gatehouse/test/changes"
)

// warned returns the warnings of objects with a code, a line each.
func warned(t *testing.T, documents string, codes ...string) string {
	t.Helper()
	in := warn.Input{Kinds: &registry.Kinds{}, Objects: changes.Objects(t, documents),
		Renamed:      func(manifest.Object, manifest.ID) (now manifest.ID, ok bool) { return now, false },
		IsNamespaced: func(gvk schema.GroupVersionKind) (isNamespaced, isKnown bool) { return gvk.Kind != "Namespace", true }}
	var lines []string
	for _, w := range in.Warnings() {
		for _, code := range codes {
			if string(w.Code) == code {
				lines = append(lines, w.String())
			}
		}
	}
	return strings.Join(lines, "\n")
}

// The API server accepts each of these objects, and its controller never does what it says.
func TestObjectsThatNeverWorkAreReported(t *testing.T) {
	const pods = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns}, spec: {replicas: 2, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
---
`
	for name, test := range map[string]struct{ object, want string }{
		"a schedule without a date":      {`{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: ns}, spec: {schedule: "0 0 30 2 *"}}`, `CronJob ns/a: spec.schedule: "0 0 30 2 *" never comes`},
		"a schedule in leap years":       {`{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: ns}, spec: {schedule: "0 0 29 2 *"}}`, ""},
		"a name without room for hashes": {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: ` + strings.Repeat("a", 53) + `, namespace: ns}}`, "has 53 characters, so no Pod starts"},
		"a name with room for a hash":    {`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: ` + strings.Repeat("a", 52) + `, namespace: ns}}`, ""},
		"a selector of another host":     {`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}, spec: {type: ExternalName, externalName: example.com, selector: {app: web}}}`, "spec.selector: has no effect on a Service of type ExternalName"},
		"a pointer of Git LFS":           {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}, data: {a.bin: "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"}}`, "data[a.bin]: is a pointer of Git LFS"},
		"a budget of all Pods":           {pods + `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, namespace: ns}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}`, "spec.minAvailable: Deployment ns/web has 2 Pods, so no node with one of them can be drained"},
		"a budget of some Pods":          {pods + `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a, namespace: ns}, spec: {maxUnavailable: 50%, selector: {matchLabels: {app: web}}}}`, ""},
		"two autoscalers of one":         {pods + `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}` + "\n---\n" + `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: b, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`, "HorizontalPodAutoscaler ns/a scales Deployment web as well, so neither of the two does"},
		"a Job that each sync repeats":   {`{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ns}, spec: {ttlSecondsAfterFinished: 60}}`, "it runs again and again"},
	} {
		got := warned(t, test.object, "NeverWorks", "ScaledTwice", "RunsAgain")
		if test.want == "" && got != "" && !strings.Contains(got, "scales it") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Argo CD syncs nothing of an Application that its project does not admit.
func TestApplicationsOutsideOfTheirProjectAreReported(t *testing.T) {
	const application = `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web, namespace: argocd}, spec: {project: shop, source: {repoURL: "https://example.com/shop/web.git", path: .}, destination: {server: "https://kubernetes.default.svc", namespace: shop}}}
---
`
	for name, test := range map[string]struct{ project, want string }{
		"admitted":              {`sourceRepos: ["https://example.com/shop/*"], destinations: [{server: "*", namespace: shop}]`, ""},
		"another repository":    {`sourceRepos: ["https://example.com/team/*"], destinations: [{server: "*", namespace: shop}]`, "spec.source.repoURL: AppProject argocd/shop does not admit this repository"},
		"an excluded one":       {`sourceRepos: ["*", "!https://example.com/shop/*"], destinations: [{server: "*", namespace: shop}]`, "spec.source.repoURL: "},
		"another namespace":     {`sourceRepos: ["*"], destinations: [{server: "*", namespace: team-*}]`, "spec.destination.namespace: AppProject argocd/shop does not admit this destination"},
		"another cluster":       {`sourceRepos: ["*"], destinations: [{server: "https://10.0.0.1", namespace: "*"}]`, "spec.destination.server: "},
		"the cluster by a name": {`sourceRepos: ["*"], destinations: [{name: in-cluster, namespace: shop}]`, ""},
		"no destination at all": {`sourceRepos: ["*"]`, "spec.destination.server: "},
	} {
		got := warned(t, application+`{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: shop, namespace: argocd}, spec: {`+test.project+`}}`, "NeverStarts")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
