package explain

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestAlignItemsOrdersItemsByKey(t *testing.T) {
	for _, c := range []struct{ object, other, want string }{
		{"env: [{name: a}, {name: b, value: x}, {name: gone}]", "env: [{name: new}, {name: b, value: z}, {name: a}]", "env: [{name: b, value: x}, {name: gone}, {name: a}]"},
		{"ports: [{containerPort: 80}, {containerPort: 81}]", "ports: [{containerPort: 81}, {containerPort: 80}]", "ports: [{containerPort: 81}, {containerPort: 80}]"},
		{"volumeMounts: [{mountPath: /a}, {mountPath: /b}]", "volumeMounts: [{mountPath: /b}, {mountPath: /a}]", "volumeMounts: [{mountPath: /b}, {mountPath: /a}]"},
		{"env: [{name: a}, {name: a, value: c}]", "env: [{name: a, value: c}]", "env: [{name: a}, {name: a, value: c}]"},
		{"args: [a, b]", "args: [b, a]", "args: [a, b]"},
	} {
		object, other, want := pod(t, c.object), pod(t, c.other), pod(t, c.want)
		if got := alignItems(object, other); !reflect.DeepEqual(got, want) {
			t.Errorf("alignItems(%s, %s) = %v", c.object, c.other, got)
		}
	}
}

func TestAlignItemsLeavesCustomResources(t *testing.T) {
	object := parse(t, "{apiVersion: example.com/v1, kind: Fleet, metadata: {name: a}, spec: {ships: [{name: a}, {name: b}]}}")
	other := parse(t, "{apiVersion: example.com/v1, kind: Fleet, metadata: {name: a}, spec: {ships: [{name: b}, {name: a}]}}")
	if got := alignItems(object, other); !reflect.DeepEqual(got, object) {
		t.Errorf("got %v", got)
	}
}

// pod returns a Pod with the fields of its container.
func pod(t *testing.T, container string) *unstructured.Unstructured {
	t.Helper()
	o := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: web}}")
	fields := parse(t, container).Object
	fields["name"] = "web"
	o.Object["spec"] = map[string]any{"containers": []any{fields}}
	return o
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}
