package charts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// values returns the values of an entry, merged as kustomize and then Helm merge them.
func (e Entry) values(files Files, c *loaded) (values map[string]any, found []manifest.Problem) {
	wrong := func(err error, keys ...string) (map[string]any, []manifest.Problem) {
		return nil, []manifest.Problem{{File: e.File, Line: e.Line(keys...), Message: strings.Join(keys, ".") + ": " + err.Error()}}
	}
	if e.Installed != nil {
		values, err := e.Installed.Values(c.readFile)
		if err != nil {
			return wrong(err, "valuesInline")
		}
		return values, nil
	}
	first := c.values
	if e.ValuesFile != "" {
		content, err := files.ReadFile(path.Join(e.Folder, e.ValuesFile))
		if err != nil {
			return wrong(err, "valuesFile")
		}
		first = content
	}
	if len(e.ValuesInline) > 0 {
		inline, err := e.mergeInline(first)
		if err != nil {
			return wrong(err, "valuesInline")
		}
		first = inline
	}
	values, err := loader.LoadValues(bytes.NewReader(first))
	if err != nil {
		return wrong(err, "valuesFile")
	}
	for i, file := range e.AdditionalValuesFiles {
		content, err := files.ReadFile(path.Join(e.Folder, file))
		if err == nil {
			var more map[string]any
			more, err = loader.LoadValues(bytes.NewReader(content))
			values = loader.MergeMaps(values, more)
		}
		if err != nil {
			return wrong(fmt.Errorf("%s: %w", file, err), "additionalValuesFiles", fmt.Sprint(i))
		}
	}
	return values, nil
}

// mergeInline merges valuesInline with the values of a file, as HelmChartInflationGenerator of
// kustomize does.
func (e Entry) mergeInline(file []byte) ([]byte, error) {
	if e.ValuesMerge == "replace" {
		return yaml.Marshal(e.ValuesInline)
	}
	ofFile, err := kyaml.Parse(string(file))
	if err != nil && len(bytes.TrimSpace(file)) > 0 {
		return nil, err
	}
	inline, err := kyaml.FromMap(e.ValuesInline)
	if err != nil {
		return nil, err
	}
	over, under := inline, ofFile
	if e.ValuesMerge == "merge" {
		over, under = ofFile, inline
	}
	merged, err := merge2.Merge(over, under, kyaml.MergeOptions{})
	if err != nil {
		return nil, err
	}
	values, err := merged.Map()
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(values)
}

// checkSchemas returns the problems of values by values.schema.json of a chart and its dependencies, whose
// values are below keys.
func (e Entry) checkSchemas(c *chart.Chart, values any, keys []string) (found []manifest.Problem) {
	if v, is := values.(common.Values); is {
		values = map[string]any(v)
	}
	table, isTable := values.(map[string]any)
	if !isTable {
		return []manifest.Problem{e.valueProblem(c, keys, "has to be a mapping")}
	}
	if c.Schema != nil {
		found = e.checkSchema(c, table, keys)
	}
	for _, d := range c.Dependencies() {
		if below := table[d.Name()]; below != nil {
			found = append(found, e.checkSchemas(d, below, append(slices.Clone(keys), d.Name()))...)
		}
	}
	return found
}

func (e Entry) checkSchema(c *chart.Chart, values map[string]any, keys []string) []manifest.Problem {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	var valid *jsonschema.Schema
	if err == nil {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(local{})
		if err = compiler.AddResource("file:///values.schema.json", schema); err == nil {
			valid, err = compiler.Compile("file:///values.schema.json")
		}
	}
	if err != nil {
		return []manifest.Problem{e.valueProblem(c, nil, "values.schema.json: "+err.Error())}
	}
	var wrong *jsonschema.ValidationError
	if err = valid.Validate(plain(values)); err == nil {
		return nil
	} else if !errors.As(err, &wrong) {
		return []manifest.Problem{e.valueProblem(c, nil, err.Error())}
	}
	var found []manifest.Problem
	for _, unit := range wrong.BasicOutput().Errors {
		if unit.Error != nil && len(unit.Errors) == 0 {
			at := strings.Split(strings.Trim(unit.InstanceLocation, "/"), "/")
			found = append(found, e.valueProblem(c, slices.Concat(keys, at), "values.schema.json of the chart: "+unit.Error.String()))
		}
	}
	return slices.CompactFunc(manifest.SortProblems(found), func(a, b manifest.Problem) bool { return a.String() == b.String() })
}

// plain returns values as encoding/json reads them.
func plain(values map[string]any) (v any) {
	if text, err := json.Marshal(values); err == nil {
		v, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			return v
		}
	}
	return values
}

// local refuses to load the schemas that a schema refers to, as they are elsewhere. As Helm does, it
// accepts everything for a URN.
type local struct{}

// Load implements jsonschema.URLLoader.
func (local) Load(url string) (any, error) {
	if strings.HasPrefix(url, "urn:") {
		return true, nil
	}
	return nil, fmt.Errorf("refers to %s: rendering reads only this repository", url)
}

// valueProblem returns a problem of a value, at its line in the entry as far as that has it.
func (e Entry) valueProblem(c *chart.Chart, keys []string, message string) manifest.Problem {
	name := strings.Trim(strings.Join(keys, "."), ".")
	line := e.Line(append([]string{"valuesInline"}, keys...)...)
	return manifest.Problem{File: e.File, Line: line, Message: fmt.Sprintf("chart %s: %s", c.Name(), strings.TrimPrefix(name+": "+clip(message), ": "))}
}

// valueName matches a value in a template.
var valueName = regexp.MustCompile(`\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// advice returns the correction of an error at a line of a template: the value to set in place of a
// result that changes.
func (c *loaded) advice(template string, line int) string {
	if strings.Contains(template, "/tests/") {
		return ": write skipTests: true"
	}
	lines := c.templates[template].lines
	for i := min(line, len(lines)) - 1; i >= 0 && i > line-10; i-- {
		if found := valueName.FindStringSubmatch(lines[i]); found != nil {
			return ": set the value " + found[1][1:] + ", which the template reads there"
		}
	}
	return ": set the values by which the chart does without"
}
