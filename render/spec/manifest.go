package spec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// manifest is a document for an object, for a person to go on with: each field has what it
// is in a comment, and those that are not given and have a value to show are there as
// comments. What `kubectl get` shows is written with its default.
func manifest(k *kind.Kind, o *Outline, namespace, name string, values map[string]any) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\napiVersion: %s\nkind: %s\nmetadata:\n", o.Sentence, k.GVK.GroupVersion(), k.GVK.Kind)
	b.WriteString(indented(entry("name", name, false), "  "))
	if namespace != "" {
		b.WriteString(indented(entry("namespace", namespace, false), "  "))
	}
	if !o.hasSpec {
		return b.Bytes()
	}
	written, commented := o.divide(values)
	if len(written) == 0 {
		b.WriteString("spec: {}\n")
	} else {
		b.WriteString("spec:\n")
	}
	for _, f := range written {
		f.write(&b, first(values[f.Name], f.Default), "  ")
	}
	for _, f := range commented {
		f.write(&b, first(f.Default, f.Example), "  #")
	}
	return b.Bytes()
}

// first is the first value that there is.
func first(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

// divide divides the fields that a manifest has into those with a value and those that are
// only shown. At least one has a value, if there is a default.
func (o *Outline) divide(values map[string]any) (written, commented []Field) {
	isWritten := func(f Field) bool { return values[f.Name] != nil || f.Shown && f.Default != nil }
	if !slices.ContainsFunc(o.Fields, isWritten) {
		isWritten = func(f Field) bool { return f.Default != nil }
	}
	for _, f := range o.Fields {
		switch {
		case isWritten(f):
			written = append(written, f)
		case f.Default != nil || f.Example != nil:
			commented = append(commented, f)
		}
	}
	return written, commented
}

// write writes a field with a value, and before it what it is.
func (f Field) write(b *bytes.Buffer, value any, prefix string) {
	if f.schema.Description != "" {
		fmt.Fprintf(b, "  # %s\n", sentence(f.schema.Description))
	}
	b.WriteString(indented(entry(f.Name, value, f.isTime()), prefix))
}

// entry is a field and its value as YAML, which reads back as that value, for every reader:
// text of several lines as a block, where it can be.
func entry(field string, value any, quoted bool) string {
	node := &yaml.Node{}
	text, isText := value.(string)
	switch {
	case isText && (quoted || strings.ContainsAny(text, lineEnds)):
		node.SetString(text)
		node.Style = yaml.DoubleQuotedStyle
	case isText:
		node.SetString(text)
	default:
		if err := node.Encode(value); err != nil {
			panic(err) // plain data
		}
	}
	written := write(field, node)
	if isText && !readsBack(written, field, text) {
		node.Style = yaml.DoubleQuotedStyle
		written = write(field, node)
	}
	return written
}

// readsBack says whether a text is what is read of a field, also by readers to whom yes is a
// boolean.
func readsBack(written, field, text string) bool {
	for _, unmarshal := range []func([]byte, any) error{yaml.Unmarshal, func(b []byte, to any) error { return sigsyaml.Unmarshal(b, to) }} {
		var read map[string]any
		if err := unmarshal([]byte(written), &read); err != nil || read[field] != text {
			return false
		}
	}
	return true
}

// lineEnds end a line for some readers of YAML, unless they are written as escapes.
const lineEnds = "\u0085\u2028\u2029"

func write(field string, value *yaml.Node) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	key := &yaml.Node{Kind: yaml.ScalarNode, Value: field}
	if err := encoder.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}}); err != nil {
		panic(err) // to a buffer
	}
	return b.String()
}

// indented is lines with a prefix, but for empty ones.
func indented(lines, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line != "\n" {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return b.String()
}
