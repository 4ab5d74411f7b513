package diff

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/verbs/git"
)

var (
	file       = &git.File{Mode: "100644"}
	executable = &git.File{Mode: "100755"}
	link       = &git.File{Mode: "120000"}
	submodule  = &git.File{Mode: "160000"}
)

func TestReadersOfFilesGiveTheirRisks(t *testing.T) {
	for risk, names := range map[string][]string{
		"who must approve": {"CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS", "OWNERS", "environments/prod/OWNERS", "OWNERS_ALIASES"},
		"which changes merge": {"renovate.json", "renovate.json5", ".renovaterc", ".github/renovate.json", ".github/dependabot.yml", ".mergify.yml", ".github/mergify.yml",
			".github/settings.yml", "bors.toml", ".kodiak.toml", ".prow.yaml"},
		"this check": {".github/workflows/gatehouse.yaml", ".github/workflows", ".github", ".github/actions/render/action.yml", ".gitlab-ci.yml", ".gitlab/gatehouse.yml",
			"ci/render.gitlab-ci.yml", "ci/action.yaml", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "Jenkinsfile", "ci/Jenkinsfile.prod", "azure-pipelines.yml",
			"azure-pipelines-prod.yml", "lefthook.yml", ".husky/pre-commit", ".cirrus.yml"},
		"Argo CD":         {"apps/.argocd-source-prod.yaml", ".argocd-source.yaml", ".argocd-allow-concurrency"},
		"Flux leaves out": {".sourceignore", "apps/.sourceignore"},
		maySync:           {"clusters/prod/kustomization.yaml", "apps/Kustomization", "apps/web/Chart.yaml", "fleet.yaml"},
		"git checks out":  {".gitattributes", "environments/prod/.gitattributes"},
		"git takes files": {".gitmodules", ".lfsconfig"},
		"decrypt":         {".sops.yaml", "environments/prod/.sops.yaml"},
		"archives":        {"charts/charts.lock"},
		"which programs":  {".tool-versions", "mise.toml", ".mise.local.toml", "aqua.yaml", ".envrc", "flake.lock", "shell.nix", ".go-version", ".nvmrc"},
		mayRun: {"Makefile", "GNUmakefile", "ci/Makefile.common", "build/render.mk", "Taskfile.yml", "justfile", ".justfile", "hack/check.py", "scripts/render", "deploy.sh",
			"environments/prod/apply.sh", "tools/verify.go", "tox.ini"},
		"settings from it": {".yamllint", ".github/codecov.yml", ".config/render.toml", "apps/.helmignore"},
		"":                 {"README.md", ".github/ISSUE_TEMPLATE.md", ".github/ISSUE_TEMPLATE/bug.yml", "hack/README.md", ".gitignore", "docs/ci.md", "src/CODEOWNERS", "main.go", "LICENSE", "x.conf", "helmfile.yaml", "bootstrap/helmfile.d/01-apps.yaml"},
	} {
		for _, name := range names {
			got, _ := judgeName(git.FileChange{Path: name, Before: file})
			if (got == "") != (risk == "") || !strings.Contains(string(got), risk) {
				t.Errorf("%s: %q, want %q", name, got, risk)
			}
		}
	}
}

func TestModesOfFilesGiveTheirRisks(t *testing.T) {
	for risk, changes := range map[string][]git.FileChange{
		"repository of its own": {{Path: "vendored", Before: submodule, After: submodule}, {Path: "README.md", Before: file, After: submodule}, {Path: "clone/", After: file}},
		"it is a link":          {{Path: "README.md", Before: file, After: link}},
		mayRun:                  {{Path: "check.py", Before: file, After: executable}, {Path: "check", Before: executable}},
		"":                      {{Path: "a.conf", Before: link, After: file}},
	} {
		for _, change := range changes {
			if got, _ := judgeName(change); (got == "") != (risk == "") || !strings.Contains(string(got), risk) {
				t.Errorf("%v: %q, want %q", change, got, risk)
			}
		}
	}
}

