package scaffold

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"example.com/gatehouse/environments/base/gatehouse"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/kind/registry"
)

const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

// deadline is a patch of the CustomResourceDefinition of Ats. An hour is for whoever is
// called at night: later, a person is to look before a command runs.
const deadline = `# How late is too late: an At that has not started an hour after its time does not start any
# more. So a cluster that knows of no earlier run, because it is new or restored from a
# backup, runs nothing again. An At keeps a startingDeadlineSeconds of its own.
- op: add
  path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default
  value: 3600
`

// environments are the files of environments/ by their paths from there.
func environments(o Options, image image) (map[string][]byte, error) {
	files := map[string][]byte{
		"base/kustomization.yaml": []byte("# What every environment has: the kinds, and the controller, which opens gates.\n" + kustomization +
			"resources:\n- crds\n- gatehouse\n" +
			"images: # a digest keeps others from replacing what opens gates\n" + image.entry()),
	}
	own := "# What " + o.Environment + " has besides.\n" + kustomization + "resources:\n- ../base\n"
	if o.Kinds.Find(at.Kind.GVK) != nil {
		own += "patches:\n- path: deadline.yaml\n  target:\n    kind: CustomResourceDefinition\n    name: " + at.Definition + "\n"
		files[o.Environment+"/deadline.yaml"] = []byte(deadline)
	}
	files[o.Environment+"/kustomization.yaml"] = []byte(own)
	for name, content := range definitions(o.Kinds) {
		files[path.Join("base/crds", name)] = content
	}
	names, err := fs.Glob(gatehouse.Files, "*.yaml")
	for _, name := range names {
		if files[path.Join("base/gatehouse", name)], err = gatehouse.Files.ReadFile(name); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	files["base/gatehouse/role.yaml"], err = rbac.Manifest(o.Kinds)
	return files, err
}

// definitions are the files of the folder of CustomResourceDefinitions: they, what kustomize
// is told of their fields, and the kustomization that lists both.
func definitions(kinds *registry.Kinds) map[string][]byte {
	files := map[string][]byte{}
	var resources, configurations strings.Builder
	for i := range kinds.All {
		k := &kinds.All[i]
		name := k.GVK.Group + "_" + k.Plural() + ".yaml"
		if files[name] == nil { // two versions of a kind have one
			fmt.Fprintf(&resources, "- %s\n", name)
		}
		files[name] = k.CRD
		if len(k.Fields) > 0 {
			name := strings.ToLower(k.GVK.Kind) + ".kustomizeconfig.yaml"
			if files[name] == nil {
				fmt.Fprintf(&configurations, "- %s\n", name)
			}
			files[name] = k.Fields
		}
	}
	content := "# The kinds, and what kustomize has to know of their fields.\n" + kustomization + "resources:\n" + resources.String()
	if configurations.Len() > 0 {
		content += "configurations:\n" + configurations.String()
	}
	files["kustomization.yaml"] = []byte(content)
	return files
}

// The files for CI are whole as they are, for a repository whose top holds environments/.

//go:embed ci/github.yaml
var githubWorkflow string

//go:embed ci/gitlab.yml
var gitlabJobs string

// ciFile is the file for CI, by its path from the top of the git repository.
func ciFile(ci, branch, prefix string) (name, content string) {
	root := path.Join(".", prefix)
	switch ci {
	case github:
		return ".github/workflows/gatehouse.yaml", strings.NewReplacer(
			"branches: [main]", "branches: ["+scalar(branch)+"]",
			"\n  ROOT: .\n", "\n  ROOT: "+scalar(root)+"\n").Replace(githubWorkflow)
	case gitlab:
		return ".gitlab/gatehouse.yml", strings.Replace(gitlabJobs, "\n    ROOT: .\n", "\n    ROOT: "+scalar(root)+"\n", 1)
	}
	return "", ""
}

// gitlabCI is the file that GitLab reads, and gitlabInclude what it is where there is none.
const (
	gitlabCI      = ".gitlab-ci.yml"
	gitlabInclude = "include:\n- local: .gitlab/gatehouse.yml\n"
)

// plain matches what YAML takes for a text without quotes, but for words like true.
var plain = regexp.MustCompile(`^(\.|[A-Za-z][\w./-]*)$`)

// word matches what some reader of YAML takes for a boolean or nothing.
var word = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n)$`)

// scalar is a text as YAML, also within brackets.
func scalar(text string) string {
	if plain.MatchString(text) && !word.MatchString(text) {
		return text
	}
	quoted, _ := json.Marshal(text) // a string
	return string(quoted)
}
