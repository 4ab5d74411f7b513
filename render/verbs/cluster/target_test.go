package cluster

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: shop, context: {cluster: c, user: u}}, {name: "evil\e[31m", context: {cluster: gone, user: u}}]
`

func TestConnectErrorsNameClusterAndRemedy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	write(t, file, kubeconfig)
	current := filepath.Join(dir, "current")
	write(t, current, kubeconfig+"current-context: shop\n")
	broken := filepath.Join(dir, "broken")
	write(t, broken, "clusters: {")

	for name, test := range map[string]struct {
		environment string
		target      Target
		want        []string
	}{
		"no kubeconfig":           {"", Target{}, []string{"which cluster? set KUBECONFIG, or write --kubeconfig FILE"}},
		"a missing kubeconfig":    {filepath.Join(dir, "none"), Target{}, []string{"KUBECONFIG names " + filepath.Join(dir, "none") + ", which has no cluster"}},
		"a missing file":          {"", Target{Kubeconfig: filepath.Join(dir, "none")}, []string{"none: no such file"}},
		"a broken file":           {broken, Target{}, []string{"read the kubeconfig", "broken"}},
		"no current context":      {file, Target{}, []string{"which cluster? write --context NAME: there are", "shop"}},
		"an unknown context":      {file, Target{Context: "show"}, []string{`context "show" does not exist`, "there are", "shop"}},
		"a context of no cluster": {file, Target{Context: "evil\x1b[31m"}, []string{"which cluster? write --context NAME: there are"}},
		"no answer":               {current, Target{}, []string{"connect to context shop (https://127.0.0.1:1)", "refused: see that it is up"}},
		"the context of a flag":   {file, Target{Context: "shop"}, []string{"connect to context shop (https://127.0.0.1:1)", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", dir)
			t.Setenv("KUBECONFIG", test.environment)
			_, err := test.target.Connect(io.Discard)
			if err == nil {
				t.Fatal("connected")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
					t.Errorf("%q, want %q in it, and no control characters", err, want)
				}
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
