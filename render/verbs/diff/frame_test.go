package diff

import (
	"strings"
	"testing"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

func TestFrameHasFilesThatDecideTheReviewOrTheSync(t *testing.T) {
	const (
		checks, owners, flux, argoCD, attributes = "this check", "approve", "Flux", "Argo CD", "git checks out"
		orphan, none                             = "render did not write it", ""
	)
	file, link, submodule := &git.File{Mode: "100644"}, &git.File{Mode: "120000"}, &git.File{Mode: "160000"}
	for _, test := range []struct {
		prefix, file string
		is           *git.File
		want         string
	}{
		{"", ".github/workflows/gatehouse.yaml", file, checks},
		{"", ".github/workflows/gatehouse.yaml", nil, checks},
		{"", ".github/workflows", link, checks},
		{"", ".github", submodule, checks},
		{"", ".github/actions/render/action.yml", file, checks},
		{"", ".github/ISSUE_TEMPLATE.md", file, none},
		{"", ".gitlab-ci.yml", file, checks},
		{"", ".gitlab/gatehouse.yml", file, checks},
		{"", "ci/render.gitlab-ci.yml", file, checks},
		{"", "ci/action.yaml", file, checks},
		{"", ".pre-commit-config.yaml", file, checks},
		{"", "Jenkinsfile", file, checks},
		{"", "environments/prod/action.yaml", file, none},
		{"", "environments/prod/.gitattributes", file, none},
		{"", "docs/ci.md", file, none},
		{"", "CODEOWNERS", file, owners},
		{"", ".github/CODEOWNERS", file, owners},
		{"", ".gitlab/CODEOWNERS", nil, owners},
		{"", "src/CODEOWNERS", file, none},
		{"", ".sourceignore", file, flux},
		{"", "docs/.sourceignore", file, none},
		{"", "rendered/.sourceignore", file, orphan},
		{"", ".gitattributes", file, attributes},
		{"", "docs/.gitattributes", file, none},
		{"", "rendered/prod/shop/.gitattributes", file, orphan},
		{"", "apps/.argocd-source-prod.yaml", file, argoCD},
		{"", ".argocd-allow-concurrency", file, argoCD},
		{"", "rendered/prod/.argocd-source.yaml", file, orphan},
		{"team/shop", ".github/workflows/gatehouse.yaml", file, checks},
		{"team/shop", "team/.sourceignore", file, flux},
		{"team/shop", "team/shop/.gitattributes", file, attributes},
		{"team/shop", "team/shopping/.gitattributes", file, none},
		{"team/shop", "rendered/prod/evil.yaml", file, none},
		{"team/shop", "team/shop/rendered/prod/evil.yaml", file, orphan},
		{"", "rendered/prod/shop/a.yaml", file, none},
		{"", "rendered/prod/shop/a.yaml", nil, none},
		{"", "rendered/prod/shop/a.yaml", link, orphan},
		{"", "rendered/prod/kustomization.yaml", file, none},
		{"", "rendered/prod/README.md", file, none},
		{"", "rendered/prod/shop/README.md", file, none},
		{"", "rendered/prod/shop/evil.yaml", file, orphan},
		{"", "rendered/prod/shop/evil.yaml", nil, none},
		{"", "rendered/prod/.x/evil.yaml", file, orphan},
		{"", "rendered/prod/shop/kustomization.yaml", file, orphan},
		{"", "rendered/prod/submodule", submodule, orphan},
		{"", "rendered/prod", link, orphan},
		{"", "rendered/kustomization.yaml", file, orphan},
		{"", "rendered/x/evil.json", file, orphan},
		{"", "rendered/wrong/shop/a.yaml", file, none},
	} {
		f := &frame{prefix: test.prefix, isAll: true, rendered: map[string]map[string]bool{}}
		f.add("prod", &render.Rendering{Files: []tree.File{{Path: "shop/a.yaml"}}, Beside: []tree.File{{Path: tree.PageFile}}})
		f.add("wrong", nil)
		got := f.riskOf(git.FileChange{Path: test.file, Before: file, After: test.is})
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s of %q, %v: %s, want %s", test.file, test.prefix, test.is, got, test.want)
		}
	}
	f := &frame{rendered: map[string]map[string]bool{"prod": {}}}
	for within, want := range map[string]bool{"dev/evil.yaml": false, "evil.yaml": false, "prod/evil.yaml": true} {
		if got := f.isOrphan(within, true); got != want {
			t.Errorf("of one environment: %s: %t", within, got)
		}
	}
}
