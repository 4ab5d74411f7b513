package setup

import (
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/environments/base/gatehouse"
	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

// environmentFiles returns the files of environments/ by their paths from there. Image is the entry
// of a kustomization for the image of the controller.
func environmentFiles(o Options, image string) (map[string][]byte, error) {
	files := map[string][]byte{
		"base/kustomization.yaml": []byte("# What every environment has: the kinds, and the controller, which opens gates.\n" + kustomization +
			"resources:\n- crds\n- gatehouse\n" +
			"images: # a digest keeps others from replacing what opens gates\n" + image),
	}
	own := "# What " + o.Environment + " has besides.\n" + kustomization + "resources:\n- ../base\n"
	patches := ""
	for i := range o.Kinds.All {
		k := &o.Kinds.All[i]
		for _, name := range slices.Sorted(maps.Keys(k.InitPatches)) {
			patches += "- path: " + name + "\n  target:\n    kind: CustomResourceDefinition\n    name: " + k.Plural() + "." + k.GVK.Group + "\n"
			files[path.Join(o.Environment, name)] = []byte(k.InitPatches[name])
		}
	}
	if patches != "" {
		own += "patches:\n" + patches
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

// definitions returns the files of the folder of CustomResourceDefinitions: these, the kustomize
// configurations for their fields, and the kustomization that lists both.
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

// The files for CI are complete for a repository whose top holds environments/.

//go:embed ci/github.yaml
var githubWorkflow string

//go:embed ci/gitlab.yml
var gitlabJobs string

// ciFile returns the file for CI, by its path from the top of the git repository. Prefix is the path
// from there to the folder that holds environments/.
func ciFile(ci, branch, prefix string) (name, content string) {
	root := "ROOT: " + manifest.Scalar(path.Join(".", prefix)) + "\n"
	switch ci {
	case github:
		return ".github/workflows/gatehouse.yaml", strings.NewReplacer("- main\n", "- "+manifest.Scalar(branch)+"\n", "ROOT: .\n", root).Replace(githubWorkflow)
	case gitlab:
		return ".gitlab/gatehouse.yml", strings.Replace(gitlabJobs, "ROOT: .\n", root, 1)
	}
	return "", ""
}

// gitlabCI is the file that GitLab reads, and gitlabInclude its content where there is none.
const (
	gitlabCI      = ".gitlab-ci.yml"
	gitlabInclude = "include:\n- local: .gitlab/gatehouse.yml\n"
)

const attributesFile = ".gitattributes"

// renderedAttributes is the line of .gitattributes for what is rendered: hosts fold it in a diff, and
// git changes no line end in it.
const renderedAttributes = "rendered/** linguist-generated=true gitlab-generated text eol=lf\n"

// hasAttributes matches a .gitattributes with a line for the same files.
var hasAttributes = regexp.MustCompile(`(?m)^rendered/\*\*[ \t]`)

// withAttributes returns the content of a .gitattributes with renderedAttributes, unless it has a line
// for the same files.
func withAttributes(content []byte) []byte {
	if hasAttributes.Match(content) {
		return content
	}
	added := bytes.Clone(content)
	if len(added) > 0 && !bytes.HasSuffix(added, []byte("\n")) {
		added = append(added, '\n')
	}
	return append(added, renderedAttributes...)
}
