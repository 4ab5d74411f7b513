package limits

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

const (
	limitRange = "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: a}, spec: {limits: ["
	hard       = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: a}, spec: {hard: {"
	of2Gi      = "resources: {limits: {memory: 2Gi}}"
)

func deployment(replicas, container string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: a}, spec: {replicas: " + replicas +
		", selector: {matchLabels: {x: z}}, template: {metadata: {labels: {x: z}}, spec: {containers: [{name: c, image: c, " +
		container + "}]}}}}"
}

// As the admission plugins LimitRanger and ResourceQuota of the API server.
func TestLimitsRefuse(t *testing.T) {
	const pvc = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p, namespace: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}"
	for name, test := range map[string]struct{ limits, object, want string }{
		"nothing":                      {"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: a}}", deployment("1", of2Gi), ""},
		"a smaller maximum":            {limitRange + "{type: Container, max: {memory: 1Gi}}]}}", deployment("1", of2Gi), "warning: spec.template.spec.containers[0].resources: the namespace refuses its Pods: maximum memory"},
		"a larger maximum":             {limitRange + "{type: Container, max: {memory: 4Gi}}]}}", deployment("1", of2Gi), ""},
		"a minimum":                    {limitRange + "{type: Container, min: {cpu: 1}}]}}", deployment("1", "resources: {requests: {cpu: 100m}}"), "warning: spec.template.spec.containers[0].resources: the namespace refuses its Pods: minimum cpu"},
		"a limit by default":           {limitRange + "{type: Container, max: {memory: 1Gi}}]}}", deployment("1", "env: []"), ""},
		"the sum of a Pod":             {limitRange + "{type: Pod, max: {memory: 1Gi}}]}}", deployment("1", of2Gi), "warning: spec.template.spec: the namespace refuses its Pods: maximum memory usage per Pod"},
		"a claim":                      {limitRange + "{type: PersistentVolumeClaim, max: {storage: 5Gi}}]}}", pvc, "spec.resources: maximum storage"},
		"another namespace":            {strings.Replace(limitRange, "namespace: a", "namespace: b", 1) + "{type: Container, max: {memory: 1Gi}}]}}", deployment("1", of2Gi), ""},
		"a limit that quotas need":     {hard + "limits.memory: 4Gi}}}", deployment("1", "env: []"), "warning: spec.template.spec: the namespace refuses its Pods: must specify limits.memory for: c"},
		"a request by its limit":       {hard + "requests.memory: 4Gi}}}", deployment("1", of2Gi), ""},
		"too much for one":             {hard + "limits.memory: 1Gi}}}", deployment("1", of2Gi), "warning: spec.template.spec: the namespace refuses its Pods: exceeded quota: limits.memory is 2Gi"},
		"too many":                     {hard + "limits.memory: 5Gi}}}", deployment("3", of2Gi), "warning: spec.template.spec: the namespace refuses its Pods: 1 of 3 do not fit: exceeded quota: limits.memory is 2Gi, and with 4Gi"},
		"enough":                       {hard + "limits.memory: 6Gi, pods: 3}}}", deployment("3", of2Gi), ""},
		"too many Pods":                {hard + "pods: 2}}}", deployment("3", "env: []"), "warning: spec.template.spec: the namespace refuses its Pods: 1 of 3 do not fit: exceeded quota: pods"},
		"a quota of a scope":           {hard + "limits.memory: 1Gi}, scopes: [Terminating]}}", deployment("1", of2Gi), ""},
		"storage":                      {hard + "requests.storage: 5Gi}}}", pvc, "spec: exceeded quota: requests.storage is 10Gi"},
		"a Job, which ends":            {hard + "limits.memory: 2Gi}}}", "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: a}, spec: {parallelism: 5, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c, " + of2Gi + "}]}}}}", ""},
		"a Pod":                        {limitRange + "{type: Container, max: {memory: 1Gi}}]}}", "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a}, spec: {containers: [{name: c, image: c, " + of2Gi + "}]}}", "spec.containers[0].resources: maximum memory"},
		"a wrong type, told elsewhere": {limitRange + "{type: Container, max: {memory: 1Gi}}]}}", deployment("1", "resources: {limits: {memory: [2Gi]}}"), ""},
	} {
		var objects []manifest.Object
		for _, text := range []string{test.limits, test.object} {
			u := &unstructured.Unstructured{}
			content, err := yaml.YAMLToJSON([]byte(text))
			if err == nil {
				err = u.UnmarshalJSON(content)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			objects = append(objects, manifest.Object{Unstructured: u, Written: u})
		}
		got := ""
		for _, p := range Check(objects) {
			if p.Warning {
				got += "warning: "
			}
			got += strings.TrimPrefix(p.Message, p.Object+": ")
		}
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
