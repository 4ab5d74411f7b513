package page

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// pageOf returns the page about the objects in manifests.
func pageOf(t *testing.T, manifests ...string) string {
	t.Helper()
	return pageFor(t, gatehouse.All(), manifests...)
}

// pageFor is pageOf for other kinds.
func pageFor(t *testing.T, kinds *registry.Kinds, manifests ...string) string {
	t.Helper()
	return string(besideFor(t, kinds, manifests...)[0].Content)
}

// besideFor returns the files beside the index of an environment with the objects in manifests.
func besideFor(t *testing.T, kinds *registry.Kinds, manifests ...string) []tree.File {
	t.Helper()
	var objects []manifest.Object
	var files []tree.File
	for _, text := range manifests {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = o.UnmarshalJSON(asJSON)
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
		files = append(files, tree.File{Path: o.NamespaceOrDefault() + "/" + strings.ToLower(o.GetKind()) + "-" + o.GetName() + ".yaml"})
	}
	beside, err := Files(kinds, "prod", "", objects, files)
	if err != nil {
		t.Fatal(err)
	}
	return beside
}

func mustHave(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("no %s in\n%s", part, page)
		}
	}
}

// memcached returns a Memcached, and a Deployment with a Pod template.
func memcached(namespace, name string, replicas int, template string) []string {
	return []string{
		fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s, namespace: %s}}", name, namespace),
		fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: other, namespace: %s, labels: {cache.example.com/memcached: %s}}, spec: {replicas: %d, template: {spec: %s}}}", namespace, name, replicas, template),
	}
}

// newAt returns an At and its Pod, with their specs.
func newAt(namespace, name, spec, pod string) []string {
	return []string{
		fmt.Sprintf("{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: %s, namespace: %s}, spec: {%s}}", name, namespace, spec),
		fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s-0123456789, namespace: %s, labels: {cnat.programming-kubernetes.info/at: %s}}, spec: %s}", name, namespace, name, pod),
	}
}

const datePod = "{containers: [{name: command, image: busybox, command: [sh, -c, date]}]}"

// The scheduler and quotas count the same memory.
func TestMemoryOfAMemcachedIsThatOfItsPods(t *testing.T) {
	for template, want := range map[string]string{
		"{containers: [{name: memcached, resources: {requests: {memory: 150Mi}}}]}":                                                                                       "| [150Mi](shop/deployment-other.yaml) | 450Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 1Gi}, limits: {memory: 2Gi}}}]}":                                                                  "| [1Gi](shop/deployment-other.yaml) | 3Gi |",
		"{containers: [{name: memcached, resources: {limits: {memory: 100Mi}}}]}":                                                                                         "| [100Mi](shop/deployment-other.yaml) | 300Mi |",
		"{containers: [{name: memcached, resources: {requests: {cpu: 1}, limits: {memory: 100Mi}}}, {name: a, resources: {limits: {memory: 28Mi}}}]}":                     "| [128Mi](shop/deployment-other.yaml) | 384Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 1Mi}}}], initContainers: [{name: a, resources: {limits: {memory: 7Mi}}}]}":                        "| [7Mi](shop/deployment-other.yaml) | 21Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 1Mi}}}], initContainers: [{name: a, restartPolicy: Always, resources: {limits: {memory: 7Mi}}}]}": "| [8Mi](shop/deployment-other.yaml) | 24Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 1Mi}}}], resources: {limits: {memory: 9Mi}, requests: {memory: 8Mi}}}":                            "| [8Mi](shop/deployment-other.yaml) | 24Mi |",
		"{containers: [{name: memcached}], resources: {limits: {memory: 9Mi}}}":                                                                                           "| [9Mi](shop/deployment-other.yaml) | 27Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 1Mi}}}], overhead: {memory: 3Mi}}":                                                                "| [4Mi](shop/deployment-other.yaml) | 12Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 200M}}}]}":                                                                                        "| [200M](shop/deployment-other.yaml) | ~573Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 100}}}]}":                                                                                         "| [~1Mi](shop/deployment-other.yaml) | ~1Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 512Ki}}}]}":                                                                                       "| [512Ki](shop/deployment-other.yaml) | ~2Mi |",
		"{containers: [{name: memcached, resources: {requests: {memory: 4Ei}}}]}":                                                                                         "| [4Ei](shop/deployment-other.yaml) | 12Ei |",
		"{containers: [{name: memcached, resources: {requests: {cpu: 1}}}]}":                                                                                              "| [none](shop/deployment-other.yaml) | none |",
	} {
		mustHave(t, pageOf(t, memcached("shop", "a", 3, template)...), "| shop | [a](shop/memcached-a.yaml) | 3 "+want)
	}
}

