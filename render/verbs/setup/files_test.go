package setup

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

func TestEnvironmentFilesMentionGatesOnlyForGatedKinds(t *testing.T) {
	aboutGates := regexp.MustCompile(`(?i)\bgate(s|d)?\b|\bat(s)?\.?cnat|schedul(e|ing) ?gate`)
	for _, test := range []struct {
		name  string
		kinds []kind.Kind
		want  bool
	}{
		{"kinds of Gatehouse", gatehouse.Kinds, true},
		{"and others", append(slices.Clone(gatehouse.Kinds), testkind.Kind), true},
		{"others alone", []kind.Kind{testkind.Kind}, false},
	} {
		kinds, err := registry.New(test.kinds...)
		if err != nil {
			t.Fatal(err)
		}
		files, err := environmentFiles(Options{Kinds: kinds, Environment: "prod"}, "- name: gatehouse-controller\n")
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for name, content := range files {
			if aboutGates.Match(content) || strings.Contains(name, "gate-") {
				found = append(found, name)
			}
		}
		listed := string(files["base/gatehouse/kustomization.yaml"])
		for _, name := range gateFiles {
			if files["base/gatehouse/"+name] != nil != test.want || strings.Contains(listed, name) != test.want {
				t.Errorf("%s: %s", test.name, name)
			}
		}
		for line := range strings.Lines(listed) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && files["base/gatehouse/"+name] == nil {
				t.Errorf("%s: %s is listed and not there", test.name, name)
			}
		}
		if slices.Sort(found); len(found) > 0 != test.want {
			t.Errorf("%s: about gates: %q", test.name, found)
		}
	}
}
