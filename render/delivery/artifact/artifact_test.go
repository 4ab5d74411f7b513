package artifact

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// source-watcher makes these artifacts of these files, by the tests in its internal/builder and internal/controller:
// each file is named with the files that it is made of, or with its content.
func TestArtifactHasFiles(t *testing.T) {
	const files = "app.yaml apps/Web/envs/prod/a.yaml apps/Web/envs/prod/.hidden apps/api/envs/prod/a.yaml README.md " +
		"infra/a.yaml infra/README.md infra/db/b.yaml infra/db/tests/c.yaml values.yaml prod.yaml"
	content := map[string]string{
		"values.yaml": "a: {x: 1, z: 1}\nlist: [1, 2]\n",
		"prod.yaml":   "a: {z: 2}\n---\nlist: [3]\n",
		"app.yaml":    "- a list",
	}
	for name, test := range map[string]struct{ pattern, copy, want string }{
		"a file to a folder":                             {copy: `[{from: "@s/app.yaml", to: "@artifact/"}]`, want: "app.yaml"},
		"a file to a name":                               {copy: `[{from: "@s/app.yaml", to: "@artifact/x/y"}]`, want: "x/y<app.yaml"},
		"a file to a folder of files":                    {copy: `[{from: "@s/infra", to: "@artifact/"}, {from: "@s/app.yaml", to: "@artifact/infra/db"}]`, want: "infra/README.md infra/a.yaml infra/db/app.yaml<app.yaml infra/db/b.yaml infra/db/tests/c.yaml"},
		"a folder to a folder":                           {copy: `[{from: "@s/infra/db/", to: "@artifact/x/"}]`, want: "x/db/b.yaml<infra/db/b.yaml x/db/tests/c.yaml<infra/db/tests/c.yaml"},
		"what is below a folder":                         {copy: `[{from: "@s/infra/db/**", to: "@artifact/x"}]`, want: "x/b.yaml<infra/db/b.yaml x/tests/c.yaml<infra/db/tests/c.yaml"},
		"a star of one folder":                           {copy: `[{from: "@s/*/*.yaml", to: "@artifact/"}]`, want: "infra/a.yaml"},
		"a later file of a path":                         {copy: `[{from: "@s/infra/**", to: "@artifact/"}, {from: "@s/app.yaml", to: "@artifact/a.yaml"}]`, want: "README.md<infra/README.md a.yaml<app.yaml db/b.yaml<infra/db/b.yaml db/tests/c.yaml<infra/db/tests/c.yaml"},
		"without a name at any depth":                    {copy: `[{from: "@s/infra/**", to: "@artifact/", exclude: ["*.md", "**/tests/**"]}]`, want: "a.yaml<infra/a.yaml db/b.yaml<infra/db/b.yaml"},
		"without a path of the source, or of the folder": {copy: `[{from: "@s/infra/**", to: "@artifact/", exclude: [infra/db/**, a.yaml]}]`, want: "README.md<infra/README.md"},
		"without a path of neither":                      {copy: `[{from: "@s/infra/**", to: "@artifact/", exclude: ["tests/**", "*.md"]}]`, want: "a.yaml<infra/a.yaml db/b.yaml<infra/db/b.yaml db/tests/c.yaml<infra/db/tests/c.yaml"},
		"merged values":                                  {copy: `[{from: "@s/values.yaml", to: "@artifact/"}, {from: "@s/prod.yaml", to: "@artifact/values.yaml", strategy: Merge}]`, want: "values.yaml={a: {x: 1, z: 2}, list: [3]}"},
		"values over nothing":                            {copy: `[{from: "@s/prod.yaml", to: "@artifact/", strategy: Merge}]`, want: "prod.yaml"},
		"values that are none":                           {copy: `[{from: "@s/values.yaml", to: "@artifact/a"}, {from: "@s/app.yaml", to: "@artifact/a", strategy: Merge}]`, want: "error: spec.artifacts[0].copy[1]: strategy: app.yaml is merged and no YAML"},
		"an archive":                                     {copy: `[{from: "@s/a.tgz", to: "@artifact/", strategy: Extract}]`, want: "unknown: spec.artifacts: what an archive has is not known"},
		"no such file":                                   {copy: `[{from: "@s/ap.yaml", to: "@artifact/"}]`, want: "error: spec.artifacts[0].copy[0]: from: the source has no ap.yaml"},
		"no match":                                       {copy: `[{from: "@s/x/**", to: "@artifact/"}]`, want: "error: spec.artifacts[0].copy[0]: from: no file of the source matches x/**"},
		"only excluded files":                            {copy: `[{from: "@s/*.md", to: "@artifact/", exclude: ["*.md"]}]`, want: "error: spec.artifacts[0].copy[0]: exclude: leaves no file of *.md"},
		"no pattern":                                     {copy: `[{from: "@s/*.md", to: "@artifact/", exclude: ["[*.md"]}]`, want: "error: spec.artifacts[0].copy[0]: exclude[0]: [*.md is no pattern"},
		"no source":                                      {copy: `[{from: "@o/*.md", to: "@artifact/"}]`, want: "error: spec.artifacts[0].copy[0]: from: no source has the alias o"},
		"out of the artifact":                            {copy: `[{from: "@s/app.yaml", to: "@artifact/../"}]`, want: "error: spec.artifacts[0].copy[0]: to: .. leads out of the artifact"},
		"an artifact for each folder": {pattern: "@s/apps/{app}/envs/{env}", copy: `[{from: "@s/apps/{app}/envs/{env}/**", to: "@artifact/{env}/", exclude: [".*"]}]`,
			want: "web-prod: prod/a.yaml<apps/Web/envs/prod/a.yaml; api-prod: prod/a.yaml<apps/api/envs/prod/a.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := Files{}
			for file := range strings.FieldsSeq(files) {
				whole[file] = source.Link{From: []string{file}}
			}
			artifact := "one"
			if test.pattern != "" {
				artifact = "{app}-{env}"
			}
			u := &unstructured.Unstructured{}
			spec := fmt.Sprintf("spec: {sources: [{alias: s, kind: GitRepository, name: r}], pathPattern: %q, "+
				"artifacts: [{name: %q, copy: %s}]}", test.pattern, artifact, test.copy)
			if err := yaml.Unmarshal([]byte(spec), &u.Object); err != nil {
				t.Fatal(err)
			}
			made, err := Generate(manifest.Object{Unstructured: u},
				func(manifest.ID, []string) (Files, error) { return whole, nil },
				func(name string) ([]byte, error) { return []byte(content[name]), nil })
			if got := describe(made, err); got != test.want && (err == nil || !strings.HasPrefix(got, test.want)) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

func describe(made map[string]Files, err error) string {
	if refused := new(field.Error); errors.As(err, &refused) {
		return "error: " + strings.Replace(err.Error(), "Invalid value: ", "", 1)
	} else if err != nil {
		return "unknown: " + err.Error()
	}
	var artifacts []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(made))) {
		var files []string
		for _, file := range slices.Sorted(maps.Keys(made[name])) {
			link := made[name][file]
			var value map[string]any
			_ = yaml.Unmarshal(link.Content, &value)
			switch {
			case link.Content != nil:
				file += "=" + strings.ReplaceAll(fmt.Sprint(value), "map[a:map[x:1 z:2] list:[3]]",
					"{a: {x: 1, z: 2}, list: [3]}")
			case file != link.From[0]:
				file += "<" + link.From[0]
			}
			files = append(files, file)
		}
		text := strings.Join(files, " ")
		if len(made) > 1 {
			text = name + ": " + text
		}
		artifacts = append(artifacts, text)
	}
	return strings.Join(artifacts, "; ")
}

// An artifact has one root if its files are at the same paths in one folder of the repository.
func TestRootHasFilesAtTheSamePaths(t *testing.T) {
	for _, test := range []struct {
		files, want string
	}{
		{"base/a<apps/base/a prod/b<apps/prod/b", "/apps"},
		{"base/a<base/a", "/"},
		{"base/a<apps/base/a prod/b<prod/b", ""},
		{"base/a<apps/base/b", ""},
	} {
		files := Files{}
		for file := range strings.FieldsSeq(test.files) {
			name, from, _ := strings.Cut(file, "<")
			files[name] = source.Link{From: []string{from}}
		}
		if root, isOne := files.Root(); root != test.want || isOne != (test.want != "") {
			t.Errorf("%s: got %q, %t", test.files, root, isOne)
		}
	}
}
