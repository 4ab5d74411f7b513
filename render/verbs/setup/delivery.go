package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	tools "example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// delivery is a Kustomization of Flux or an Application of Argo CD: an object that builds and syncs an overlay.
type delivery struct {
	tools.Overlay

	file   string
	root   *yamlv3.Node // the object
	spec   *yamlv3.Node // the mapping with path, or nil if kustomize does not build the object
	fields *yamlv3.Node // the mapping with the fields that change objects, or nil
	in     string       // the path of fields
	suffix string       // of the environment's name, if the object has several overlays
	called string       // the name of the environment of a cluster
	isFlux bool
	moved  []string           // the fields that move to the environment
	kept   []manifest.Problem // warnings of the fields that stay and change objects
	err    error              // of the fields
}

// staysError is the error of an object that stays as it is, if a file has others.
type staysError struct{ error }

// The fields that move to the environment, and the fields of Flux that change no objects, or stay.
var (
	movable = strings.Fields("components ignoreMissingComponents patches images namePrefix nameSuffix " +
		"targetNamespace namespace commonMetadata replicas")
	fluxStays = strings.Fields("decryption deletionPolicy dependsOn force healthCheckExprs healthChecks ignore " +
		"interval kubeConfig path postBuild prune retryInterval serviceAccountName sourceRef suspend timeout wait")
)

// readDeliveries returns the delivery objects of a file, and all its objects.
func readDeliveries(file string) (all []*delivery, objects []*yamlv3.Node, err error) {
	content, err := os.ReadFile(file) // #nosec G304 -- the user names it
	if err != nil {
		return nil, nil, fmt.Errorf("--from: %w", err)
	}
	var errs []error
	generated := ""
	for _, document := range text.Split(content) {
		root, err := document.Parse()
		if err != nil {
			var at text.Error
			errors.As(err, &at)
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, at.Line, err))
		}
		if node.Text(root, "kind") == "ApplicationSet" {
			generated = "Argo CD expands an ApplicationSet in the cluster: write its Applications to a file, which " +
				"argocd appset generate " + file + " -o yaml prints, and name that"
		}
		if root == nil {
			continue
		}
		objects = append(objects, root)
		d := delivery{file: file, root: root}
		spec := node.Field(root, "spec")
		switch manifest.Group(node.Text(root, "apiVersion")) + "/" + node.Text(root, "kind") {
		case "kustomize.toolkit.fluxcd.io/Kustomization":
			d.isFlux = true
			d.spec = spec
			d.fields = spec
			d.in = "spec"
			all = append(all, &d)
		case "argoproj.io/Application":
			all = append(all, d.ofSources(spec)...)
		}
	}
	for _, d := range all {
		if d.spec != nil {
			d.err = d.read()
		}
	}
	if err := errors.Join(errs...); err != nil || len(all) > 0 {
		return all, objects, err
	}
	return nil, nil, fmt.Errorf("--from %s: has neither a Kustomization of Flux nor an Application of Argo CD: %s",
		file, cmp.Or(generated, "name a file with one, or the folder of an overlay"))
}

// ofSources returns the Application for each of its sources that kustomize builds, or else without a source.
func (d delivery) ofSources(spec *yamlv3.Node) (all []*delivery) {
	add := func(source *yamlv3.Node, in string) {
		isOther := func(name string) bool { return node.Field(source, name) != nil }
		if node.Field(source, "path") != nil &&
			!slices.ContainsFunc([]string{"chart", "helm", "directory", "plugin"}, isOther) {
			d.spec = source
			d.fields = node.Field(source, "kustomize")
			d.in = in + ".kustomize"
			d.suffix = "-" + path.Base(node.Text(source, "path"))
			one := d
			all = append(all, &one)
		}
	}
	add(node.Field(spec, "source"), "spec.source")
	for i, source := range node.Items(node.Field(spec, "sources")) {
		add(source, fmt.Sprintf("spec.sources[%d]", i))
	}
	switch len(all) {
	case 0:
		return []*delivery{&d}
	case 1:
		all[0].suffix = ""
	}
	return all
}

func (d *delivery) name() string      { return node.Text(d.root, "metadata", "name") }
func (d *delivery) namespace() string { return node.Text(d.root, "metadata", "namespace") }

// isOther reports whether kustomize alone does not build the object.
func (d *delivery) isOther() bool { return d.root != nil && d.spec == nil }

func (d *delivery) title() string { return node.Text(d.root, "kind") + " " + d.name() }

// locate adds the position of the object to an error.
func (d *delivery) locate(err error) error {
	return fmt.Errorf("%s:%d: %s: %w", d.file, d.root.Line, d.title(), err)
}

// read selects the fields to move, and decodes them.
func (d *delivery) read() error {
	all := map[string]any{}
	if err := errors.Join(decodeNode(d.spec, &all), decodeNode(d.fields, &all)); err != nil {
		return err
	}
	content := map[string]any{"path": all["path"], "postBuild": all["postBuild"]}
	for key := range node.Entries(d.fields) {
		name := key.Value
		why := "init does not move it"
		hasVariable := (name == "images" || name == "commonMetadata") &&
			strings.ContainsAny(fmt.Sprint(all[name]), "$*")
		if hasVariable {
			why = "it has a variable of the tool"
		}
		if slices.Contains(movable, name) && !hasVariable {
			d.moved = append(d.moved, name)
			content[name] = all[name]
		} else if !slices.Contains(fluxStays, name) {
			d.warn(key.Line, fmt.Sprintf("%s.%s stays in %s, and works on the rendered objects: %s", d.in, name,
				d.title(), why))
		}
	}
	err := manifest.Decode(content, &d.Overlay)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		want := cmp.Or(map[reflect.Kind]string{reflect.Struct: "mapping", reflect.Map: "mapping",
			reflect.Slice: "list"}[wrong.Type.Kind()], wrong.Type.String())
		name := cmp.Or(wrong.Field, d.in)
		return fmt.Errorf("%s%s: must be of type %s, not %s", strings.ToLower(name[:1]), name[1:], want, wrong.Value)
	}
	return err
}

// decodeNode decodes a mapping, which may be nil.
func decodeNode(mapping *yamlv3.Node, into any) error {
	if mapping == nil {
		return nil
	}
	var content any
	if err := mapping.Decode(&content); err != nil { // it follows aliases to anchors outside
		return err
	}
	return manifest.Decode(content, into)
}

func (d *delivery) warn(line int, message string) {
	d.kept = append(d.kept, manifest.Problem{Code: manifest.NotAdopted, Warning: true, File: d.file, Line: line,
		Message: message})
}

// setPath moves the fields, and makes the object sync the rendered environment.
func (d *delivery) setPath(rendered string) {
	if d.isFlux {
		rendered = "./" + rendered
	}
	_, value := node.Entry(d.spec, "path")
	if value == nil {
		value = &yamlv3.Node{}
		d.spec.Content = append(d.spec.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: "path"}, value)
	}
	value.SetString(rendered)
	node.Remove(d.fields, d.moved...)
	if !d.isFlux && d.fields != nil && len(d.fields.Content) == 0 {
		node.Remove(d.spec, "kustomize")
	}
}

// encode returns the YAML of objects; nil without objects.
func encode(objects []*yamlv3.Node) ([]byte, error) {
	var b bytes.Buffer
	encoder := yamlv3.NewEncoder(&b)
	encoder.SetIndent(2)
	for _, o := range objects {
		if err := encoder.Encode(o); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
