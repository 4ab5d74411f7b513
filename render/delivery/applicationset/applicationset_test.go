package applicationset

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

const setFiles = `
-- environments/prod/kustomization.yaml --
resources: []
-- apps/web/a.txt --
-- apps/Data__Base/a.txt --
-- apps/old/a.txt --
-- config/eu/prod.yaml --
region: {name: eu}
ports: [80, 81]
-- config/us/prod.yaml --
- {region: {name: us1}}
- {region: {name: us2}}
`

// archive has files of a repository by name.
type archive map[string][]byte

func filesOf(text string) archive {
	a := archive{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		a[f.Name] = f.Data
	}
	return a
}

func (a archive) ReadFile(name string) ([]byte, error) { return a[name], nil }

func (a archive) Below(folder string) (files []string) {
	for name := range a {
		if folder == "." || strings.HasPrefix(name, folder+"/") {
			files = append(files, name)
		}
	}
	return files
}

// Each ApplicationSet makes the Applications that the controller of Argo CD makes: their name, and one field.
func TestApplicationSetMakesApplications(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"list": {
			spec: `{generators: [{list: {elements: [{a: x, k: "1"}, {a: z, k: "true"}]}}], template: {metadata: {name: "{{a}}-{{ k }}"}, spec: {project: "{{none}} $"}}}`,
			want: "x-1 {{none}} $, z-true {{none}} $",
		},
		"folders": {
			spec: `{generators: [{git: {directories: [{path: apps/*}, {path: apps/old, exclude: true}]}}], template: {metadata: {name: "{{path.basenameNormalized}}"}, spec: {project: "{{path[0]}} {{path}}"}}}`,
			want: "data--base apps apps/Data__Base, web apps apps/web",
		},
		"Go templates": {
			spec: `{goTemplate: true, generators: [{git: {directories: [{path: apps/web}]}}], template: {metadata: {name: "{{.path.basename | upper}}"}, spec: {project: "{{index .path.segments 0}}{{if .none}}x{{end}}"}}}`,
			want: "WEB apps",
		},
		"files": {
			spec: `{generators: [{git: {files: [{path: "config/**/prod.yaml"}]}}], template: {metadata: {name: "{{region.name}}"}, spec: {project: "{{path}} {{path.filename}}"}}}`,
			want: "eu config/eu prod.yaml, us1 config/us prod.yaml, us2 config/us prod.yaml",
		},
		"files, but for some": {
			spec: `{generators: [{git: {files: [{path: "config/**/prod.yaml"}, {path: "config/us/*", exclude: true}]}}], template: {metadata: {name: "{{region.name}}"}, spec: {project: "{{path.filenameNormalized}}"}}}`,
			want: "eu prod.yaml",
		},
		"a matrix, whose second part takes the first": {
			spec: `{goTemplate: true, generators: [{matrix: {generators: [{list: {elements: [{r: eu}, {r: us}]}}, {git: {files: [{path: "config/{{.r}}/*.yaml"}]}}]}}], template: {metadata: {name: "{{.region.name}}"}, spec: {project: "{{.r}}"}}}`,
			want: "eu eu, us1 us, us2 us",
		},
		"a missing key":     {spec: `{goTemplate: true, goTemplateOptions: [missingkey=error], generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: "{{.b}}"}}}`, want: "error: spec.template"},
		"an unknown option": {spec: `{goTemplate: true, goTemplateOptions: [missingkey=error, missingkey=eror], generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: "{{.a}}"}}}`, want: `error: spec.goTemplateOptions[1]: Unsupported value: "missingkey=eror": supported values: "missingkey=default"`},
		"an unknown option, which no Go template reads": {spec: `{goTemplateOptions: [missingkey=eror], generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: "{{a}}"}, spec: {project: p}}}`, want: "x p"},
		"a growing Go template":                         {spec: `{goTemplate: true, generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: '{{ repeat 10000000000000 "x" | len }}'}}}`, want: "error: spec.template.metadata.name: template: :1:3: executing"},
		"a growing template":                            {spec: `{generators: [{list: {elements: [{a: ` + strings.Repeat("x", 10_000) + `}]}}], template: {metadata: {name: "` + strings.Repeat("{{a}}", 10_000) + `"}}}`, want: "error: spec.template.metadata.name: makes over 32 MiB"},
		"a clock":                                       {spec: `{goTemplate: true, generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: '{{ now | date "2006" }}'}}}`, want: "error: spec.template.metadata.name: now makes another value on each run"},
		"YAML in a parameter":                           {spec: `{goTemplate: true, generators: [{list: {elements: [{a: "b: [x, z]", c: "[q]"}]}}], template: {metadata: {name: "{{index (fromYaml .a).b 1}}"}, spec: {project: "{{first (fromYamlArray .c)}} {{toYaml (list 1)}}"}}}`, want: "z q - 1"},
		"no environment":                                {spec: `{goTemplate: true, generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: '{{env "HOME"}}'}}}`, want: "error: spec.template"},
		"other repository":                              {spec: `{generators: [{git: {directories: [{path: none/*}]}}], template: {metadata: {name: x}}}`, want: "error: no folder of this repository matches none/*"},
		"clusters":                                      {spec: `{generators: [{clusters: {}}], template: {metadata: {name: x}}}`, want: "error: no Secret of the environment lists its clusters"},
		"another":                                       {spec: `{generators: [{scmProvider: {}}], template: {metadata: {name: x}}}`, want: "error: a generator is none of"},
		"an own template, above the other one":          {spec: `{generators: [{list: {elements: [{a: x}], template: {metadata: {name: "own-{{a}}"}, spec: {project: ""}}}}], template: {metadata: {name: x, labels: {a: b}}, spec: {project: "p-{{a}}"}}}`, want: "own-x p-x"},
		"a matrix, without the templates of its generators": {spec: `{generators: [{matrix: {generators: [{list: {elements: [{a: x}], template: {metadata: {name: y}}}}, {list: {elements: [{b: z}]}}]}}], template: {metadata: {name: "{{a}}"}, spec: {project: "{{b}}"}}}`, want: "x z"},
		"a selector": {spec: `{generators: [{list: {elements: [{a: x}, {a: z}]}, selector: {matchLabels: {a: z}}}], template: {metadata: {name: "{{a}}"}, spec: {project: p}}}`, want: "z p"},
		"values":     {spec: `{generators: [{git: {directories: [{path: apps/web}], values: {at: "{{path.basename}}-1"}}}], template: {metadata: {name: x}, spec: {project: "{{values.at}}"}}}`, want: "x web-1"},
		"a patch, which keeps the project": {
			spec: `{goTemplate: true, generators: [{list: {elements: [{a: x}, {a: z}]}}], template: {metadata: {name: "{{.a}}"}, spec: {project: p}}, templatePatch: "metadata: {name: {{.a}}{{if eq .a \"z\"}}-more{{end}}}\nspec: {project: other}"}`,
			want: "x p, z-more p"},
		"a Go template that is none": {spec: `{generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: "web-{{ .a }}"}}}`, want: "error: spec.template.metadata.name: Invalid value: \"web-{{ .a }}\": {{ .a }} is of a Go template, and no Application can have this name: set spec.goTemplate: true, or write {{a}}"},
		"a wrong patch":              {spec: `{generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: x}}, templatePatch: "["}`, want: "error: spec.templatePatch"},
		"merge": {
			spec: `{generators: [{merge: {mergeKeys: [a], generators: [{list: {elements: [{a: x, b: "1", c: "1"}, {a: z, b: "2"}]}}, {list: {elements: [{a: x, b: "3"}, {a: q, b: "4"}]}}]}}], template: {metadata: {name: "{{a}}"}, spec: {project: "{{b}}{{c}}"}}}`,
			want: "x 31, z 2{{c}}"},
		"merge of Go templates": {
			spec: `{goTemplate: true, generators: [{merge: {mergeKeys: [a], generators: [{list: {elements: [{a: x, b: {c: "1", d: "2"}}]}}, {list: {elements: [{a: x, b: {c: "3", d: ""}}]}}]}}], template: {metadata: {name: "{{.a}}"}, spec: {project: "{{.b.c}}{{.b.d}}"}}}`,
			want: "x 3"},
		"a repeated key of merge": {
			spec: `{generators: [{merge: {mergeKeys: [a], generators: [{list: {elements: [{a: x}, {a: x}]}}, {list: {elements: []}}]}}], template: {metadata: {name: x}}}`,
			want: "error: spec.generators[0].merge.generators[0]: Invalid value"},
		"too many":           {spec: `{generators: [{list: {elements: [` + strings.Repeat("{},", 1001) + `]}}], template: {metadata: {name: x}}}`, want: "error: it makes over 1000"},
		"a name of a number": {spec: `{generators: [{list: {elements: [{}]}}], template: {metadata: {name: 1}}}`, want: "error: spec.template.metadata.name"},
	} {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		content := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec: " + test.spec
		if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got string
		applications, err := Expand(o, filesOf(setFiles), Known{})
		if err != nil {
			got = "error: " + err.Error()
		} else {
			var all []string
			for _, made := range applications {
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

// The clusters of an ApplicationSet are those that Secrets of the environment register, and the one of Argo CD itself.
func TestApplicationSetOfClusters(t *testing.T) {
	secret := func(name, data string, labels ...string) manifest.Object {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		content := "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", labels: {argocd.argoproj.io/secret-type: cluster, " +
			strings.Join(labels, ", ") + "}}\n" + data
		if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	east := secret("east", "stringData: {name: East_1, server: 'https://east'}", "env: prod")
	west := secret("west", "data: {name: d2VzdA==, server: aHR0cHM6Ly93ZXN0}", "env: dev")
	own := secret("own", "stringData: {name: own, server: 'https://kubernetes.default.svc', project: p}")
	name := map[bool]string{false: "x{{name}}", true: "x{{.name}}"}
	for _, test := range []struct {
		clusters            []manifest.Object
		generator, template string
		isGo                bool
		want                string
	}{
		{[]manifest.Object{east, west}, "{}", "{{nameNormalized}} {{server}} {{metadata.labels.env}}", false,
			"east-1 https://east prod, west https://west dev, in-cluster https://kubernetes.default.svc {{metadata.labels.env}}"},
		{[]manifest.Object{east, west}, "{selector: {matchLabels: {env: dev}}, values: {a: '{{.name}}!'}}", "{{.name}} {{.metadata.labels.env}} {{.values.a}}", true,
			"west dev west!"},
		{[]manifest.Object{own}, "{}", "{{name}} {{project}}", false, "own p"},
		{[]manifest.Object{east, own}, "{flatList: true}", "{{len .clusters}}{{range .clusters}} {{.name}}{{end}}", true, "2 East_1 own"},
		{[]manifest.Object{secret("x", "stringData: {name: 'ENC[AES]', server: y}")}, "{}", "x", false, "error: the values of Secret x"},
	} {
		o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
		content := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\n"+
			"spec: {goTemplate: %t, generators: [{clusters: %s}], template: {metadata: {name: %q}, spec: {project: %q}}}", test.isGo, test.generator, name[test.isGo], test.template)
		if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
			t.Fatal(err)
		}
		var all []string
		applications, err := Expand(o, nil, Known{Clusters: test.clusters})
		if err != nil {
			all = append(all, "error: "+err.Error())
		} else {
			for _, made := range applications {
				project, _ := made.Object["spec"].(map[string]any)["project"].(string)
				all = append(all, project)
			}
		}
		if got := strings.Join(all, ", "); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s\nwant %s", test.generator, got, test.want)
		}
	}
}
