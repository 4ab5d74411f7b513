package diff

import (
	"os/exec"
	"reflect"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/source"
)

// twoEnvironments is the script of a repository: b has a link, a base, a component that may be there, and a generator.
const twoEnvironments = `set -e
write() { mkdir -p "$(dirname "$1")"; cat > "$1"; }
configMap() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n' "$1"; }
git init -q; git config user.name a; git config user.email a@example.com
echo 'resources: [a.yaml]' | write environments/a/kustomization.yaml
configMap a | write environments/a/a.yaml
printf 'resources: [b.yaml, ../../apps/base, link]\nconfigMapGenerator: [{name: c, files: [c.txt]}]\n' |
	write environments/b/kustomization.yaml
configMap b | write environments/b/b.yaml; echo c | write environments/b/c.txt
ln -s ../../apps/linked environments/b/link
echo 'resources: [base.yaml]' | write apps/base/kustomization.yaml; configMap base | write apps/base/base.yaml
echo 'resources: [linked.yaml]' | write apps/linked/kustomization.yaml; configMap linked | write apps/linked/linked.yaml
git add .; git commit -qm base
`

func TestOnlyAChangeOfWhatARenderingLooksAtMayChangeIt(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		a, b   bool
	}{
		"nothing":                     {"true", false, false},
		"another file":                {"echo | write apps/other/a.yaml; echo | write README.md", false, false},
		"an object":                   {"configMap other >> environments/a/a.yaml", true, false},
		"a base":                      {"echo 'data: {a: b}' >> apps/base/base.yaml", false, true},
		"a file at the end of a link": {"echo 'data: {a: b}' >> apps/linked/linked.yaml", false, true},
		"a link":                      {"rm environments/b/link; ln -s ../../apps/other environments/b/link; cp -r apps/linked apps/other", false, true},
		"a second kustomization":      {"echo | write apps/linked/Kustomization", false, true},
		"a file of a generator":       {"echo d > environments/b/c.txt", false, true},
		"a folder that is gone":       {"rm -r apps/linked environments/b/link; sed -i 's/, link//' environments/b/kustomization.yaml", false, true},
		"an environment":              {"mkdir environments/a/overrides; echo 'kind: Component' > environments/a/overrides/kustomization.yaml", true, false},
		"a definition":                {"echo 'kind: CustomResourceDefinition' | write crds/a.yaml", true, true},
		"an ordinary file for both":   {"echo '# CustomResourceDefinition' | write notes.txt", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script := exec.CommandContext(t.Context(), "sh", "-c", twoEnvironments+c.change) // #nosec G204 -- of this test
			script.Dir = dir
			if out, err := script.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			repository, err := render.Open(dir, gatehouse.All(), render.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer repository.Close()
			previous, err := openPrevious(t.Context(), repository, "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			defer previous.close()
			for name, want := range map[string]bool{"a": c.a, "b": c.b} {
				var looks source.Looks
				now := repository.Recording(&looks).Load(name, render.LoadOptions{})
				got := previous.mayDiffer(&looks)
				if got != want {
					t.Errorf("%s may differ: %t, want %t", name, got, want)
				}
				was := previous.base.Load(name, render.LoadOptions{})
				if !got && (now.Rendering == nil || !reflect.DeepEqual(now.Rendering.Files, was.Rendering.Files)) {
					t.Errorf("%s differs", name)
				}
			}
		})
	}
}
