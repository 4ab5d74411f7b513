package verdict

import (
	"reflect"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

func TestDropEmptyKeepsNullsAndMapsWithMeaning(t *testing.T) {
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
		objects, want := readObjects(t, test.given), readObjects(t, test.want)
		if checker.DropEmpty(objects); !reflect.DeepEqual(objects[0].Object, want[0].Object) {
			t.Errorf("%s is %v, want %v", test.given, objects[0].Object, want[0].Object)
		}
	}
}
