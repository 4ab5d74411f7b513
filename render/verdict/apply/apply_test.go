package apply

import (
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestErrorsNamesTwinsInPods(t *testing.T) {
	tests := []struct {
		metadata, spec string
		want           []string
	}{
		{spec: "containers: [{name: a, args: [a, a], env: [{name: A}, {name: B}]}]"},
		{spec: "containers: [{name: a, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}, {containerPort: 54}]}]"},
		{
			spec: "containers: [{name: a, env: [{name: A}, {name: B}, {name: A}, {name: A}]}]",
			want: []string{"spec.containers[0].env[2]", "spec.containers[0].env[3]"},
		},
		{
			spec: "containers: [{name: a, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53}]}]",
			want: []string{"spec.containers[0].ports[1]"},
		},
		{spec: "containers: [{name: a, ports: [{containerPort: 53, protocol: null}, {containerPort: 53}]}]"},
		{
			spec: "containers: [{name: a}], initContainers: [{name: a, volumeMounts: [{mountPath: a}, {mountPath: a}]}]",
			want: []string{"spec.initContainers[0].volumeMounts[1]"},
		},
		{spec: "imagePullSecrets: [{}, {}], hostAliases: [{ip: a}, {ip: b}]", want: []string{"spec.imagePullSecrets[1]"}},
		{spec: `imagePullSecrets: [{name: ""}, {}]`, want: []string{"spec.imagePullSecrets[1]"}},
		{spec: "tolerations: [{key: a}, {key: a}], readinessGates: [{conditionType: a}, {conditionType: a}]"},
		{spec: "topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: A}, {topologyKey: a, whenUnsatisfiable: B}]"},
		{
			spec: "topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: A}, {topologyKey: a, whenUnsatisfiable: A}]",
			want: []string{"spec.topologySpreadConstraints[1]"},
		},
		{metadata: "finalizers: [a, b, a]", want: []string{"metadata.finalizers[2]"}},
		{metadata: "finalizers: [a, null]", want: []string{"metadata.finalizers[1]"}},
		{metadata: "ownerReferences: [{uid: a}, {uid: b}, {uid: a}]", want: []string{"metadata.ownerReferences[2]"}},
	}
	for _, test := range tests {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("{apiVersion: v1, kind: Pod, metadata: {name: a, "+test.metadata+"}, spec: {"+test.spec+"}}"), &u.Object); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, err := range Errors(u, nil, nil) {
			got = append(got, err.Field)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: cannot merge %v, want %v", test.metadata, test.spec, got, test.want)
		}
	}
}

// As a kube-apiserver of Kubernetes 1.36 answers kubectl apply --server-side.
func TestNullsThatMayNotBeThereAreRefused(t *testing.T) {
	text := schema.Structural{Generic: schema.Generic{Type: "string"}}
	nullable, defaulted := text, text
	nullable.Nullable = true
	defaulted.Default = schema.JSON{Object: "a"}
	s := &schema.Structural{Generic: schema.Generic{Type: "object"}, Properties: map[string]schema.Structural{
		"text": text, "nullable": nullable, "defaulted": defaulted, "any": {},
		"map": {Generic: schema.Generic{Type: "object"}, AdditionalProperties: &schema.StructuralOrBool{Structural: &text}},
	}}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{text: null, nullable: null, defaulted: null, any: null, map: {a: null, b: c}}"), &u.Object); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, err := range Nulls(u, s) {
		got = append(got, err.Field)
	}
	if want := []string{"map.a", "text"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
