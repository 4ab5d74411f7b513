package setup

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/render/manifest"
)

func TestSampleKeepsEveryByteOfText(t *testing.T) {
	outline := NewOutline(&at.Kind)
	for _, command := range []string{
		"echo done", "true", "42", "yes", "off", "y", "012", "", " ", "- a", "# a", "a: b", "a #b", `"`, "'", "a\\b", "*x", "&x", "!x", "%x", "@x", "`x`", "{a}", "[a]", "null", "~", "2027-01-04",
		"a\nb", "a\nb\n", "a\n\n\nb\n\n", "\na", "  a\nb", "a\n  b", "a \nb ", "\ta\n\tb", "a\tb", "a\r\nb", "a\x1b[31m", "ä\u2028b", "a\nb\u2029", "a\u0085b", "\ufeffa",
		"---\na", "a\n---\nb", "a\n...\n", "  \n", "\n", "\n\n", " a\n\n  b\n", strings.Repeat("word ", 60),
	} {
		content := newSample(&at.Kind, outline, "shop", "no", map[string]any{"schedule": "2027-01-04T06:00:00Z", "command": command})
		var read cnatv1alpha1.At
		err := yaml.UnmarshalStrict(content, &read)
		if err != nil || read.Spec.Command != command || read.Spec.Schedule != "2027-01-04T06:00:00Z" || read.Name != "no" || read.Namespace != "shop" {
			t.Errorf("%q: %v, %q in\n%s", command, err, read.Spec.Command, content)
		}
		if strings.ContainsAny(string(content), manifest.LineEnds) {
			t.Errorf("%q: some readers end a line there:\n%s", command, content)
		}
		if strings.Contains(command, "\n") && !strings.ContainsAny(command, manifest.LineEnds) && strings.TrimSpace(command) == command && !strings.Contains(command, "\r") && !strings.Contains(command, " \n") && !strings.Contains(string(content), "command: |") {
			t.Errorf("%q is no block:\n%s", command, content)
		}
	}
}
