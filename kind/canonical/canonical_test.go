package canonical

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

func TestQuantityHasSpellingWithFewestDigits(t *testing.T) {
	for text, want := range map[string]string{
		"1073741824": "1Gi",
		"1024Mi":     "1Gi",
		"1.5Gi":      "1536Mi",
		"-2048":      "-2Ki",
		"1000":       "1k",
		"1E3":        "1k",
		"64e6":       "64M",
		"62500Ki":    "64M", // the same number, and 64 has fewer digits than 62500
		"1500M":      "1500M",
		"0.5":        "500m",
		"5E-1":       "500m",
		"1000m":      "1",
		"1.0":        "1",
		"0Gi":        "0",
		"3000E":      "3e21", // the library spells it 3 among the decimal suffixes, which end at E
	} {
		got := Quantity(resource.MustParse(text))
		if got.String() != want {
			t.Errorf("%s is %s, want %s", text, got.String(), want)
		}
	}
}

func TestResourcesLeaveOutEmptyFields(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                     `{}`,
		`{limits: {}, requests: {}, claims: []}`: `{}`,
		`{limits: {cpu: "0.5", memory: 1024Mi}, requests: {}}`:    `{limits: {cpu: 500m, memory: 1Gi}}`,
		`{requests: {cpu: "1E3"}}`:                                `{requests: {cpu: 1k}}`,
		`{claims: [{name: gpu}], limits: {}, requests: {cpu: 0}}`: `{claims: [{name: gpu}], requests: {cpu: "0"}}`,
	} {
		compare(t, text, want, Resources)
	}
	empty := parse[corev1.ResourceRequirements](t, `{limits: {}, requests: {}, claims: []}`)
	if got := Resources(empty); !reflect.ValueOf(got).IsZero() { // omitzero would leave it in the JSON
		t.Errorf("%+v is not the zero value", got)
	}
}

func TestEnvLeavesOutDefaults(t *testing.T) {
	for text, want := range map[string]string{
		`[{name: A, value: a}, {name: B, value: ""}]`: `[{name: A, value: a}, {name: B}]`,

		`[{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]`: `[{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`,
		`[{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]`: `[{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]`,

		`[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1"}}}]`:       `[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "0"}}}]`,
		`[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1000m}}}]`:     `[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "0"}}}]`,
		`[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "0.001"}}}]`:   `[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}]`,
		`[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1048576"}}}]`: `[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1Mi}}}]`,

		`[{name: A, valueFrom: {configMapKeyRef: {name: a, key: k, optional: false}}}]`: `[{name: A, valueFrom: {configMapKeyRef: {name: a, key: k}}}]`,
		`[{name: A, valueFrom: {configMapKeyRef: {name: a, key: k, optional: true}}}]`:  `[{name: A, valueFrom: {configMapKeyRef: {name: a, key: k, optional: true}}}]`,
		`[{name: A, valueFrom: {secretKeyRef: {name: a, key: k, optional: false}}}]`:    `[{name: A, valueFrom: {secretKeyRef: {name: a, key: k}}}]`,
		`[{name: A, valueFrom: {secretKeyRef: {name: a, key: k, optional: true}}}]`:     `[{name: A, valueFrom: {secretKeyRef: {name: a, key: k, optional: true}}}]`,

		`[{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k, optional: false}}}]`: `[{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]`,
		`[{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k, optional: true}}}]`:  `[{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k, optional: true}}}]`,
	} {
		compare(t, text, want, Env)
	}
}

func TestEnvFromLeavesOutDefaults(t *testing.T) {
	for text, want := range map[string]string{
		`[{prefix: P_, configMapRef: {name: a, optional: false}}]`: `[{prefix: P_, configMapRef: {name: a}}]`,
		`[{configMapRef: {name: a, optional: true}}]`:              `[{configMapRef: {name: a, optional: true}}]`,
		`[{secretRef: {name: a, optional: false}}]`:                `[{secretRef: {name: a}}]`,
		`[{secretRef: {name: a, optional: true}}]`:                 `[{secretRef: {name: a, optional: true}}]`,
	} {
		compare(t, text, want, EnvFrom)
	}
}

// compare compares the canonical form of a value with another value, and checks that the value stays as it is.
func compare[T any](t *testing.T, text, want string, canonical func(T) T) {
	t.Helper()
	value := parse[T](t, text)
	before := marshal(t, value)
	got := marshal(t, canonical(value))
	if got != marshal(t, parse[T](t, want)) {
		t.Errorf("%s is\n%swant\n%s", text, got, want)
	}
	if after := marshal(t, value); after != before {
		t.Errorf("%s changed to\n%s", text, after)
	}
}

func parse[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
