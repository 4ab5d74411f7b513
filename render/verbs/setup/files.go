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

// environmentFiles returns the files of environments/ by their paths from there. image is the entry for the
// controller's image in a kustomization.
func environmentFiles(o Options, image string) (map[string][]byte, error) {
	files := map[string][]byte{}
	var definitions, configurations, patches []string
	for i := range o.Kinds.All {
		k := &o.Kinds.All[i]
		add := func(list []string, name string, content []byte) []string {
			name = path.Join("base/crds", name)
			if files[name] == nil { // versions of a kind share one
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
			patches = append(patches, "path: "+name+"\n  target:\n    kind: CustomResourceDefinition\n    name: "+
				k.Plural()+"."+k.GVK().Group)
		}
	}
	does := "opens gates"
	if len(o.Kinds.Gates()) == 0 {
		does = "writes statuses"
	}
	for folder, content := range map[string]string{
		"base/crds": "# The CustomResourceDefinitions, and their fields for the transformers of kustomize.\n" +
			kustomization +
			listField("resources", definitions) + listField("configurations", configurations),
		"base": "# The common part of all environments: the kinds, and the controller that " + does + ".\n" +
			kustomization +
			listField("resources", []string{"crds", "gatehouse"}) +
			"images: # a digest pins the image of the controller\n" + image,
		o.Environment: "# The environment " + o.Environment +
			". A namespace: here would also move the controller: put it into the\n# kustomization.yaml of a " +
			"subfolder, and list the subfolder here.\n" + o.header(nil) +
			listField("resources", []string{"../base"}) + listField("patches", patches),
	} {
		files[folder+"/kustomization.yaml"] = []byte(content)
	}
	controller, err := controllerFiles(o.Kinds)
	for name, content := range controller {
		files[path.Join("base/gatehouse", name)] = content
	}
	return files, err
}

// header returns the beginning of an environment's kustomization, with the annotations that are not empty.
func (o Options) header(annotations map[string]string) string {
	metadata := ""
	if o.Kubernetes != "" {
		metadata = fmt.Sprintf("    %s: %q # the version of its cluster\n", tree.KubernetesAnnotation, o.Kubernetes)
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if value := annotations[name]; value != "" && (name != tree.KubernetesAnnotation || o.Kubernetes == "") {
			metadata += fmt.Sprintf("    %s: %s\n", name, manifest.Scalar(value))
		}
	}
	if metadata != "" {
		metadata = "metadata:\n  annotations:\n" + metadata
	}
	return kustomization + metadata
}

// gateFiles are the files of the controller with policies for gated Pods.
var gateFiles = []string{"admission-policy.yaml", "gate-policy.yaml"}

// controllerFiles returns the files of the controller by name. Without gated kinds it leaves out the
// policies for gates: that controller may not change Pods.
func controllerFiles(kinds *registry.Kinds) (map[string][]byte, error) {
	files := map[string][]byte{}
	names, _ := fs.Glob(gatehouse.Files, "*.yaml") // the program has its files
	for _, name := range names {
		files[name], _ = gatehouse.Files.ReadFile(name)
	}
	if len(kinds.Gates()) == 0 {
		const kustomization = "kustomization.yaml"
		text := strings.Replace(string(files[kustomization]), "rights, the policies for it and for gates, and\n# its "+
			"Deployment.\n", "rights, and its Deployment.\n", 1)
		for _, name := range gateFiles {
			delete(files, name)
			text = strings.Replace(text, "- "+name+"\n", "", 1)
		}
		files[kustomization] = []byte(text)
	}
	role, err := rbac.Manifest(kinds)
	files["role.yaml"] = role
	return files, err
}

// listField returns a list field of a kustomization, or nothing for an empty list.
func listField(field string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return field + ":\n- " + strings.Join(items, "\n- ") + "\n"
}

// The CI files fit a repository with environments/ at its top. ciFile adapts them to others.

//go:embed ci/github.yaml
var githubWorkflow string

//go:embed ci/gitlab.yml
var gitlabJobs string

// ciFile returns the path and content of the CI file. prefix is the path from the top of the git repository
// to the folder with environments/.
func ciFile(ci, branch, prefix string) (name, content string) {
	name = ".github/workflows/gatehouse.yaml"
	content = githubWorkflow
	if ci == gitlab {
		name = ".gitlab/gatehouse.yml"
		content = gitlabJobs
	}
	root := manifest.Scalar(path.Join(".", prefix))
	return name, strings.NewReplacer("- main\n", "- "+manifest.Scalar(branch)+"\n", "ROOT: .\n", "ROOT: "+root+"\n",
		"root: .", "root: "+root, unsetAction, cmp.Or(Action, unsetAction)).Replace(content)
}

// Agents is a file for coding agents: the commands, the exit codes, and the form of a problem.
//
//go:embed agents.md
var Agents string

// Action is the GitHub action of the same release, set by the linker:
// -X example.com/gatehouse/render/verbs/setup.Action=OWNER/REPOSITORY@TAG
var Action string

// unsetAction is the placeholder for Action in the workflow.
const unsetAction = "OWNER/gatehouse@VERSION"

// placeholders names the values that users must set in a CI file, if there are any.
func placeholders(content string) string {
	switch {
	case strings.Contains(content, unsetAction):
		return unsetAction
	case strings.Contains(content, "RENDER_URL: \"\""):
		return "RENDER_URL and RENDER_SHA256"
	}
	return ""
}

// gitlabCI is the CI file of GitLab, and gitlabInclude the content of a new one.
const (
	gitlabCI      = ".gitlab-ci.yml"
	gitlabInclude = "include:\n- local: .gitlab/gatehouse.yml\n"
)

const attributesFile = ".gitattributes"

// renderedAttributes are the lines of .gitattributes for source files and rendered files: git keeps their line ends,
// which generated objects depend on, and hosts fold rendered files in diffs.
const renderedAttributes = "environments/** text=auto eol=lf\n" +
	"rendered/** linguist-generated=true gitlab-generated text eol=lf\n"

// hasAttributes matches a .gitattributes with a line for rendered files.
var hasAttributes = regexp.MustCompile(`(?m)^rendered/\*\*[ \t]`)

// addAttributes adds renderedAttributes to the content of a .gitattributes, unless it has a line for
// rendered files.
func addAttributes(content []byte) []byte {
	if hasAttributes.Match(content) {
		return content
	}
	added := bytes.Clone(content)
	if len(added) > 0 && !bytes.HasSuffix(added, []byte("\n")) {
		added = append(added, '\n')
	}
	return append(added, renderedAttributes...)
}
