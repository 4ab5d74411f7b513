package setup

import (
	"bytes"
	"cmp"
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
	"example.com/gatehouse/render/tree"
)

const kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

// environmentFiles returns the files of environments/ by their paths from there. Image is the entry
// of a kustomization for the image of the controller. Overlay is what the environment lists; empty
// means a base, which is made, too.
func environmentFiles(o Options, image, overlay string) (map[string][]byte, error) {
	if overlay != "" {
		content := kustomization + o.annotation() + list("resources", []string{manifest.Scalar(overlay)})
		return map[string][]byte{o.Environment + "/kustomization.yaml": []byte(content)}, nil
	}
	files := map[string][]byte{}
	var definitions, configurations, patches []string
	for i := range o.Kinds.All {
		k := &o.Kinds.All[i]
		add := func(list []string, name string, content []byte) []string {
			name = path.Join("base/crds", name)
			if files[name] == nil { // two versions of a kind have one
				list = append(list, path.Base(name))
			}
			files[name] = content
			return list
		}
		definitions = add(definitions, k.GVK().Group+"_"+k.Plural()+".yaml", k.CRD())
		if config := k.KustomizeConfig(); config != nil {
			configurations = add(configurations, strings.ToLower(k.GVK().Kind)+".kustomizeconfig.yaml", config)
		}
		for _, name := range slices.Sorted(maps.Keys(k.InitPatches())) {
			files[path.Join(o.Environment, name)] = []byte(k.InitPatches()[name])
			patches = append(patches, "path: "+name+"\n  target:\n    kind: CustomResourceDefinition\n    name: "+k.Plural()+"."+k.GVK().Group)
		}
	}
	does := "opens gates"
	if len(o.Kinds.Gates()) == 0 {
		does = "writes statuses"
	}
	for folder, content := range map[string]string{
		"base/crds": "# The kinds, and what kustomize has to know of their fields.\n" + kustomization +
			list("resources", definitions) + list("configurations", configurations),
		"base": "# What every environment has: the kinds, and the controller, which " + does + ".\n" + kustomization +
			list("resources", []string{"crds", "gatehouse"}) + "images: # a digest keeps others from replacing what " + does + "\n" + image,
		o.Environment: "# What " + o.Environment + " has besides. A namespace: here would move the controller, too: write it in the\n# kustomization of a folder, and list that folder here.\n" + kustomization + o.annotation() + list("resources", []string{"../base"}) + list("patches", patches),
	} {
		files[folder+"/kustomization.yaml"] = []byte(content)
	}
	controller, err := controllerFiles(o.Kinds)
	for name, content := range controller {
		files[path.Join("base/gatehouse", name)] = content
	}
	return files, err
}

// annotation returns the metadata of the environment's kustomization, "" where it has none.
func (o Options) annotation() string {
	if o.Kubernetes == "" {
		return ""
	}
	return fmt.Sprintf("metadata:\n  annotations:\n    %s: %q # what its cluster runs\n", tree.KubernetesAnnotation, o.Kubernetes)
}

// gateFiles are the files of the controller with the policies on Pods that wait behind a gate.
var gateFiles = []string{"admission-policy.yaml", "gate-policy.yaml"}

// controllerFiles returns the files of the controller, by name. It leaves out those for gates where
// no kind has one: that controller may not change Pods at all.
func controllerFiles(kinds *registry.Kinds) (map[string][]byte, error) {
	files := map[string][]byte{}
	names, err := fs.Glob(gatehouse.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if files[name], err = gatehouse.Files.ReadFile(name); err != nil {
			return nil, err
		}
	}
	if len(kinds.Gates()) == 0 {
		ungated := []string{"# The controller: its namespace, its account and rights, the policies for it and for gates, and\n# its Deployment.\n", "# The controller: its namespace, its account and rights, and its Deployment.\n"}
		for _, name := range gateFiles {
			delete(files, name)
			ungated = append(ungated, "- "+name+"\n", "")
		}
		const kustomization = "kustomization.yaml"
		files[kustomization] = []byte(strings.NewReplacer(ungated...).Replace(string(files[kustomization])))
	}
	files["role.yaml"], err = rbac.Manifest(kinds)
	return files, err
}

// list returns a field of a kustomization that is a list, "" for none.
func list(field string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return field + ":\n- " + strings.Join(items, "\n- ") + "\n"
}

// The files for CI are complete for a repository whose top holds environments/.

//go:embed ci/github.yaml
var githubWorkflow string

//go:embed ci/gitlab.yml
var gitlabJobs string

// ciFile returns the file for CI, by its path from the top of the git repository. Prefix is the path
// from there to the folder that holds environments/.
func ciFile(ci, branch, prefix string) (name, content string) {
	name, content = ".github/workflows/gatehouse.yaml", githubWorkflow
	if ci == gitlab {
		name, content = ".gitlab/gatehouse.yml", gitlabJobs
	}
	root := manifest.Scalar(path.Join(".", prefix))
	return name, strings.NewReplacer("- main\n", "- "+manifest.Scalar(branch)+"\n", "ROOT: .\n", "ROOT: "+root+"\n",
		"root: .", "root: "+root, unsetAction, cmp.Or(Action, unsetAction)).Replace(content)
}

// Action is the action for GitHub of the same release. The linker of a release sets it:
// -X example.com/gatehouse/render/verbs/setup.Action=OWNER/REPOSITORY@TAG
var Action string

// unsetAction is what the workflow has in its place.
const unsetAction = "OWNER/gatehouse@VERSION"

// toSet returns what people have to set in a file for CI; empty for nothing.
func toSet(content string) string {
	switch {
	case strings.Contains(content, unsetAction):
		return unsetAction
	case strings.Contains(content, "RENDER_URL: \"\""):
		return "RENDER_URL and RENDER_SHA256"
	}
	return ""
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
