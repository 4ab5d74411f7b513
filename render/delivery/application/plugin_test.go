package application

import (
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/test/sources"
)

// As matchRepository of Argo CD: the first field of discover that is set counts, in the folder of the source.
func TestPluginsFindSourcesThatNameNoTool(t *testing.T) {
	const none = "kustomize"
	const found = "a plugin makes its objects: env, found by discover"
	const unsure = "a plugin may make its objects: env, by its command in discover"
	for name, test := range map[string]struct{ discover, fields, want string }{
		"no discover":             {"{}", "", none},
		"fileName":                {"{fileName: './kust*.yaml'}", "", found},
		"fileName below":          {"{fileName: 'b/*.yaml'}", "", found},
		"fileName without **":     {"{fileName: '**/kustomization.yaml'}", "", none},
		"a folder":                {"{fileName: 'b'}", "", found},
		"another fileName":        {"{fileName: env.yaml}", "", none},
		"fileName before glob":    {"{fileName: env.yaml, find: {glob: '**/*.yaml'}}", "", none},
		"glob":                    {"{find: {glob: '**/deep.yaml'}}", "", found},
		"glob at the top":         {"{find: {glob: '**/kustomization.yaml'}}", "", found},
		"glob elsewhere":          {"{find: {glob: '**/other.yaml'}}", "", none},
		"a command":               {"{find: {command: [sh, -c, 'grep -r avp .']}}", "", unsure},
		"a command with args":     {"{find: {command: [sh, -c], args: ['find . -maxdepth 1 -name deep.yaml']}}", "", none},
		"find at the top":         {"{find: {command: [sh, -c, 'find . -maxdepth 1 -name kustomization.yaml']}}", "", found},
		"find anywhere":           {"{find: {command: [find, ., -name, deep.yaml]}}", "", found},
		"find in quotes":          {`{find: {command: [bash, -c, "find . -type f -name 'deep.*'"]}}`, "", found},
		"two of find":             {`{find: {command: [sh, -c, "find . -name x && find . -name y"]}}`, "", unsure},
		"a source with a tool":    {"{fileName: kustomization.yaml}", ", kustomize: {namePrefix: x}", none},
		"a source with a plugin":  {"{fileName: kustomization.yaml}", ", plugin: {name: mill}", "a plugin makes its objects: mill"},
		"a source without a name": {"{fileName: kustomization.yaml}", ", plugin: {env: [{name: a, value: b}]}", "a plugin makes its objects"},
	} {
		const object = "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata: {name: env}\nspec: {discover: "
		for form, plugin := range map[string]string{
			"a file":      object + test.discover + "}\n",
			"a ConfigMap": "kind: ConfigMap\ndata:\n  plugin.yaml: |\n    kind: ConfigManagementPlugin\n    metadata: {name: env}\n    spec: {discover: " + test.discover + "}\n",
			"values":      "argo-cd:\n  configs:\n    cmp: {create: true, plugins: {env: {discover: " + test.discover + "}}}\n",
		} {
			tree, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- argocd/plugin.yaml --\n"+plugin+
				"-- a/kustomization.yaml --\n-- a/b/deep.yaml --\n")).Files)
			origin := Origin{Argo: func() Installation { return FindInstallation(tree) }}
			s, built, err := read(t, "", "{source: {path: a"+test.fields+"}}").Sources[0].Merge(files, origin)
			got := s.Maker
			if got == "" {
				got = string(built)
			}
			if got != test.want || err != nil {
				t.Errorf("%s in %s: %s %v, want %s", name, form, got, err, test.want)
			}
		}
	}
}
