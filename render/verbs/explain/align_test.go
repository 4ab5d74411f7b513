package explain

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestItemsAreComparedByKey(t *testing.T) {
	for _, c := range []struct{ content, other, want string }{
		{"[{name: a}, {name: b, value: x}, {name: gone}]", "[{name: new}, {name: b, value: y}, {name: a}]", "[{name: b, value: x}, {name: a}, {name: gone}]"},
		{"{containers: [{name: web, ports: [{containerPort: 80}, {containerPort: 81}]}]}", "{containers: [{name: web, ports: [{containerPort: 81}, {containerPort: 80}]}]}", "{containers: [{name: web, ports: [{containerPort: 81}, {containerPort: 80}]}]}"},
		{"[{mountPath: /a}, {mountPath: /b}]", "[{mountPath: /b}, {mountPath: /a}]", "[{mountPath: /b}, {mountPath: /a}]"},
		{"[{name: a}, {name: a, b: c}]", "[{name: a, b: c}]", "[{name: a}, {name: a, b: c}]"},
		{"[a, b]", "[b, a]", "[a, b]"},
	} {
		content, other, want := parse(t, c.content), parse(t, c.other), parse(t, c.want)
		if got := aligned(content, other); !reflect.DeepEqual(got, want) {
			t.Errorf("aligned(%s, %s) = %v", c.content, c.other, got)
		}
	}
}

func parse(t *testing.T, text string) (value any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
