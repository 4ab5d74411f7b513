package render

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// An environment without CustomResourceDefinitions has the defaults of the definitions in render. If it
// lists the cluster's definitions as local config, it has their defaults, and so the digests that the
// controller finds.
func TestRenderUsesLocalDefinitions(t *testing.T) {
	const team = `
-- environments/team/a.yaml --
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: sessions, namespace: team}
spec: {size: 3}
---
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: report, namespace: team}
spec: {schedule: "2027-01-01T00:00:00Z", command: date}
-- environments/base/limits/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: CustomResourceDefinition, name: ats.cnat.programming-kubernetes.info}
  patch: |
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/activeDeadlineSeconds/default, value: 77}
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default, value: 3600}
- target: {kind: CustomResourceDefinition, name: memcacheds.cache.example.com}
  patch: |
    - {op: replace, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum, value: MAXIMUM}
`
	const with = "-- environments/team/kustomization.yaml --\nresources: [a.yaml, ../base/crds]\ncomponents: [../base/limits]\n"
	const inPatch = "patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |\n    - {op: add, path: /metadata/annotations/config.kubernetes.io~1local-config, value: \"true\"}\n"
	const inMerge = "patches:\n- patch: |\n    apiVersion: apiextensions.k8s.io/v1\n    kind: CustomResourceDefinition\n    metadata: {name: any, annotations: {config.kubernetes.io/local-config: \"true\"}}\n  target: {kind: CustomResourceDefinition}\n"

	rendered := func(kustomization, maximum string) (map[string]string, []string) {
		archive := strings.ReplaceAll(team, "MAXIMUM", maximum) + kustomization
		entries, err := os.ReadDir("../apis/crds")
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			content, err := os.ReadFile("../apis/crds/" + entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			archive += "-- environments/base/crds/" + entry.Name() + " --\n" + string(content)
		}
		root := write(t, archive)
		problems := problemsOf(run(t, root))
		files := map[string]string{}
		for _, f := range txtar.Parse([]byte(snapshot(t, root))).Files {
			if strings.HasPrefix(f.Name, "rendered/") {
				files[f.Name] = string(f.Data)
			}
		}
		return files, problems
	}
	podOf := func(files map[string]string) string {
		for name, content := range files {
			if strings.HasPrefix(name, "rendered/team/team/pod-report-") {
				return content
			}
		}
		return ""
	}

	brought, _ := rendered(with, "5")
	const inOrder = "sortOptions: {order: fifo}\n" // is not built in parts
	for name, local := range map[string]string{"patch": with + inPatch, "strategic merge": with + inMerge, "order": with + inPatch + inOrder} {
		files, problems := rendered(local, "5")
		if podOf(files) == "" || podOf(files) != podOf(brought) || !strings.Contains(podOf(files), "activeDeadlineSeconds: 77") {
			t.Errorf("%s: %v\n%s", name, problems, podOf(files))
		}
		if at := files["rendered/team/team/at-report.yaml"]; !strings.Contains(at, "startingDeadlineSeconds: 3600") {
			t.Errorf("%s: no default for all Ats:\n%s", name, at)
		}
		for file := range files {
			if strings.Contains(file, "customresourcedefinition") {
				t.Errorf("%s: there is %s", name, file)
			}
		}
		_, problems = rendered(local, "2")
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "environments/team/a.yaml:4: Memcached team/sessions: spec.size: Invalid value: 3: should be less than or equal to 2") {
			t.Errorf("%s: problems %q", name, problems)
		}
	}

	bare, problems := rendered("-- environments/team/kustomization.yaml --\nresources: [a.yaml]\nreplicas: [{name: sessions, count: 2}]\nimages: [{name: busybox, newTag: \"1.36\"}]\n", "5")
	if pod := podOf(bare); !strings.Contains(pod, "image: busybox:1.36") || !strings.Contains(bare["rendered/team/team/deployment-sessions.yaml"], "replicas: 2") {
		t.Errorf("without them: %v\n%s", problems, pod)
	}
}
