package settings

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
	"example.com/gatehouse/render/verdict/apiserver"
)

//go:embed settings.schema.json
var schemaFile []byte

// schema is the schema of the file. It is compiled for a repository that has one.
var schema = sync.OnceValue(func() *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaFile))
	compiler := jsonschema.NewCompiler()
	if err == nil {
		err = compiler.AddResource(File, document)
	}
	if err != nil {
		panic(err) // it comes with the program
	}
	return compiler.MustCompile(File)
})

// Read reads the file of a tree. It is strict: a field that it does not know is an error, at its line.
func Read(tree source.Revision) Settings {
	info, err := tree.Lstat(File)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{Problems: misnamed(tree)}
	}
	var content []byte
	switch {
	case err == nil && !info.Mode().IsRegular(): // a change of the other end would not be one of this file
		err = errors.New("is no regular file: put the file itself in its place")
	case err == nil:
		content, err = tree.ReadFile(File)
	}
	r := &reader{}
	if err == nil {
		r.root, err = parse(content)
	}
	if err != nil {
		r.refuse(err.Error())
		if at := (text.Error{}); errors.As(err, &at) {
			r.problems[0].Line = at.Line
		}
	}
	if r.root == nil {
		return Settings{Problems: r.problems}
	}
	s := r.settings()
	if len(r.problems) > 0 {
		return Settings{Problems: manifest.SortProblems(r.problems)}
	}
	return s
}

// misnamed returns an error about a file with the other ending, which nothing reads.
func misnamed(tree source.Revision) []manifest.Problem {
	other := strings.TrimSuffix(File, path.Ext(File)) + ".yml"
	if _, err := tree.Lstat(other); err != nil {
		return nil
	}
	return []manifest.Problem{{Code: manifest.InvalidSettings, File: other, Line: 1,
		Message: "is not read: rename it to " + File}}
}

// parse returns the node of the one document of the file, or nil.
func parse(content []byte) (root *yaml.Node, err error) {
	for _, d := range text.Split(content) {
		if d.IsEmpty() {
			continue
		}
		if root != nil {
			return nil, errors.New("has several documents: write one")
		}
		if root, err = d.Parse(); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// reader reads one file.
type reader struct {
	root     *yaml.Node
	problems []manifest.Problem
}

// refuse adds an error at a field, or at the line of an error of YAML.
func (r *reader) refuse(message string, at ...string) {
	p := manifest.Problem{Code: manifest.InvalidSettings, File: File, Line: 1, Message: message}
	if len(at) > 0 {
		keys := slices.Clone(at)
		for i, key := range keys {
			if _, err := strconv.Atoi(key); err == nil {
				keys[i] = "[" + key + "]"
			}
		}
		p.Line = node.Line(r.root, at...)
		p.Field = manifest.JoinField(keys)
		p.Message = p.Field + ": " + message
	}
	r.problems = append(r.problems, p)
}

// settings returns the settings, and adds problems.
func (r *reader) settings() (s Settings) {
	var value any
	err := r.root.Decode(&value)
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(value)
	}
	if err == nil {
		value, err = jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	}
	if err != nil {
		r.refuse(err.Error())
		return s
	}
	var invalid *jsonschema.ValidationError
	if err = schema().Validate(value); errors.As(err, &invalid) {
		r.refuseAll(invalid)
	}
	err = json.Unmarshal(encoded, &s) // a wrong type, which the schema refuses, leaves out its own value alone
	if err != nil && len(r.problems) == 0 {
		r.refuse(err.Error())
	}
	r.check(s.All, "all")
	for i, e := range s.Entries {
		at := []string{"entries", fmt.Sprint(i)}
		r.checkName(e.Name, at)
		r.check(e.Cluster, at...)
	}
	for i, f := range s.NotEntries {
		r.checkName(f.Name, []string{"notEntries", fmt.Sprint(i)})
	}
	return s
}

// check checks what the schema cannot.
func (r *reader) check(c Cluster, at ...string) {
	ofValues := append(slices.Clone(at), "values")
	r.checkNames(maps.Keys(c.Values), ofValues...)
	for id, values := range c.Values {
		r.checkNames(maps.Keys(values), append(slices.Clone(ofValues), id)...)
	}
	version := apiserver.Newest
	var err error
	if c.Kubernetes != "" {
		if version, err = apiserver.ParseVersion(c.Kubernetes); err != nil {
			r.refuse(err.Error(), append(slices.Clone(at), "kubernetes")...)
			return
		}
	}
	if c.RuntimeConfig == "" {
		return
	}
	if _, err = version.ParseRuntimeConfig(c.RuntimeConfig); err != nil {
		r.refuse(err.Error(), append(slices.Clone(at), "runtimeConfig")...)
	}
}

// checkNames checks the names of fields by the schema of a place.
func (r *reader) checkNames(names iter.Seq[string], at ...string) {
	for _, s := range schemasAt(schema(), at) {
		for _, name := range slices.Sorted(names) {
			if s.PropertyNames != nil && s.PropertyNames.Validate(name) != nil {
				r.refuse(fmt.Sprintf("%q: write %s", name, s.PropertyNames.Description), at...)
			}
		}
	}
}

func (r *reader) checkName(name string, at []string) {
	if _, err := path.Match(name, ""); err != nil {
		r.refuse(fmt.Sprintf("%q: %v: write \\ before a bracket that is no pattern", name, err), append(at, "name")...)
	}
}

// refuseAll adds the reasons of an error of the schema.
func (r *reader) refuseAll(e *jsonschema.ValidationError) {
	at := e.InstanceLocation
	switch why := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		r.refuseFields(why.Properties, at)
	case *kind.FalseSchema: // of unevaluatedProperties
		r.refuseFields(at[len(at)-1:], at[:len(at)-1])
	case *kind.Required:
		r.refuse("has no "+strings.Join(why.Missing, " and no ")+": write it", at...)
	case *kind.Enum:
		known := make([]string, len(why.Want))
		for i, value := range why.Want {
			known[i] = fmt.Sprint(value)
		}
		got := fmt.Sprint(why.Got)
		hint := cmp.Or(manifest.DidYouMean(got, known), ": write one of "+manifest.FirstOf(12, known))
		r.refuse(fmt.Sprintf("%q is unknown%s", got, hint), at...)
	case *kind.Type:
		message := "is " + nouns[why.Got] + ", and has to be " + nouns[why.Want[0]]
		if slices.Contains(why.Want, "string") && slices.Contains([]string{"number", "boolean"}, why.Got) {
			message += ": put it in quotes"
		}
		r.refuse(message, at...)
	case *kind.Pattern, *kind.MinLength:
		r.refuse("write "+descriptionOf(schemasAt(schema(), at)), at...)
	case *kind.PropertyNames: // the library may have another place for it: see checkNames
		return
	}
	for _, cause := range e.Causes {
		r.refuseAll(cause)
	}
}

