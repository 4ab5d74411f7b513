package verdict

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// ofVersions are objects with different verdicts in different versions: by a feature gate, a field, a
// kind, a warning, and expressions with cached compilers.
const ofVersions = `
{apiVersion: v1, kind: Service, metadata: {name: 1web}, spec: {ports: [{port: 80}]}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.1.2.3/8}}]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {schedulingGroup: {podGroupName: a}, containers: [{name: a, image: a}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: a}, spec: {policyName: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}], trafficDistribution: PreferClose}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {minReplicas: 0, maxReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: 1}}}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: a}, spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: "[2, 1].sort() == [1, 2]"}]}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: a}, spec: {selectors: [{cel: {expression: "[2, 1].sort() == [1, 2]"}}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com}, spec: {group: example.com, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: array, maxItems: 5, items: {type: integer, format: uint8}, x-kubernetes-validations: [{rule: "self.distinct() == self"}]}}}}}]}}
`

func readObjects(t testing.TB, text string) (objects []manifest.Object) {
	t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, manifest.Object{Unstructured: u, Written: u})
	}
	return objects
}

// verdictOf returns the problems that a version has with objects, one a line.
func verdictOf(v apiserver.Version, objects []manifest.Object) string {
	checker, problems := New(nil, gatehouse.All(), v, objects)
	_, invalid := checker.Objects(objects)
	var lines []string
	for _, p := range append(problems, invalid...) {
		lines = append(lines, p.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestPrintVerdict prints the verdict of the version in VERSION, for a test of the versions.
func TestPrintVerdict(t *testing.T) {
	v, err := apiserver.ParseVersion(os.Getenv("VERSION"))
	if err != nil {
		t.Skip("TestVersionsDoNotInfluenceEachOther runs it")
	}
	fmt.Print("<", verdictOf(v, readObjects(t, ofVersions)), ">")
}

func TestVersionsDoNotInfluenceEachOther(t *testing.T) {
	objects, alone := readObjects(t, ofVersions), map[apiserver.Version]string{}
	for _, v := range apiserver.Versions() {
		command := exec.Command(os.Args[0], "-test.run=^TestPrintVerdict$")
		command.Env = append(os.Environ(), "VERSION="+v.String())
		output, err := command.Output()
		if err != nil {
			t.Fatal(err, string(output))
		}
		_, verdict, _ := strings.Cut(string(output), "<")
		verdict = verdict[:strings.LastIndex(verdict, ">")]
		for other, otherVerdict := range alone {
			if verdict == otherVerdict {
				t.Errorf("%s and %s say the same: %s", v, other, verdict)
			}
		}
		alone[v] = verdict
	}
	var judges sync.WaitGroup
	for i := range 40 {
		v := apiserver.Versions()[i*7%len(alone)]
		judge := func() {
			if is := verdictOf(v, objects); is != alone[v] {
				t.Errorf("%s says, after and besides others:\n%s\nalone:\n%s", v, is, alone[v])
			}
		}
		if i < 20 {
			judge()
		} else {
			judges.Go(judge)
		}
	}
	judges.Wait()
}

func TestProblemNamesTheVersionWithTheField(t *testing.T) {
	verdict := verdictOf(35, readObjects(t, ofVersions))
	for _, want := range []string{
		`unknown field "spec.schedulingGroup": Kubernetes 1.36 has it, 1.35 does not`,
		`kind: Invalid value: "MutatingAdmissionPolicyBinding": admissionregistration.k8s.io/v1 has no such kind: Kubernetes 1.36 has it, 1.35 does not`,
	} {
		if !strings.Contains(verdict, want) {
			t.Errorf("no %s in\n%s", want, verdict)
		}
	}
}

// BenchmarkSwitch switches between two versions, twice.
func BenchmarkSwitch(b *testing.B) {
	for b.Loop() {
		apiserver.Oldest.Enter()()
		apiserver.Newest.Enter()()
	}
}