func TestTotalsAreOfOverriddenObjects(t *testing.T) {
	const template = "{containers: [{name: memcached, image: one, resources: {limits: {memory: 10Mi}}}, {name: exporter, image: two}]}"
	page := pageOf(t, slices.Concat(memcached("shop", "b", 2, template), memcached("billing", "a", 3, template), memcached("shop", "a", 0, strings.Replace(template, "one", "three", 1)),
		memcached("shop", "gone", 1, template)[:1], []string{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: mine, namespace: shop}}", "{apiVersion: batch/v1, kind: CronJob, metadata: {name: mine}}"})...)
	mustHave(t, page,
		"9 objects in 3 namespaces, among them 4 Memcacheds and no At.\n",
		"Memory requested: **50Mi**, by 5 Pods of 4 Memcacheds. The exporter is `two`.\n",
		"| billing | [a](billing/memcached-a.yaml) | 3 | [10Mi](billing/deployment-other.yaml) | 30Mi | `one` |\n"+
			"| shop | [a](shop/memcached-a.yaml) | 0 | [10Mi](shop/deployment-other.yaml) | none | `three` |\n"+
			"| shop | [b](shop/memcached-b.yaml) | 2 | [10Mi](shop/deployment-other.yaml) | 20Mi | `one` |\n"+
			"| shop | [gone](shop/memcached-gone.yaml) | no Deployment | | | |\n"+
			"| **all** | | **5** | | **50Mi** | |\n")
}

func TestAutoscalerDecidesTheNumberOfPods(t *testing.T) {
	const template = "{containers: [{name: memcached, image: one, resources: {limits: {memory: 10Mi}}}]}"
	const scaler = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}, spec: {minReplicas: 3, maxReplicas: 6, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}}}"
	mustHave(t, pageOf(t, append(memcached("shop", "a", 2, template), scaler)...),
		"Memory requested: **30Mi**, by 3 Pods of 1 Memcached. What is scaled counts with the fewest Pods that it may have. The image",
		"| shop | [a](shop/memcached-a.yaml) | 3 to 6 | [10Mi](shop/deployment-other.yaml) | 30Mi |")
	mustHave(t, pageOf(t, append(memcached("shop", "a", 0, template), scaler)...), "**none**, by 0 Pods of 1 Memcached. The image")
	mustHave(t, pageOf(t, append(memcached("billing", "a", 2, template), scaler)...), "**20Mi**, by 2 Pods of 1 Memcached. The image")
}

