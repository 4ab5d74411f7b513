package applicationset

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dario.cat/mergo"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// application returns the Application of the template and its patch. This keeps the project.
func (e expansion) application(p params) (map[string]any, error) {
	content, err := e.fill(e.Template, p)
	application, _ := content.(map[string]any)
	if err != nil || e.TemplatePatch == "" {
		return application, err
	}
	text, err := e.text(e.TemplatePatch, p)
	if err != nil {
		return nil, err
	}
	project, isSet, _ := unstructured.NestedString(application, "spec", "project")
	patch, err := yaml.YAMLToJSON([]byte(text))
	var patched []byte
	if err == nil {
		patched, err = jsonpatch.MergePatch(asJSON(application), patch)
	}
	application = nil
	if err == nil {
		err = json.Unmarshal(patched, &application)
	}
	if err == nil && isSet {
		err = unstructured.SetNestedField(application, project, "spec", "project")
	}
	if err != nil {
		return nil, fmt.Errorf("spec.templatePatch: %w", err)
	}
	return application, nil
}

func asJSON(content any) []byte {
	encoded, _ := json.Marshal(content) // plain data
	return encoded
}

// addValues adds the values of a generator to its parameters.
func (e expansion) addValues(all []params, values map[string]string) error {
	for _, p := range all {
		filled := map[string]any{}
		for key, value := range values {
			text, err := e.text(value, p)
			if err != nil {
				return err
			}
			filled[key] = text
		}
		if len(filled) > 0 {
			maps.Copy(p, e.flat(map[string]any{"values": filled}, ""))
		}
	}
	return nil
}

// selected returns the parameters that a selector selects by their joined names.
func selected(all []params, of *metav1.LabelSelector) ([]params, error) {
	selector, err := metav1.LabelSelectorAsSelector(of)
	return slices.DeleteFunc(all, func(p params) bool {
		set := labels.Set{}
		for name, value := range (expansion{}).flat(p, "") {
			set[name] = fmt.Sprint(value)
		}
		return err == nil && !selector.Matches(set)
	}), err
}

// merge returns the parameters of the first generator, with those of others that have the same values of keys.
func (e expansion) merge(generators []generator, keys []string) (all []params, err error) {
	keyOf := func(p params) string {
		values := make([]any, len(keys))
		for i, key := range keys {
			values[i] = p[key]
		}
		return string(asJSON(values))
	}
	for i, g := range generators {
		found, err := e.generate(g, nil)
		if err != nil {
			return nil, err
		}
		by := map[string]params{}
		for _, p := range found {
			if by[keyOf(p)] != nil {
				return nil, fmt.Errorf("two parameters of a merge with %s", keyOf(p))
			}
			by[keyOf(p)] = p
		}
		if i == 0 {
			all = found
			continue
		}
		for _, p := range all {
			over := map[string]any(by[keyOf(p)])
			base := map[string]any(p)
			if !e.GoTemplate {
				maps.Copy(base, over)
			} else if err := mergo.Merge(&base, over, mergo.WithOverride); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// clusterGenerator makes parameters of the clusters that Argo CD knows.
type clusterGenerator struct {
	Selector metav1.LabelSelector
	Values   map[string]string
	FlatList bool
	Template map[string]any
}

// IsCluster reports whether a Secret registers a cluster.
func IsCluster(o manifest.Object) bool {
	return o.GetKind() == "Secret" && o.GetLabels()["argocd.argoproj.io/secret-type"] == "cluster"
}

// ofClusters returns the parameters of the clusters in the repository, and of the one that Argo CD runs in.
func (e expansion) ofClusters(g clusterGenerator) (all []params, err error) {
	selector, err := metav1.LabelSelectorAsSelector(&g.Selector)
	if err != nil {
		return nil, err
	}
	if len(e.clusters) == 0 {
		return nil, errors.New("clusters that no Secret of the environment lists")
	}
	add := func(name, server, project string, metadata map[string]any) {
		p := e.flat(map[string]any{"metadata": metadata}, "")
		p["name"] = name
		p["server"] = server
		p["project"] = project
		p["nameNormalized"] = normalize(name)
		all = append(all, p)
	}
	hasOwn := g.Selector.Size() > 0
	for _, o := range e.clusters {
		if !selector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		name := secretText(o, "name")
		server := secretText(o, "server")
		if name == "" || strings.HasPrefix(name+server, "ENC[") {
			return nil, fmt.Errorf("%s, whose values are not known", o)
		}
		metadata := map[string]any{}
		both := map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()}
		for field, entries := range both {
			texts := map[string]any{}
			for key, value := range entries {
				texts[key] = value
			}
			metadata[field] = texts
		}
		hasOwn = hasOwn || delivery.IsInCluster("", server)
		add(name, server, secretText(o, "project"), metadata)
	}
	if !hasOwn {
		add("in-cluster", delivery.InCluster, "", nil)
	}
	if err := e.addValues(all, g.Values); err != nil || !g.FlatList {
		return all, err
	}
	return []params{{"clusters": all}}, nil
}

// secretText returns a value of a Secret.
func secretText(o manifest.Object, key string) string {
	if text, isText, _ := unstructured.NestedString(o.Object, "stringData", key); isText {
		return text
	}
	encoded, _, _ := unstructured.NestedString(o.Object, "data", key)
	content, _ := base64.StdEncoding.DecodeString(encoded)
	return string(content)
}
