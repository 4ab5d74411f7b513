package render

import (
	"strings"
	"testing"
)

// Nesting that would take the stack of a recursion is refused.
func TestRenderBoundsNesting(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ok}\n"
	var block strings.Builder
	for i := range 1000 {
		block.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for content, want := range map[string]string{
		"a: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000): "a.yaml:4: nested over 200 levels deep",
		block.String(): "a.yaml:204: nested over 200 levels deep",
	} {
		archive := "-- environments/prod/kustomization.yaml --\nresources: [a.yaml]\n-- environments/prod/a.yaml --\n" + head + content + "\n"
		problems := problemsOf(run(t, write(t, archive)))
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("problems %q, want one that has %q", problems, want)
		}
	}
}