// The table shows the overridden objects.
func TestAtsAreSortedByTime(t *testing.T) {
	page := pageOf(t, slices.Concat(
		newAt("shop", "late", `schedule: "2027-01-04T06:00:00+01:00[Europe/Berlin]", command: not this`, `{activeDeadlineSeconds: 5400, containers: [{name: first, image: sidecar}, {name: command, image: tools, command: [sh, -c, "echo $$HOME"]}]}`),
		newAt("shop", "early", `schedule: "2027-01-04T05:00:00.5+00:30", suspend: true, startingDeadlineSeconds: 86400`, `{containers: [{name: command, image: tools, command: [/bin/report, --all], args: [now]}]}`),
		newAt("shop", "b-same", `schedule: "2027-01-04T05:00:00Z"`, datePod),
		newAt("billing", "c-same", `schedule: "2027-01-04T05:00:00Z"`, datePod),
	)...)
	mustHave(t, page, "| Schedule | Namespace | At | Runs | Image | Notes |\n| --- | --- | --- | --- | --- | --- |\n"+
		"| `2027-01-04T05:00:00.5+00:30`<br>2027-01-04 04:30:00.5 UTC | shop | [early](shop/at-early.yaml) | `/bin/report --all now` | `tools` | **suspended**, starts at most 1d late, [Pod](shop/pod-early-0123456789.yaml) |\n"+
		"| `2027-01-04T05:00:00Z` | billing | [c-same](billing/at-c-same.yaml) | `date` | `busybox` | [Pod](billing/pod-c-same-0123456789.yaml) |\n"+
		"| `2027-01-04T05:00:00Z` | shop | [b-same](shop/at-b-same.yaml) | `date` | `busybox` | [Pod](shop/pod-b-same-0123456789.yaml) |\n"+
		"| `2027-01-04T06:00:00+01:00[Europe/Berlin]`<br>2027-01-04 05:00 UTC | shop | [late](shop/at-late.yaml) | `echo $HOME` | `tools` | runs at most 1h30m, [Pod](shop/pod-late-0123456789.yaml) |\n")
}

func TestPageDoesNotDependOnTheOrderOfObjects(t *testing.T) {
	var manifests []string
	for i := range 20 {
		manifests = append(manifests, memcached(fmt.Sprint("ns", i%3), fmt.Sprint("a", i), i, "{containers: [{name: memcached, resources: {limits: {memory: 10M}}}]}")...)
		manifests = append(manifests, newAt(fmt.Sprint("ns", i%3), fmt.Sprint("a", i), fmt.Sprintf(`schedule: "2027-01-%02dT00:00:00Z"`, i%7+1), datePod)...)
	}
	want := pageOf(t, manifests...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		random.Shuffle(len(manifests), func(i, j int) { manifests[i], manifests[j] = manifests[j], manifests[i] })
		if got := pageOf(t, manifests...); got != want {
			t.Fatalf("%s\nand then\n%s", want, got)
		}
	}
}

func TestPageOfAHugeEnvironmentIsWithinTheLimitsOfHosts(t *testing.T) {
	const n, githubShows = 600, 512_000
	long := strings.Repeat("n", 52)
	image := strings.Repeat("`|", 256)
	var manifests []string
	for i := range n {
		namespace := fmt.Sprintf("%s-%010d", long, i)
		manifests = append(manifests, memcached(namespace, namespace, 1, fmt.Sprintf("{containers: [{name: memcached, image: '%d%s', resources: {requests: {memory: 1Mi}}}, {name: exporter, image: '%d%s'}]}", i, image, i, image))...)
		manifests = append(manifests, newAt(namespace, namespace, fmt.Sprintf(`schedule: "%d-01-01T00:00:00.123456789+01:00", suspend: true, startingDeadlineSeconds: 3153599999`, 1000+i*14),
			fmt.Sprintf(`{activeDeadlineSeconds: 2147483647, containers: [{name: command, image: '%d%s', command: [sh, -c, "%s"]}]}`, i, image, strings.Repeat(`\U0001F600`, 10000/(i+1)+72)))...)
		manifests = append(manifests, fmt.Sprintf("{apiVersion: example.com/v1, kind: %sKind%d, metadata: {name: a}}", long, i))
	}
	page := pageOf(t, manifests...)
	if len(page) >= githubShows {
		t.Errorf("%d bytes", len(page))
	}
	mustHave(t, page, "| and 350 more Memcacheds |", "| **all** | | **600** | | **600Mi** |", "| and 350 more Ats |")
}
