package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// settingsOf returns an object of a kind without a schema, with a value.
func settingsOf(value string) string {
	return "apiVersion: example.com/v1\nkind: Settings\nmetadata: {name: a, namespace: shop}\nvalue: " + value + "\n"
}

// renderSettings returns the rendered settings, or the problems.
func renderSettings(t *testing.T, value string) (rendered string, problems []string) {
	t.Helper()
	root := write(t, "-- environments/prod/kustomization.yaml --\nresources: [a.yaml]\n-- environments/prod/a.yaml --\n"+settingsOf(value))
	if problems = problemsOf(run(t, root)); len(problems) > 0 {
		return "", problems
	}
	content, err := os.ReadFile(filepath.Join(root, "rendered/prod/shop/settings-a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content), nil
}

// kustomizeSettings returns the settings as `kustomize build` prints them.
func kustomizeSettings(value string) (string, error) {
	fs := filesys.MakeFsInMemory()
	_ = fs.WriteFile("/kustomization.yaml", []byte("resources: [a.yaml]\n"))
	_ = fs.WriteFile("/a.yaml", []byte(settingsOf(value)))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/")
	if err != nil {
		return "", err
	}
	content, err := built.AsYaml()
	return string(content), err
}

// jsonOf converts YAML to JSON as kubectl does for the API server.
func jsonOf(t *testing.T, content string) string {
	t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A rendered value reads as the value that `kustomize build | kubectl apply` sends.
func TestValuesEqualKustomize(t *testing.T) {
	for _, value := range []string{
		"012", "0o12", "0x1F", "0b101", "-0b101", "1_000", "1__0", "_1", "0_1", "08", "09.5", "+1", "-1", "-0", "-0.0", "0x", "0b", "0o8",
		"9223372036854775807", "-9223372036854775808", "9007199254740993", "0x7fffffffffffffff", "0x52908400098527886E0F7030069857D2E4169EE7",
		".5", "1.", "1.0", "1.50", "+1.5", "-.5", "1e3", "1E5", "1.5e3", "1e21", "1e20", "1e-7", "0.1", "0.30000000000000004", "1.7976931348623157e308", "5e-324", "1_0.5", "100000000000000000000.0",
		"12:30:45", "1:20", "190:20:30.15", "yes", "no", "on", "off", "y", "n", "Yes", "true", "True", "TRUE", "~", "null", "Null", "", "nULL", "=", "<<", "'012'", "'1e3'", "'yes'", "'2027-01-01'", "'~'",
		"!!str 1", "!!str yes", "!!str", "!!str 2027-01-01", "!!int '12'", "!!float 1", "!!float '1.5'", "!!bool 'true'", "!!null ''", "!!binary aGk=", "!custom a", "!custom 1",
		"{<<: {a: b, c: e}, c: d}", "{a: &x {b: 1}, c: *x, d: {<<: *x, e: 2}}", "{a: &x 2e3, b: *x}", "[<<]", "{yes: d, on: e, y: f, =: g}", "{'1': a, '~': b, 'true': c}", "[~, [], {}, [[]]]", "!!omap [a: b]",
		"\"a\\u2028b\\u2029\"", "\"\\uFEFFa\"", "\"\\0\\a\\e\"", "\"a\\r\\nb\\r\\n\"", "\"a \"", "\" a\"", "\"a\\tb\\t\"", "\"\\t\"", "'a  b'", "\"a \\n b\\n\\n\"", "\"\\n\"", "\"\\n\\na\"", "\"a\\n\"",
		"|\n  #!/bin/sh\n  a: b  \n\n  c\n", "|+\n  a\n\n", "|-\n   a\n    b", ">\n  a\n  b\n\n  c\n", "\"" + strings.Repeat("words ", 40) + "\"", strings.Repeat("x", 200), "{" + strings.Repeat("x", 200) + ": a}",
		"7e1", "1e5a", "0.1.2", "1.2.3", "v1.10", "2027-01-01T00:00:00", "2027-13-01", "12e", "0xg", "1,5", "1 000",
	} {
		t.Run(value, func(t *testing.T) {
			want, err := kustomizeSettings(value)
			if err != nil {
				t.Fatal(err)
			}
			got, problems := renderSettings(t, value)
			if len(problems) > 0 {
				t.Fatalf("%q", problems)
			}
			equal(t, want, jsonOf(t, want), jsonOf(t, got))
		})
	}
}

// Plain times and keys stay unchanged text, as for kubectl. kustomize would rewrite the time and drop the
// key.
func TestPlainTimesStayText(t *testing.T) {
	for _, value := range []string{"2027-01-01", "2027-1-1", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00.500Z", "2027-01-01t10:00:00Z", "2027-01-01 10:00:00", "2027-01-01T10:00:00+01:00", "!!timestamp 2027-01-01", "[2027-01-01]", "{1: a, -2: b}", "{true: a}", "{2027-01-01: a}", "{a: 2027-01-01, b: {c: 2027-01-02 10:00:00.10}}"} {
		t.Run(value, func(t *testing.T) {
			got, problems := renderSettings(t, value)
			if len(problems) > 0 {
				t.Fatalf("%q", problems)
			}
			equal(t, value, jsonOf(t, settingsOf(value)), jsonOf(t, got))
		})
	}
}

// A value that JSON cannot hold exactly is an error at its line.
func TestInexactValuesAreErrors(t *testing.T) {
	for value, wrong := range map[string]string{
		"18446744073709551615":             "value: Invalid value: 18446744073709551615: does not fit",
		"18446744073709551616":             "value: Invalid value: 18446744073709551616: does not fit",
		"9223372036854775808":              "value: Invalid value: 9223372036854775808: does not fit",
		"-9223372036854775809":             "value: Invalid value: -9223372036854775809: does not fit",
		"+9_223_372_036_854_775_808":       "does not fit",
		"0x8000000000000000":               "value: Invalid value: 0x8000000000000000: does not fit",
		"100000000000000000000":            "does not fit",
		"0.1234567890123456789":            "would be 0.12345678901234568: write that",
		"9007199254740993.0":               "would be 9.007199254740992e+15: write that",
		"1e-400":                           "would be 0: write that",
		"3.14159265358979323846":           "would be 3.141592653589793: write that",
		".inf":                             "value: Invalid value: .inf: is not a JSON number",
		"-.Inf":                            "value: Invalid value: -.Inf: is not a JSON number",
		".nan":                             "value: Invalid value: .nan: is not a JSON number",
		"{a: [1, {b: .nan}]}":              "value.a[1].b: Invalid value: .nan: is not a JSON number",
		"{0x1: a}":                         "value.0x1: Invalid value: 0x1: is a key",
		"{True: a}":                        "value.True: Invalid value: True: is a key",
		"{1.5: a}":                         "value[1.5]: Invalid value: 1.5: is a key",
		"!!int a":                          "value: Invalid value: a: does not match its tag",
		"!!bool yes":                       "value: Invalid value: yes: does not match its tag",
		"!!binary a":                       "value: Invalid value: a: does not match its tag",
		"!!binary //79":                    "value: Invalid value: //79: is binary",
		"{a: &x 1e-400, b: {<<: {c: *x}}}": "would be 0",
	} {
		t.Run(value, func(t *testing.T) {
			_, problems := renderSettings(t, value)
			if len(problems) == 0 || !strings.HasPrefix(problems[0], "environments/prod/a.yaml:4: Settings shop/a: ") || !strings.Contains(problems[0], wrong) {
				t.Errorf("%q", problems)
			}
		})
	}
}
