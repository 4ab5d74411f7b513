package page

import (
	"fmt"
	"strings"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

// fleet returns a Fleet and its rendered Pods and Deployment.
func fleet(namespace, name, spec string, pods int) []string {
	labels := "labels: {testing.example.com/fleet: " + name + "}"
	manifests := []string{fmt.Sprintf("{apiVersion: testing.example.com/v1, kind: Fleet, metadata: {name: %s, namespace: %s}, spec: %s}", name, namespace, spec)}
	for i := range pods {
		manifests = append(manifests, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, namespace: %s, %s}}", name, i, namespace, labels))
	}
	return append(manifests, fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s-front, namespace: %s, %s}}", name, namespace, labels))
}

func TestEveryKindWithObjectsHasATable(t *testing.T) {
	both, err := registry.New(append([]kind.Kind{testkind.Kind}, gatehouse.Kinds...)...)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := registry.New(testkind.Kind)
	if err != nil {
		t.Fatal(err)
	}
	manifests := append(fleet("shop", "b", "{pods: 6, message: hello}", 6), fleet("shop", "a", "{pods: 1, message: a|b}", 1)...)
	page := pageFor(t, both, manifests...)
	mustHave(t, page,
		"11 objects in 1 namespace, among them 2 Fleets, no Memcached and no At.\n",
		"\n## Fleets\n\n| Namespace | Fleet | Pods | Rendered to |\n| --- | --- | ---: | --- |\n"+
			"| shop | [a](shop/fleet-a.yaml) | 1 | [1 Deployment](shop/deployment-a-front.yaml), [1 Pod](shop/pod-a-0.yaml) |\n"+
			"| shop | [b](shop/fleet-b.yaml) | 6 | [1 Deployment](shop/deployment-b-front.yaml), 6 Pods: [1](shop/pod-b-0.yaml) [2](shop/pod-b-1.yaml) [3](shop/pod-b-2.yaml) [4](shop/pod-b-3.yaml) [5](shop/pod-b-4.yaml) … |\n")
	mustHave(t, pageFor(t, alone, manifests...), "11 objects in 1 namespace, among them 2 Fleets.\n")
	mustHave(t, pageFor(t, alone, fleet("shop", "c", "{pods: 0}", 0)[0]), "| shop | [c](shop/fleet-c.yaml) | 0 | nothing |\n")
	none := pageFor(t, alone, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
	if none != "" {
		t.Errorf("the page has no section:\n%s", none)
	}
	if strings.Contains(none, "## Fleets") {
		t.Errorf("the section has no rows:\n%s", none)
	}

	var many []string
	for i := range maxRows + 1 {
		many = append(many, fleet("shop", fmt.Sprintf("f%04d", i), "{pods: 0}", 0)[0])
	}
	mustHave(t, pageFor(t, alone, many...), "| and 1 more Fleets | | | |\n")
}