func TestOnlyDocumentsAndProgramsAreOrdinary(t *testing.T) {
	for name, want := range map[string]bool{"docs/a.md": true, "src/main.go": true, "logo.SVG": true, "values.yaml": false, "x.conf": false, "Brewfile": false} {
		if got := isOrdinary(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// frameOf returns a frame in a folder of a repository. It renders prod to shop/a.yaml, where shop/edited.yaml and
// shop/gone.yaml differ, and does not render wrong. The base listed shop/was.yaml.
func frameOf(t *testing.T, prefix string) *frame {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, prefix)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", top).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	repository, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &frame{isAll: true, compared: []*compare.Comparison{{}}} // one that is rendered
	f.start(&previousRendering{git: repository, listed: map[string][]string{"prod": {"shop/was.yaml"}}})
	f.isRendered["other"] = map[string]bool{}
	f.isRendered["prod"] = map[string]bool{
		"rendered/prod/shop/a.yaml": true, "rendered/prod/README.md": true,
		"rendered/prod/shop/edited.yaml": false, "rendered/prod/shop/gone.yaml": false,
	}
	f.looked.Add("environments/prod/a.yaml")
	f.looked.Add("environments/base/action.yaml")
	f.looked.Add("apps/base/a.yaml")
	f.looked.Add("apps/base/kustomization.yaml")
	f.looked.Add("tools/base/.helmignore")
	f.looked.Add("hack/check.sh")
	f.looked.Add(".github/workflows/a.yaml")
	return f
}

func TestFrameLeavesOutExplainedFiles(t *testing.T) {
	const edited, still, orphan, explained, listed = "not what the sources render to", "still render", "render did not write it", "explained", ""
	for _, test := range []struct {
		prefix, file string
		is           *git.File
		want         string
	}{
		{"", "environments/prod/a.yaml", file, explained},
		{"", "environments/prod/a.yaml", nil, explained},
		{"", "environments/prod/unread.yaml", file, listed},
		{"", "environments/base/action.yaml", file, explained}, // a source file has any name
		{"", "environments/README.md", file, listed},
		{"", "environments/prod/a.yaml", submodule, "repository of its own"},
		{"", "apps/base/a.yaml", file, explained},
		{"", "apps/base/kustomization.yaml", file, explained},
		{"", "apps/kustomization.yaml", file, maySync},
		{"", "tools/base/.helmignore", file, explained},
		{"", "hack/check.sh", file, mayRun},
		{"", ".github/workflows/a.yaml", file, "this check"}, // although an environment reads it
		{"team/shop", "environments/prod/a.yaml", file, listed},
		{"team/shop", "team/shop/environments/prod/a.yaml", file, explained},
		{"team/shop", "rendered/prod/evil.yaml", file, listed},
		{"team/shop", "team/shop/rendered/prod/evil.yaml", file, orphan},
		{"", "rendered/prod/shop/a.yaml", file, explained},
		{"", "rendered/prod/README.md", file, explained},
		{"", "rendered/prod/shop/edited.yaml", file, edited},
		{"", "rendered/prod/shop/gone.yaml", nil, still},
		{"", "rendered/prod/shop/was.yaml", nil, explained},
		{"", "rendered/prod/kustomization.yaml", nil, explained},
		{"", "rendered/prod/shop/was.yaml", file, orphan},
		{"", "rendered/prod/shop/evil.yaml", file, orphan},
		{"", "rendered/prod/shop/evil.yaml", nil, listed},
		{"", "rendered/prod/shop/README.md", file, listed},
		{"", "rendered/prod/shop/README.md", link, orphan},
		{"", "rendered/prod/.x/evil.yaml", file, orphan},
		{"", "rendered/prod/shop/kustomization.yaml", file, orphan},
		{"", "rendered/prod/submodule", submodule, orphan},
		{"", "rendered/prod", link, orphan},
		{"", "rendered/kustomization.yaml", file, orphan},
		{"", "rendered/x/evil.json", file, orphan},
		{"", "rendered/.sourceignore", file, orphan},
	} {
		f, change := frameOf(t, test.prefix), git.FileChange{Path: test.file, Before: file, After: test.is}
		got := explained
		if !f.isExplained(change) {
			risk, _ := f.judge(change)
			got = string(risk)
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s in %q, %v: %q, want %q", test.file, test.prefix, test.is, got, test.want)
		}
	}
}

func TestErrorsOfAnEnvironmentExplainItsFiles(t *testing.T) {
	f := frameOf(t, "")
	f.isRendered["wrong"] = nil
	for name, want := range map[string]bool{
		"environments/wrong/a.yaml": true, "environments/base/unread.yaml": true, "environments/prod/unread.yaml": false,
		"rendered/wrong/a.yaml": true, "clusters/wrong/a.yaml": false,
	} {
		if got := f.isExplained(git.FileChange{Path: name, After: file}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	f.isChanged["rendered/wrong/shop/a.yaml"] = true
	changes := f.outdated()
	i := slices.IndexFunc(changes, func(c change) bool { return c.File == "rendered/wrong" })
	if i < 0 || changes[i].Risk.Plain() != "there is no rendering to compare with: shop/a.yaml" {
		t.Error(changes)
	}
}

func TestComparisonOfOneEnvironmentLeavesOutOthers(t *testing.T) {
	f := frameOf(t, "")
	f.isAll = false
	for name, want := range map[string]bool{
		"rendered/dev/evil.yaml": true, "rendered/evil.yaml": true, "rendered/prod/evil.yaml": false,
		"environments/dev/a.yaml": true, "environments/prod/unread.yaml": false, "Makefile": false,
	} {
		if got := f.isExplained(git.FileChange{Path: name, After: file}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOutdatedFilesShareALine(t *testing.T) {
	f := frameOf(t, "team/shop")
	f.isChanged["rendered/prod/shop/edited.yaml"] = true
	got := f.outdated()
	if len(got) != 1 || got[0].File != "team/shop/rendered/prod" || got[0].Action != compare.Outdated ||
		got[0].Risk.Plain() != "not what the sources render to: shop/gone.yaml: run render --env prod" {
		t.Error(got)
	}
}

func TestFilesOfManyAreCountedByFolder(t *testing.T) {
	names := []string{"b.md", "a b.md"}
	if got := compare.SayFiles(names).Plain(); got != "a b.md, b.md" {
		t.Error(got)
	}
	for i := range 30 {
		names = append(names, fmt.Sprintf("src/%d.go", i), fmt.Sprintf("d%02d/x", i))
	}
	if got := compare.SayFiles(names).Plain(); got != "a b.md, b.md, d00/ (1 file), d01/ (1 file), d02/ (1 file), d03/ (1 file), d04/ (1 file), d05/ (1 file), d06/ (1 file), d07/ (1 file), d08/ (1 file), d09/ (1 file), 21 more" {
		t.Error(got)
	}
}

func TestManifestsAreParsedOrRecognized(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for content, want := range map[string]struct {
		objects  int
		isParsed bool
	}{
		"":                        {0, true},
		"# nothing\n":             {0, true},
		object:                    {1, true},
		object + "---\n" + object: {2, true},
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n": {2, true},
		`{"kind": "ConfigMap", "apiVersion": "v1"}`:           {1, true},
		object + "data: {{ .Values.data }}\n":                 {0, false},
		object + "---\na: b\n":                                {0, false},
		"apiVersion: v2\nname: chart\n":                       {0, true},
		"replicas: {{ x }}\n":                                 {0, true},
		"extra:\n- apiVersion: v1\n  kind: Secret\n":          {0, true},
		"extra:\n- apiVersion: v1\n  kind: Secret\n{{ x }}\n": {0, false},
		"releases:\n- values: [{apiVersion: v1, kind: x}]\n":  {0, true},
		"a: b\n---\n{kind: ConfigMap, apiVersion: v1}\n":      {0, false},
	} {
		objects, isParsed := parseManifest("a.yaml", []byte(content))
		if len(objects) != want.objects || isParsed != want.isParsed {
			t.Errorf("%s: %d objects, %t", content, len(objects), isParsed)
		}
	}
}

func TestCallersNameFiles(t *testing.T) {
	called := map[string]string{}
	addCalled(called, "Makefile", "check:\n\tpython3 ./src/check.py $(ROOT)/ci/b/c.rb; cat /etc/hosts\n")
	for name, want := range map[string]string{"src/check.py": "Makefile", "check.py": "", "ci/b/c.rb": "Makefile", "b/c.rb": "Makefile", "c.rb": "", "src": ""} {
		if called[name] != want {
			t.Errorf("%s: %q", name, called[name])
		}
	}
}

// The values of a Secret are masked by its kind, which an item of a SecretList need not have.
func TestItemsOfAListHaveItsKind(t *testing.T) {
	objects, isParsed := parseManifest("a.yaml", []byte(`apiVersion: v1
kind: SecretList
items:
- {metadata: {name: a}, stringData: {password: x}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`))
	var got []string
	for _, o := range objects {
		got = append(got, o.GetAPIVersion()+" "+o.String())
	}
	if want := []string{"v1 Secret a", "v1 ConfigMap b"}; !isParsed || !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
