package check

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"example.com/gatehouse/kind/gatehouse"
)

// What may be a list with keys has to be known, with all keys that are not nothing by
// default, or what has twins would not be looked at.
func TestKeyedLists(t *testing.T) {
	known := map[string][][]string{}
	for _, def := range builtinMerge().Types {
		if def.Map == nil {
			continue
		}
		for _, f := range def.Fields {
			list := f.Type.Inlined.List
			if list == nil || list.ElementRelationship != schema.Associative {
				continue
			}
			if !slices.ContainsFunc(known[f.Name], func(keys []string) bool { return slices.Equal(keys, list.Keys) }) {
				known[f.Name] = append(known[f.Name], list.Keys)
			}
			w := mergeWalk{schema: builtinMerge()}
			for key, value := range w.defaults(list) {
				if isNothing := value == "" || value == 0; !isNothing && keyDefaults[key] != value {
					t.Errorf("%s of %s is %v by default, not %v", key, f.Name, value, keyDefaults[key])
				}
			}
		}
	}
	for name, alternatives := range known {
		for _, keys := range alternatives {
			if !slices.ContainsFunc(keyedLists[name], func(known []string) bool { return slices.Equal(known, keys) }) {
				t.Errorf("items of %s have the keys %q", name, keys)
			}
		}
	}
	for name := range keyedLists {
		if known[name] == nil {
			t.Errorf("items of %s have no keys", name)
		}
	}
}

// Fields of a Pod that cannot be merged, by this package and by the API server's own code.
func TestMerge(t *testing.T) {
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
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for _, test := range tests {
		o := objectsOf(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, "+test.metadata+"}, spec: {"+test.spec+"}}")[0]
		var got []string
		for _, err := range builtinMergeErrors(o) {
			got = append(got, err.Field)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: cannot merge %v, want %v", test.metadata, test.spec, got, test.want)
		}
		_, err := converter.ObjectToTyped(o.Unstructured)
		var refused typed.ValidationErrors
		if errors.As(err, &refused); len(refused) != len(test.want) {
			t.Errorf("%s %s: the API server says %v, want %v", test.metadata, test.spec, err, test.want)
		}
	}
}

// What has no twins does not have the schema read, which takes its time.
func TestMayHaveTwins(t *testing.T) {
	const plain = `
apiVersion: v1
kind: Service
spec: {ports: [{name: a, port: 53, protocol: UDP}, {name: b, port: 53}, {name: c, port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
spec: {template: {spec: {containers: [{name: a, args: [a, a], ports: [{containerPort: 80}, {containerPort: 443}], env: [{name: A}, {name: B}]}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
spec: {egress: [{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}, {ports: [{port: 53, protocol: UDP}]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}, {apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: ServiceAccount
secrets: [{name: a}, {name: b}]`
	for _, o := range objectsOf(t, strings.TrimSpace(plain)) {
		if mayHaveTwins(o.Object) {
			t.Errorf("%s seems to have twins", o.GetKind())
		}
	}
}

// A null that stays means the same, created or applied, and an empty map may mean something.
func TestDropNothing(t *testing.T) {
	checker, _ := New(gatehouse.All(), nil)
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
