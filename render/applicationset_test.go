package render

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

const setFiles = `
-- environments/prod/kustomization.yaml --
resources: []
-- apps/web/a.txt --
-- apps/Data_Base/a.txt --
-- apps/old/a.txt --
-- config/eu/prod.yaml --
region: {name: eu}
ports: [80, 81]
-- config/us/prod.yaml --
- {region: {name: us1}}
- {region: {name: us2}}
`

// Each ApplicationSet makes the Applications that the controller of Argo CD makes: their name, and one field.
func TestApplicationSetMakesApplications(t *testing.T) {
	repository, err := Open(write(t, setFiles), gatehouse.All())
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	for name, test := range map[string]struct{ spec, want string }{
		"list": {
			spec: `{generators: [{list: {elements: [{a: x, k: 1}, {a: z, k: true}]}}], template: {metadata: {name: "{{a}}-{{ k }}"}, spec: {project: "{{none}} $"}}}`,
			want: "x-1 {{none}} $, z-true {{none}} $",
		},
		"folders": {
			spec: `{generators: [{git: {directories: [{path: apps/*}, {path: apps/old, exclude: true}]}}], template: {metadata: {name: "{{path.basenameNormalized}}"}, spec: {project: "{{path[0]}} {{path}}"}}}`,
			want: "data-base apps apps/Data_Base, web apps apps/web",
		},
		"Go templates": {
			spec: `{goTemplate: true, generators: [{git: {directories: [{path: apps/web}]}}], template: {metadata: {name: "{{.path.basename | upper}}"}, spec: {project: "{{index .path.segments 0}}{{if .none}}x{{end}}"}}}`,
			want: "WEB apps",
		},
		"files": {
			spec: `{generators: [{git: {files: [{path: "config/**/prod.yaml"}]}}], template: {metadata: {name: "{{region.name}}"}, spec: {project: "{{path}} {{path.filename}}"}}}`,
			want: "eu config/eu prod.yaml, us1 config/us prod.yaml, us2 config/us prod.yaml",
		},
		"a matrix, whose second part takes the first": {
			spec: `{goTemplate: true, generators: [{matrix: {generators: [{list: {elements: [{r: eu}, {r: us}]}}, {git: {files: [{path: "config/{{.r}}/*.yaml"}]}}]}}], template: {metadata: {name: "{{.region.name}}"}, spec: {project: "{{.r}}"}}}`,
			want: "eu eu, us1 us, us2 us",
		},
		"a missing key":      {spec: `{goTemplate: true, goTemplateOptions: [missingkey=error], generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: "{{.b}}"}}}`, want: "error: spec.template"},
		"no environment":     {spec: `{goTemplate: true, generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: '{{env "HOME"}}'}}}`, want: "error: spec.template"},
		"other repository":   {spec: `{generators: [{git: {directories: [{path: none/*}]}}], template: {metadata: {name: x}}}`, want: "error: no folder of this repository matches none/*"},
		"clusters":           {spec: `{generators: [{clusters: {}}], template: {metadata: {name: x}}}`, want: "error: a generator other than"},
		"a patch":            {spec: `{generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: x}}, templatePatch: "{}"}`, want: "error: spec.templatePatch"},
		"too many":           {spec: `{generators: [{list: {elements: [` + strings.Repeat("{},", 1001) + `]}}], template: {metadata: {name: x}}}`, want: "error: over 1000"},
		"a name of a number": {spec: `{generators: [{list: {elements: [{}]}}], template: {metadata: {name: 1}}}`, want: "error: spec.template.metadata.name"},
	} {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		content := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec: " + test.spec
		if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got string
		f, err := (&input{}).expandSet(repository, repository.fileSystem(), o)
		if err != nil {
			got = "error: " + err.Error()
		} else {
			var all []string
			for _, made := range f.built {
				project, _ := made.Object["spec"].(map[string]any)["project"].(string)
				all = append(all, made.GetName()+" "+project)
			}
			got = strings.Join(all, ", ")
		}
		if got != test.want && (!strings.HasPrefix(test.want, "error: ") || !strings.HasPrefix(got, test.want)) {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}
