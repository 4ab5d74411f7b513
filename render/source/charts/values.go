package charts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// values returns the values of an entry, merged as kustomize and then Helm merge them, and the layers that set them,
// the strongest first.
func (e Entry) values(files Files, c *loaded) (values map[string]any, layers []layer, found []manifest.Problem) {
	wrong := func(err error, keys ...string) (map[string]any, []layer, []manifest.Problem) {
		return nil, nil, e.problem(strings.Join(keys, ".")+": "+err.Error(), keys...)
	}
	if e.Installed != nil {
		values, err := e.Installed.merge(c)
		if err != nil {
			return nil, nil, []manifest.Problem{{Message: "values: " + err.Error()}}
		}
		return values, []layer{{values: e.Installed.Values}}, nil
	}
	first, _ := c.raw("values.yaml")
	if e.ValuesFile != "" {
		file := path.Join(e.Folder, e.ValuesFile)
		content, err := files.ReadFile(file)
		if err != nil {
			return wrong(err, "valuesFile")
		}
		first, layers = content, layersOf(file, content)
	}
	if len(e.ValuesInline) > 0 {
		merged, err := e.mergeInline(first)
		if err != nil {
			return wrong(err, "valuesInline")
		}
		inline := []layer{{e.File, node.Field(e.Node, "valuesInline"), e.ValuesInline}}
		switch first = merged; e.ValuesMerge {
		case "replace":
			layers = inline
		case "merge":
			layers = append(layers, inline...)
		default:
			layers = append(inline, layers...)
		}
	}
	values, err := loader.LoadValues(bytes.NewReader(first))
	if err != nil {
		return wrong(err, "valuesFile")
	}
	for i, name := range e.AdditionalValuesFiles {
		file := path.Join(e.Folder, name)
		content, err := files.ReadFile(file)
		if err == nil {
			var more map[string]any
			more, err = loader.LoadValues(bytes.NewReader(content))
			values = loader.MergeMaps(values, more)
		}
		if err != nil {
			return wrong(fmt.Errorf("%s: %w", name, err), "additionalValuesFiles", fmt.Sprint(i))
		}
		layers = append(layersOf(file, content), layers...)
	}
	return values, layers, nil
}

// merge merges the values of an installed chart.
func (i *Installed) merge(c *loaded) (values map[string]any, err error) {
	for _, name := range i.Files {
		content, ok := c.raw(name)
		if !ok {
			return nil, fmt.Errorf("the chart has no file %s", name)
		}
		more, err := loader.LoadValues(bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		values = loader.MergeMaps(values, more)
	}
	return loader.MergeMaps(values, i.Values), nil
}

// mergeInline merges valuesInline with the values of a file, as HelmChartInflationGenerator of
// kustomize does.
func (e Entry) mergeInline(file []byte) ([]byte, error) {
	if e.ValuesMerge == "replace" {
		return yaml.Marshal(e.ValuesInline)
	}
	ofFile, err := kyaml.Parse(string(file))
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has no values to merge with: write valuesMerge: replace",
			cmp.Or(e.ValuesFile, "values.yaml of the chart"))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(e.ValuesFile, "values.yaml of the chart"), err)
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
func (e Entry) checkSchemas(layers []layer, c *chart.Chart, values any, keys []string) (found []manifest.Problem) {
	wrong := func(message string, at ...string) {
		found = append(found, e.valueProblem(layers, c, slices.Concat(keys, at), message))
	}
	if v, is := values.(common.Values); is {
		values = map[string]any(v)
	}
	table, isTable := values.(map[string]any)
	if !isTable {
		wrong("has to be a mapping")
		return found
	}
	if c.Schema != nil {
		checkSchema(c.Schema, table, wrong)
	}
	for _, d := range c.Dependencies() {
		if below := table[d.Name()]; below != nil {
			found = append(found, e.checkSchemas(layers, d, below, append(slices.Clip(keys), d.Name()))...)
		}
	}
	return slices.CompactFunc(manifest.SortProblems(found), func(a, b manifest.Problem) bool {
		return a.String() == b.String()
	})
}

// checkSchema calls wrong for each problem of values by a schema.
func checkSchema(content []byte, values map[string]any, wrong func(message string, at ...string)) {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	var valid *jsonschema.Schema
	if err == nil {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(local{})
		if err = compiler.AddResource("file:///values.schema.json", schema); err == nil {
			valid, err = compiler.Compile("file:///values.schema.json")
		}
	}
	if err != nil {
		wrong("values.schema.json: " + err.Error())
		return
	}
	var invalid *jsonschema.ValidationError
	if err = valid.Validate(plain(values)); err != nil && !errors.As(err, &invalid) {
		wrong(err.Error())
	}
	if invalid == nil {
		return
	}
	for _, unit := range invalid.BasicOutput().Errors {
		if unit.Error == nil || len(unit.Errors) > 0 {
			continue
		}
		var at []string
		if unit.InstanceLocation != "" {
			at = node.JSONPointer(unit.InstanceLocation)
		}
		message := "values.schema.json of the chart: " + unit.Error.String()
		if additional, is := unit.Error.Kind.(*kind.AdditionalProperties); is {
			for _, name := range additional.Properties {
				wrong(message, append(slices.Clip(at), name)...)
			}
			continue
		}
		wrong(message, at...)
	}
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

// valueProblem returns a problem of a value, at its line in the layers as far as they have it.
func (e Entry) valueProblem(layers []layer, c *chart.Chart, keys []string, message string) manifest.Problem {
	name := manifest.JoinField(keys)
	p := e.problem(fmt.Sprintf("chart %s: %s", c.Name(), strings.TrimPrefix(name+": "+clip(message), ": ")),
		"valuesInline")[0]
	if at := position(layers, keys); at.File != "" {
		p.File, p.Line = strings.TrimPrefix(at.File, "/"), at.Line
	}
	if e.Installed != nil {
		p.Field = manifest.JoinField(keys)
	}
	return p
}
