package charts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"example.com/gatehouse/render/source/text"
)

// values returns the values of an entry, merged as kustomize and then Helm merge them, and the layers that set them,
// the strongest first.
func (e Entry) values(files Files, c *loaded) (values map[string]any, layers []layer, found []manifest.Problem) {
	wrong := func(err error, keys ...string) (map[string]any, []layer, []manifest.Problem) {
		return nil, nil, e.problem(strings.Join(keys, ".")+": "+err.Error(), keys...)
	}
	if e.Installed != nil {
		values, layers, err := e.Installed.merge(files, c)
		return values, layers, problemOfValues(err)
	}
	first, _ := c.raw("values.yaml")
	if e.ValuesFile != "" {
		file := path.Join(e.Folder, e.ValuesFile)
		content, err := files.ReadFile(file)
		if err != nil {
			return wrong(err, "valuesFile")
		}
		if found = e.checkFile(file, content); len(found) > 0 {
			return nil, nil, found
		}
		first = content
		layers = layersOf(file, content)
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
		if found = e.checkFile(file, content); err == nil && len(found) > 0 {
			return nil, nil, found
		}
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

// checkFile returns the problem of a file of values that Helm cannot read, or that has a key twice.
func (e Entry) checkFile(file string, content []byte) []manifest.Problem {
	_, err := loader.LoadValues(bytes.NewReader(content))
	for _, d := range text.Split(content) {
		var at text.Error
		if _, wrong := d.Parse(); errors.As(wrong, &at) && (err != nil || at.Other > 0) {
			return []manifest.Problem{{Code: manifest.InvalidValues, File: strings.TrimPrefix(file, "/"), Line: at.Line,
				Message: "values of chart " + e.Name + ": " + at.Error()}}
		}
	}
	return nil
}

// merge merges the values of an installed chart. Values in files of the repository have layers with positions.
func (i *Installed) merge(files Files, c *loaded) (values map[string]any, layers []layer, err error) {
	for _, name := range i.Files {
		content, file, err := i.valuesFile(files, c, name)
		if i.IgnoreMissing && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fileError{err, name}
		}
		more, err := loader.LoadValues(bytes.NewReader(content))
		if err != nil {
			return nil, nil, fileError{fmt.Errorf("%s: %w", strings.TrimPrefix(name, "/"), err), name}
		}
		values = loader.MergeMaps(values, more)
		if file != "" {
			layers = append(layersOf(file, content), layers...)
		}
	}
	return loader.MergeMaps(values, i.Values), append([]layer{{values: i.Values}}, layers...), nil
}

// problemOfValues returns the problem of an error of merge, if there is one.
func problemOfValues(err error) []manifest.Problem {
	if err == nil {
		return nil
	}
	if file := (fileError{}); errors.As(err, &file) {
		return []manifest.Problem{{Code: manifest.ValuesFile, Value: manifest.Value{Is: file.name},
			Message: "values: " + err.Error()}}
	}
	return []manifest.Problem{{Code: manifest.InvalidValues, Message: "values: " + err.Error()}}
}

// missingFile is the error of a file that a chart does not have.
type missingFile struct{ name string }

func (m missingFile) Error() string { return "the chart has no file " + m.name }
func (missingFile) Unwrap() error   { return fs.ErrNotExist }

type fileError struct {
	error
	name string
}

// valuesFile returns a file of values, and its path in the repository unless it is in an archive.
func (i *Installed) valuesFile(files Files, c *loaded, name string) (content []byte, file string, err error) {
	if path.IsAbs(name) {
		content, err = files.ReadFile(name)
		return content, name, err
	}
	content, ok := c.raw(name)
	if !ok {
		return nil, "", missingFile{name}
	}
	if _, isFolder, err := files.Resolve(i.Archive); err == nil && isFolder {
		file = path.Join(i.Archive, name)
	}
	return content, file, nil
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
	over := inline
	under := ofFile
	if e.ValuesMerge == "merge" {
		over = ofFile
		under = inline
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
		if err := checkSchema(c.Schema, table, wrong); err != nil {
			wrong(err.Error())
			found[len(found)-1].Warning = true
		}
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

// checkSchema calls wrong for each problem of values by a schema. It returns an error if parts of the schema are
// elsewhere.
func checkSchema(content []byte, values map[string]any, wrong func(message string, at ...string)) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	var valid *jsonschema.Schema
	var others local
	if err == nil {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(&others)
		if err = compiler.AddResource("file:///values.schema.json", schema); err == nil {
			valid, err = compiler.Compile("file:///values.schema.json")
		}
	}
	if others.elsewhere != "" {
		return fmt.Errorf("values.schema.json refers to %s, and rendering reads only this repository: values are not "+
			"checked by this schema; copy that schema into it, under $defs, to check them", others.elsewhere)
	}
	if err != nil {
		wrong("values.schema.json: " + err.Error())
		return nil //nolint:nilerr // wrong has it
	}
	var invalid *jsonschema.ValidationError
	if err = valid.Validate(plain(values)); err != nil && !errors.As(err, &invalid) {
		wrong(err.Error())
	}
	if invalid == nil {
		return nil
	}
	for _, cause := range leaves(invalid) {
		at := cause.InstanceLocation
		message := "values.schema.json of the chart: " + cause.BasicOutput().Error.String()
		if additional, is := cause.ErrorKind.(*kind.AdditionalProperties); is {
			for _, name := range additional.Properties {
				wrong(message, append(slices.Clip(at), name)...)
			}
			continue
		}
		wrong(message, at...)
	}
	return nil
}

// leaves returns the causes of an error that have no causes themselves: the reasons.
func leaves(e *jsonschema.ValidationError) (all []*jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	if len(e.Causes) == 0 {
		all = append(all, e)
	}
	return all
}

// plain returns values as encoding/json reads them.
func plain(values map[string]any) (v any) {
	if content, err := json.Marshal(values); err == nil {
		v, err = jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err == nil {
			return v
		}
	}
	return values
}

// local refuses to load the schemas that a schema refers to, as they are elsewhere. As Helm does, it
// accepts everything for a URN.
type local struct{ elsewhere string }

// Load implements jsonschema.URLLoader.
func (l *local) Load(url string) (any, error) {
	if strings.HasPrefix(url, "urn:") {
		return true, nil
	}
	l.elsewhere = url
	return nil, errors.New("rendering reads only this repository")
}

// valueProblem returns a problem of a value, at its line in the layers as far as they have it.
func (e Entry) valueProblem(layers []layer, c *chart.Chart, keys []string, message string) manifest.Problem {
	name := manifest.JoinField(keys)
	p := e.problem(fmt.Sprintf("chart %s: %s", c.Name(), strings.TrimPrefix(name+": "+clip(message), ": ")),
		"valuesInline")[0]
	if at := position(layers, keys); at.File != "" {
		p.File = strings.TrimPrefix(at.File, "/")
		p.Line = at.Line
	}
	if e.Installed != nil {
		p.Field = manifest.JoinField(keys)
	}
	return p
}
