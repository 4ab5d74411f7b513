package command

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// Terminals do not interpret the control characters, and programs decode them.
func TestJSONEscapesControlCharacters(t *testing.T) {
	root := repository(t)
	const name = "a\x1b[31m\u0085\u009b\u202e\u2028\U000e0001\u00e9"
	writeFile(t, root, "a.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {name: "a\e[31m\N\x9b\u202e\L\U000E0001é"}, bogus: 1}`)
	out, _, code, err := execute("--all", "--root", root, "-o", "json")
	if err != nil || code != exitError {
		t.Fatalf("exit code %d, error %v: %s", code, err, out)
	}
	if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }); i >= 0 {
		t.Errorf("%q is not escaped in %s", out[i:i+4], out)
	}
	var report report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if got := report.Environments[0].Errors[0].Object; got != "ConfigMap "+name {
		t.Errorf("object %q, want %q", got, name)
	}
}
