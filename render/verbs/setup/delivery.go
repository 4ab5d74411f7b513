package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// delivery is a Kustomization of Flux or an Application of Argo CD: an object that builds and syncs an overlay.
type delivery struct {
	deliveryFields

	file   string
	root   *yamlv3.Node // the object
	spec   *yamlv3.Node // the mapping with path
	fields *yamlv3.Node // the mapping with the fields that change objects, or nil
	isFlux bool
	moved  []string           // the fields that move to the environment
	kept   []manifest.Problem // warnings of the fields that stay and change objects
}

// deliveryFields are the fields of both tools that change objects. Their names do not depend on case.
type deliveryFields struct {
	Path                       string
	Components                 []string
	IgnoreMissingComponents    bool
	Patches                    []types.Patch
	Images                     []image
	NamePrefix, NameSuffix     string
	TargetNamespace, Namespace string // of Flux and of Argo CD

	// Of Flux.
	CommonMetadata struct{ Labels, Annotations map[string]string }
	PostBuild      *postBuild

	// Of Argo CD.
	Replicas []struct {
		Name  string
		Count intstr.IntOrString
	}
	CommonLabels, CommonAnnotations                                        map[string]string
	LabelWithoutSelector, LabelIncludeTemplates, CommonAnnotationsEnvsubst bool
}

// image is an entry of images: a mapping, or Argo CD's NAME=NEW:TAG@DIGEST or NAME:TAG@DIGEST.
type image types.Image

func (i *image) UnmarshalJSON(content []byte) error {
	var entry string
	if json.Unmarshal(content, &entry) != nil {
		return json.Unmarshal(content, (*types.Image)(i))
	}
	name, replacement, isRenamed := strings.Cut(entry, "=")
	if !isRenamed {
		name, replacement = "", entry
	}
	replacement, i.Digest, _ = strings.Cut(replacement, "@")
	if colon := strings.LastIndex(replacement, ":"); colon > strings.LastIndex(replacement, "/") {
		replacement, i.NewTag = replacement[:colon], replacement[colon+1:]
	}
	if i.Name, i.NewName = name, replacement; !isRenamed {
		i.Name, i.NewName = replacement, ""
	}
	return nil
}

// The fields that change objects, and the other fields, of a Kustomization and of spec.source.kustomize.
var (
	fluxMoved = strings.Fields("components ignoreMissingComponents patches images namePrefix nameSuffix targetNamespace commonMetadata")
	fluxStays = strings.Fields("decryption deletionPolicy dependsOn force healthCheckExprs healthChecks ignore interval kubeConfig path postBuild prune retryInterval serviceAccountName sourceRef suspend timeout wait")
	argoMoved = strings.Fields("components ignoreMissingComponents patches images namePrefix nameSuffix namespace replicas commonLabels labelWithoutSelector labelIncludeTemplates forceCommonLabels commonAnnotations commonAnnotationsEnvsubst forceCommonAnnotations")
)

// readDeliveries returns the delivery objects of a file, and all its objects.
func readDeliveries(file string) (all []*delivery, objects []*yamlv3.Node, err error) {
	content, err := os.ReadFile(file) // #nosec G304 -- the user names it
	if err != nil {
		return nil, nil, fmt.Errorf("--from: %w", err)
	}
	var errs []error
	for _, document := range text.Split(content) {
		if document.IsEmpty() {
			continue
		}
		root, _, err := document.Parse()
		if err != nil {
			var at text.Error
			errors.As(err, &at)
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, at.Line, err))
			continue
		}
		objects = append(objects, root)
		d := &delivery{file: file, root: root}
		switch manifest.Group(node.Text(root, "apiVersion")) + "/" + node.Text(root, "kind") {
		case "kustomize.toolkit.fluxcd.io/Kustomization":
			err = d.readFlux()
		case "argoproj.io/Application":
			err = d.readArgo()
		default:
			continue
		}
		if all = append(all, d); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %s: %w", file, root.Line, d.title(), err))
		}
	}
	if len(all) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("--from %s: has neither a Kustomization of Flux nor an Application of Argo CD: name a file with one, or the folder of an overlay", file))
	}
	return all, objects, errors.Join(errs...)
}

func (d *delivery) name() string      { return node.Text(d.root, "metadata", "name") }
func (d *delivery) namespace() string { return node.Text(d.root, "metadata", "namespace") }

// title returns the kind and name of the object.
func (d *delivery) title() string { return node.Text(d.root, "kind") + " " + d.name() }

