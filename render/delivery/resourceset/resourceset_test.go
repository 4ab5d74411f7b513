package resourceset

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// world has the objects beside a ResourceSet.
type world []manifest.Object

func (w world) Find(id manifest.ID) (manifest.Object, bool) {
	for _, o := range w {
		if o.ID() == id {
			return o, true
		}
	}
	return manifest.Object{}, false
}

func (w world) Providers() (all []manifest.Object) {
	for _, o := range w {
		if IsProvider(o) {
			all = append(all, o)
		}
	}
	return all
}

func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return manifest.Object{Unstructured: u, Written: u}
}

const configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: "%s", namespace: a}, data: {v: "=%s"}}`

// flux-operator makes these objects of these specs, by the tests in its internal/builder and internal/inputs.
func TestResourceSetMakesObjects(t *testing.T) {
	static := `{apiVersion: fluxcd.controlplane.io/v1, kind: ResourceSetInputProvider, metadata: {name: My-Team, ` +
		`namespace: a, labels: {team: x}}, spec: {type: Static, defaultValues: {app: web}}}`
	pulls := `{apiVersion: fluxcd.controlplane.io/v1, kind: ResourceSetInputProvider, metadata: {name: pulls, ` +
		`namespace: a, labels: {team: x}}, spec: {type: GitHubPullRequest, url: "https://github.com/a/b"}}`
	for name, test := range map[string]struct {
		spec, want string
		world      []string
	}{
		"without inputs": {spec: `resources: [` + fmt.Sprintf(configMap, "one", "<< 1 >>") + `]`, want: "one=1"},
		"an object for each input": {spec: `inputs: [{of: x, v: "2"}, {of: z, v: "3"}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.of >>", "<< inputs.v | int | add 1 >>") + `]`, want: "x=3 z=4"},
		"the first object of a name": {spec: `inputs: [{v: "2"}, {v: "3"}]
resources: [` + fmt.Sprintf(configMap, "one", "<< inputs.v >>") + `]
resourcesTemplate: '` + fmt.Sprintf(configMap, "one", "4") + `'`, want: "one=2"},
		"a missing key": {spec: `inputs: [{v: "2"}]
resources: [` + fmt.Sprintf(configMap, "one", "<< inputs.w >>") + `]`,
			want: `error: spec.resources[0]: Invalid value: template: resourceset:3:9: executing "resourceset" at ` +
				`<inputs>: map has no entry for key "w"`},
		"without a function that asks the clock": {spec: `resources: [` + fmt.Sprintf(configMap, "one", "<< now >>") +
			`]`, want: `error: spec.resources[0]: Invalid value: template: resourceset:3: function "now" not defined`},
		"without the options of other tools": {spec: `resources: [` + fmt.Sprintf(configMap, "one",
			"<< 3 | until | len >> {{ .x }}") + `]`, want: "one=3 {{ .x }}"},
		"several documents": {spec: `inputs: [{apps: [x, z], isOn: true}]
resourcesTemplate: |
  <<- range $app := inputs.apps >>
  ---
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: << $app >>, namespace: a}
  data: {v: "<< ternary "on" "off" inputs.isOn >>"}
  <<- end >>`, want: "xon zon"},
		"but excluded ones": {spec: `inputs: [{of: x, is: enabled}, {of: z, is: disabled}]
resourcesTemplate: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: << inputs.of >>, annotations: {fluxcd.controlplane.io/reconcile: << inputs.is >>}}`, want: "x"},
		"nested inputs as YAML": {spec: `inputs: [{foo: {v: k}}]
resourcesTemplate: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: one}
  data: << inputs.foo | toYaml | nindent 4 >>`, want: "onek"},
		"slugs": {spec: `inputs: [{v: ">=1.0.0-rc.0"}, {v: "A & B's_c"}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.v | slugify >>", "") + `]`, want: "1-0-0-rc-0= a-and-bs_c="},
		"a slug of other letters": {spec: `inputs: [{v: "Zürich"}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.v | slugify >>", "") + `]`,
			want: "unknown: spec.resources[0]: template: resourceset:6:22: executing \"resourceset\" at <slugify>: " +
				"error calling slugify: slugify of a text with other letters than English ones"},
		"steps": {spec: `steps:
- {name: first, resources: [` + fmt.Sprintf(configMap, "x", "1") + `]}
- {name: second, resourcesTemplate: '` + fmt.Sprintf(configMap, "z", "2") + `'}`, want: "x=1 z=2"},
		"an object in two steps": {spec: `steps:
- {name: first, resources: [` + fmt.Sprintf(configMap, "x", "1") + `]}
- {name: second, resourcesTemplate: '` + fmt.Sprintf(configMap, "x", "2") + `'}`,
			want: `error: spec.steps[1]: Invalid value: step "first" has ConfigMap a/x as well: flux-operator refuses ` +
				`the ResourceSet; remove one`},
		"inputs of a provider": {spec: `inputs: [{app: api}]
inputsFrom: [{name: My-Team}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.app >>", "<< inputs.provider.name >>") + `]`,
			world: []string{static}, want: "api=set web=My-Team"},
		"providers by their labels": {spec: `inputsFrom: [{selector: {matchLabels: {team: x}}}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.app >>", "") + `]`, world: []string{pulls, static},
			want: "web= (inputs: ResourceSetInputProvider a/pulls asks GitHubPullRequest)"},
		"the UID of a provider": {spec: `inputsFrom: [{name: My-Team}]
resources: [` + fmt.Sprintf(configMap, "x", "<< inputs.id >>") + `]`, world: []string{static},
			want: "unknown: inputs: id of a ResourceSetInputProvider is made of its UID"},
		"a provider that is not here": {spec: `inputsFrom: [{name: other}]
resources: [` + fmt.Sprintf(configMap, "x", "<< inputs.app >>") + `]`,
			want: " (inputs: ResourceSetInputProvider other is not here)"},
		"permutations": {spec: `inputStrategy: {name: Permute}
inputs: [{of: x}, {of: z}]
inputsFrom: [{name: My-Team}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.set.of >>", "<< inputs.my_team.app >> << inputs.id >>") + `]`,
			world: []string{static}, want: "x=web 726926658 z=web 727647555"},
		"permutations with an unknown part": {spec: `inputStrategy: {name: Permute}
inputs: [{of: x}]
inputsFrom: [{name: pulls}]
resources: [` + fmt.Sprintf(configMap, "<< inputs.set.of >>", "") + `]`, world: []string{pulls},
			want: " (inputs: ResourceSetInputProvider a/pulls asks GitHubPullRequest)"},
		"a copy of known content": {spec: `resources:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: {fluxcd.controlplane.io/copyFrom: a/from}}}`,
			world: []string{fmt.Sprintf(configMap, "from", "7")}, want: "x=7"},
		"a copy of unknown content": {spec: `resources:
