package manifest

import (
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

func TestScalarReadsBackAsText(t *testing.T) {
	for _, value := range []string{
		"main", "env/prod", "1.5", "1e3", "0x1f", "true", "no", "null", "~", "y", "N", "on", "Off", "", "#1", "a: b", "a #b", "- a", "{}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		`"a"`, "'a'", `a\b`, "ü", "a{{b}}", "a:", ".", "...", "---", "2027-01-01", "<&>", "\u2028", "😀", "a\nb", " a ", strings.Repeat("long ", 40) + "line", "\ufeffa", "a\u0085b", "2027-01-04T06:00:00+01:00",
	} {
		written := Scalar(value)
		var read map[string]any
		if err := sigsyaml.UnmarshalStrict([]byte("a: "+written+"\nb: c\n"), &read); strings.Contains(written, "\n") || err != nil || read["a"] != value || read["b"] != "c" {
			t.Errorf("%q is written %s and read %v (%v)", value, written, read, err)
		}
	}
}