func (d *delivery) readFlux() error {
	d.isFlux, d.spec = true, node.Field(d.root, "spec")
	if d.fields = d.spec; d.spec == nil {
		return errors.New("has no spec")
	}
	if err := decodeNode(d.spec, &d.deliveryFields); err != nil {
		return err
	}
	d.move("spec", fluxMoved, fluxStays)
	if strings.Contains(fmt.Sprint(d.CommonMetadata), "$") {
		d.keep("spec", "Flux substitutes no variables in it", "commonMetadata")
		d.CommonMetadata.Labels, d.CommonMetadata.Annotations = nil, nil
	}
	return nil
}

func (d *delivery) readArgo() error {
	d.spec = node.Field(node.Field(d.root, "spec"), "source")
	for _, other := range []string{"chart", "helm", "directory", "plugin"} {
		if d.spec == nil || node.Field(d.spec, other) != nil {
			return fmt.Errorf("has no spec.source of kustomize alone: render takes no spec.sources and no spec.source.%s", other)
		}
	}
	d.fields = node.Field(d.spec, "kustomize")
	if err := errors.Join(decodeNode(d.spec, &d.deliveryFields), decodeNode(d.fields, &d.deliveryFields)); err != nil {
		return err
	}
	const in, why = "spec.source.kustomize", "Argo CD substitutes variables in it"
	d.move(in, argoMoved, nil)
	if strings.ContainsAny(fmt.Sprint(d.Images), "$*") {
		d.keep(in, why+", or * for a part of the entry in the overlay", "images")
		d.Images = nil
	}
	if strings.Contains(fmt.Sprint(d.CommonLabels), "$") {
		d.keep(in, why, "commonLabels", "labelWithoutSelector", "labelIncludeTemplates", "forceCommonLabels")
		d.CommonLabels = nil
	}
	if d.CommonAnnotationsEnvsubst && strings.Contains(fmt.Sprint(d.CommonAnnotations), "$") {
		d.keep(in, why, "commonAnnotations", "commonAnnotationsEnvsubst", "forceCommonAnnotations")
		d.CommonAnnotations = nil
	}
	return nil
}

// decodeNode decodes a mapping, which may be nil.
func decodeNode(mapping *yamlv3.Node, into any) error {
	if mapping == nil {
		return nil
	}
	content, err := yamlv3.Marshal(mapping)
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		want := cmp.Or(map[reflect.Kind]string{reflect.Struct: "mapping", reflect.Map: "mapping", reflect.Slice: "list"}[wrong.Type.Kind()], wrong.Type.String())
		name := cmp.Or(wrong.Field, "spec")
		return fmt.Errorf("%s%s: must be of type %s, not %s", strings.ToLower(name[:1]), name[1:], want, wrong.Value)
	}
	return err
}

// move selects the fields to move, and keeps the fields that are in neither list.
func (d *delivery) move(in string, moved, stay []string) {
	for key := range node.Entries(d.fields) {
		if slices.Contains(moved, key.Value) {
			d.moved = append(d.moved, key.Value)
		} else if !slices.Contains(stay, key.Value) {
			d.keep(in, "an environment has no place for it", key.Value)
		}
	}
}

// keep leaves fields in the delivery object, and warns of the first.
func (d *delivery) keep(in, why string, names ...string) {
	d.moved = slices.DeleteFunc(d.moved, func(name string) bool { return slices.Contains(names, name) })
	d.warn(node.Line(d.fields, names[0]), fmt.Sprintf("%s.%s stays in %s, and works on the rendered objects: %s", in, names[0], d.title(), why))
}

func (d *delivery) warn(line int, message string) {
	d.kept = append(d.kept, manifest.Problem{Warning: true, File: d.file, Line: line, Message: message})
}

// setPath moves the fields, and makes the object sync the rendered environment.
func (d *delivery) setPath(rendered string) {
	if d.isFlux {
		rendered = "./" + rendered
	}
	if _, value := node.Entry(d.spec, "path"); value != nil {
		value.SetString(rendered)
	} else {
		d.spec.Content = append(d.spec.Content, scalar("path"), scalar(rendered))
	}
	remove(d.fields, d.moved...)
	if !d.isFlux && d.fields != nil && len(d.fields.Content) == 0 {
		remove(d.spec, "kustomize")
	}
}

func scalar(text string) (n *yamlv3.Node) {
	n = &yamlv3.Node{}
	n.SetString(text)
	return n
}

// remove removes fields of a mapping, which may be nil.
func remove(mapping *yamlv3.Node, names ...string) {
	for i := 0; mapping != nil && i < len(mapping.Content); {
		if slices.Contains(names, mapping.Content[i].Value) {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
		} else {
			i += 2
		}
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
