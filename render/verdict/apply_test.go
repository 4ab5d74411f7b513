package verdict

import (
	"reflect"
	"slices"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

// The fields of a Pod that server-side apply refuses.
func TestApplyRefusesTwins(t *testing.T) {
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
	checker, _ := New(nil, gatehouse.All(), 0, nil)
	for _, test := range tests {
		o := objectsOf(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, "+test.metadata+"}, spec: {"+test.spec+"}}")[0]
		var got []string
		for _, err := range checker.applyErrors(o) {
			got = append(got, err.Field)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: cannot merge %v, want %v", test.metadata, test.spec, got, test.want)
		}
	}
}

// A null that stays means the same, created or applied, and an empty map may mean something.
func TestDropNothing(t *testing.T) {
	checker, _ := New(nil, gatehouse.All(), 0, nil)
	for _, test := range []struct{ given, want string }{{
		`{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {creationTimestamp: null, labels: {}}, spec: {suspend: null, image: null, env: [{name: A, value: null}]}}`,
		`{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {creationTimestamp: null}, spec: {image: null, env: [{name: A}]}}`,
	}, {
		`{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {}, labels: null}, data: {a: null}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {}, data: {a: null}}`,
	}, {
		`{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {a: ""}}, spec: {selector: {}, template: {metadata: {labels: {}, annotations: {}}, spec: {volumes: [{emptyDir: {}}]}}}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {a: ""}}, spec: {selector: {}, template: {metadata: {}, spec: {volumes: [{emptyDir: {}}]}}}}`,
	}, {
		`{apiVersion: example.com/v1, kind: Deployment, metadata: {labels: {}}, spec: {template: {metadata: {labels: {}}}}}`,
		`{apiVersion: example.com/v1, kind: Deployment, metadata: {}, spec: {template: {metadata: {labels: {}}}}}`,
	}, {
		`{apiVersion: example.com/v1, kind: Unknown, spec: null}`,
		`{apiVersion: example.com/v1, kind: Unknown, spec: null}`,
	}} {
		objects, want := objectsOf(t, test.given), objectsOf(t, test.want)
		if checker.DropNothing(objects); !reflect.DeepEqual(objects[0].Object, want[0].Object) {
			t.Errorf("%s is %v, want %v", test.given, objects[0].Object, want[0].Object)
		}
	}
}