- {apiVersion: v1, kind: Secret, metadata: {name: x, annotations: {fluxcd.controlplane.io/copyFrom: a/from}}}
- ` + fmt.Sprintf(configMap, "z", ""), want: "z= (copied from the cluster: Secret x of a/from)"},
		"common metadata": {spec: `commonMetadata: {labels: {v: "8"}}
resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {v: "1"}}}]`, want: "x8"},
	} {
		t.Run(name, func(t *testing.T) {
			set := object(t, "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: set, "+
				"namespace: a}\nspec:\n  "+strings.ReplaceAll(test.spec, "\n", "\n  "))
			var beside world
			for _, text := range test.world {
				beside = append(beside, object(t, text))
			}
			if got := describe(Expand(set, beside)); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// describe returns the names and the values of objects, and the unknown.
func describe(made Made, err error) string {
	if refused := new(field.Error); errors.As(err, &refused) {
		return "error: " + err.Error()
	} else if err != nil {
		return "unknown: " + err.Error()
	}
	var all []string
	for _, o := range made.Objects {
		value, isThere, _ := unstructured.NestedString(o.Object, "data", "v")
		if !isThere {
			value = o.GetLabels()["v"]
		}
		all = append(all, o.GetName()+value)
	}
	text := strings.Join(all, " ")
	if len(made.Unknown) > 0 {
		text += " (" + strings.Join(made.Unknown, ", ") + ")"
	}
	return text
}
