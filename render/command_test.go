package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A Pod has the command byte for byte, in any YAML style, with every $ doubled for Kubernetes.
func TestCommandKeepsEveryByte(t *testing.T) {
	commands := []string{
		"kill -TERM $$", `echo "$(CURRENCY)"`, "$$$", "${A}$(A)$A", "a\nb", "a\nb\n", "a\n\n\n", "\n\na", "a\r\nb\r\n", "a\rb", " a ", "\ta\t", "a \nb \n", "  a\n b\n", "\n a",
		"#a", "a #b", "- a", "a: b", "'", "\"", "\\", "\\n", "a\\\nb", "%a", "|", ">", "&a", "*a", "!a", "{a}", "[a]", "null", "~", "true", "1", "1e3", "0x1", "2027-01-01", "---", "...", "---\na", "---\n$$\n---\n",
		"ü日\U0001F600", "\u0085a\u0085", "\u2028\u2029", "\ufeffa", "\x7f", "\u00a0a\u00a0", "e\u0301", "\x1b[0m", "<&>", strings.Repeat("long words and $$ ", 20), strings.Repeat("x", 300),
		"cat <<'EOF'\n\tprice: $(A)\n  $$\nEOF\n",
	}
	var manifests strings.Builder
	for i, command := range commands {
		fmt.Fprintf(&manifests, "---\napiVersion: cnat.programming-kubernetes.info/v1alpha1\nkind: At\nmetadata: {name: at-%d, namespace: shop}\nspec: {schedule: \"2027-01-01T00:00:00Z\", command: %s}\n", i, strconv.QuoteToASCII(command))
	}
	root := write(t, "-- environments/prod/kustomization.yaml --\nresources: [ats.yaml]\n-- environments/prod/ats.yaml --\n"+manifests.String())
	mustRun(t, root)

	for i, command := range commands {
		files, err := filepath.Glob(fmt.Sprintf("%s/rendered/prod/shop/pod-at-%d-*.yaml", root, i))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q: files %v, %v", command, files, err)
		}
		content, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := yaml.UnmarshalStrict(content, &pod); err != nil {
			t.Fatal(err)
		}
		if got := pod.Spec.Containers[0].Command[2]; got != strings.ReplaceAll(command, "$", "$$") {
			t.Errorf("%q is written as %q:\n%s", command, got, content)
		}
	}
}