// nouns are the types of JSON.
var nouns = map[string]string{"array": "a list", "boolean": "true or false", "null": "empty", "number": "a number",
	"object": "a mapping", "string": "a text"}

// refuseFields adds errors of unknown fields.
func (r *reader) refuseFields(names, at []string) {
	var known []string
	for _, s := range schemasAt(schema(), at) {
		known = slices.AppendSeq(known, maps.Keys(s.Properties))
	}
	for _, name := range names {
		if !slices.Contains(known, name) { // or else the schema has another error
			r.refuse(fmt.Sprintf("unknown field %q%s", name, manifest.DidYouMean(name, known)), at...)
			r.problems[len(r.problems)-1].Line = node.Line(r.root, append(slices.Clone(at), name)...)
		}
	}
}

// schemasAt returns the parts of a schema for a place in a value.
func schemasAt(s *jsonschema.Schema, at []string) []*jsonschema.Schema {
	if s == nil { // there is no such part
		return nil
	}
	same := append(schemasAt(s.Ref, at), s)
	if len(at) == 0 {
		return same
	}
	others, _ := s.AdditionalProperties.(*jsonschema.Schema)
	return slices.Concat(same[:len(same)-1], schemasAt(s.Properties[at[0]], at[1:]), schemasAt(s.Items2020, at[1:]),
		schemasAt(others, at[1:]))
}

// descriptionOf returns the first description of schemas.
func descriptionOf(all []*jsonschema.Schema) string {
	for _, s := range all {
		if s != nil && s.Description != "" {
			return s.Description
		}
	}
	return "a value"
}

// Invalid returns an error about a name in entries.
func Invalid(tree source.Revision, name, message string) manifest.Problem {
	r := reader{}
	if content, err := tree.ReadFile(File); err == nil {
		r.root, _ = parse(content) // it was read before
	}
	i := slices.IndexFunc(node.Items(node.Field(r.root, "entries")), func(e *yaml.Node) bool {
		return node.Text(e, "name") == name
	})
	r.refuse(message, "entries", fmt.Sprint(i), "name")
	return r.problems[0]
}
