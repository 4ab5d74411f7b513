package applicationset

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dario.cat/mergo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// generator is a generator of one kind, or of several.
type generator struct {
	List          listGenerator
	Clusters      clusterGenerator
	Git           gitGenerator
	Matrix, Merge nested
}

// kinds are the kinds of generators that need no server, in the order of their fields.
var kinds = []string{"list", "clusters", "git", "matrix", "merge"}

// AskingError is about a generator that asks a server, see Known.
type AskingError string

func (e AskingError) Error() string { return string(e) }

const errNoKind AskingError = "a generator is none of list, git, clusters, matrix and merge"

// others are the kinds of generators that ask a server, see Known.
var others = []string{"scmProvider", "clusterDecisionResource", "pullRequest", "plugin"}

// listGenerator has parameters.
type listGenerator struct {
	Elements     []map[string]any
	ElementsYAML string
}

// nested joins the parameters of generators.
type nested struct {
	Generators []map[string]any
	MergeKeys  []string
}

// made are the parameters of a kind of generator, and its own template.
type made struct {
	params   []params
	template map[string]any
}

// generate returns the parameters by the kinds of a generator (Transform in applicationset/generators). Outer are the
// parameters of the generator before it in a matrix.
func (e *expansion) generate(content map[string]any, outer params, at *field.Path) (all []made, err error) {
	selector, err := selectorOf(content, at)
	if err == nil && len(outer) > 0 {
		content, err = e.interpolate(content, outer, at)
	}
	var g generator
	if err == nil {
		err = manifest.Decode(content, &g)
	}
	if err != nil {
		return nil, err
	}
	for kind, value := range content {
		if _, isKnown := e.Parameters[kind]; value != nil && kind != "selector" && !slices.Contains(kinds, kind) &&
			!isKnown {
			return nil, errNoKind
		}
	}
	for _, kind := range append(slices.Clone(kinds), others...) {
		own, isSet := content[kind].(map[string]any)
		if !isSet {
			continue
		}
		known, isKnown := e.Parameters[kind]
		find := func() ([]params, error) { return e.parameters(g, kind, at.Child(kind)) }
		if isKnown {
			find = func() ([]params, error) { return e.given(known, own, at.Child(kind)) }
		}
		found, err := find()
		if err != nil {
			return nil, err
		}
		template, _ := own["template"].(map[string]any)
		all = append(all, made{selected(found, selector), template})
	}
	if len(all) == 0 { // Argo CD only logs it, and an operator may fill it
		return nil, errNoKind
	}
	return all, nil
}

// parameters returns the parameters of a kind of generator.
func (e *expansion) parameters(g generator, kind string, at *field.Path) ([]params, error) {
	switch kind {
	case "list":
		return e.ofList(g.List, at)
	case "clusters":
		return e.ofClusters(g.Clusters, at)
	case "git":
		return e.ofGit(g.Git, at)
	case "matrix":
		return e.matrix(g.Matrix, at)
	}
	return e.merge(g.Merge, at)
}

// one returns the parameters of a generator in another one, which is of one kind.
func (e *expansion) one(content map[string]any, outer params, at *field.Path) ([]params, error) {
	all, err := e.generate(content, outer, at)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, field.Invalid(at, field.OmitValueType{}, "has two kinds of generator: write one")
	}
	return all[0].params, nil
}

// interpolate returns a generator with the parameters of the one before it in a matrix. A value that needs others stays
// as it is (RenderGeneratorParams in applicationset/utils).
func (e *expansion) interpolate(content map[string]any, outer params, at *field.Path) (map[string]any, error) {
	interpolated := map[string]any{}
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		own, _ := content[kind].(map[string]any)
		rest := maps.Clone(own)
		delete(rest, "values")
		delete(rest, "generators")
		filled, err := e.fill(rest, outer, at.Child(kind))
		if err != nil {
			return nil, err
		}
		of, _ := filled.(map[string]any)
		if values, isMap := own["values"].(map[string]any); isMap {
			of["values"] = e.known(values, outer)
		}
		if generators, isList := own["generators"].([]any); isList {
			below := make([]any, len(generators))
			for i, g := range generators {
				g, _ := g.(map[string]any)
				if below[i], err = e.interpolate(g, outer, at.Child(kind, "generators").Index(i)); err != nil {
					return nil, err
				}
			}
			of["generators"] = below
		}
		if own != nil {
			interpolated[kind] = of
		}
	}
	return interpolated, nil
}

// known returns values with parameters in place of their templates, but for values that need others.
func (e *expansion) known(values map[string]any, p params) map[string]any {
	filled := maps.Clone(values)
	for key, value := range values {
		text, _ := value.(string)
		made, err := e.strict.replace(text, p)
		if err == nil && text != "" {
			filled[key] = made
		}
	}
	return filled
}

// selectorOf returns the selector of a generator.
func selectorOf(content map[string]any, at *field.Path) (selector *metav1.LabelSelector, err error) {
	if err := manifest.Decode(content["selector"], &selector); err != nil || selector == nil {
		return nil, err
	}
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	checked := selector.DeepCopy()
	for key := range checked.MatchLabels {
		checked.MatchLabels[key] = "" // any text is right
	}
	var errs []error
	for _, refused := range metav1validation.ValidateLabelSelector(checked, options, at.Child("selector")) {
		errs = append(errs, refused)
	}
	return selector, errors.Join(errs...)
}

// selected returns the parameters that a selector selects by their joined names. Unlike in a selector of labels, its
// values are any texts (applicationset/utils/selector.go).
func selected(all []params, by *metav1.LabelSelector) []params {
	if by == nil {
		return all
	}
	return slices.DeleteFunc(all, func(p params) bool {
		texts := flat(p)
		for key, value := range by.MatchLabels {
			if text, isSet := texts[key]; !isSet || text != value {
				return true
			}
		}
		return slices.ContainsFunc(by.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			text, isSet := texts[r.Key]
			isListed := isSet && slices.Contains(r.Values, text)
			switch r.Operator {
			case metav1.LabelSelectorOpIn:
				return !isListed
			case metav1.LabelSelectorOpNotIn:
				return isListed
			case metav1.LabelSelectorOpExists:
				return !isSet
			}
			return isSet
		})
	})
}

// flat returns the texts of values by their joined names, of items by their index (flattenParameters in
// applicationset/generators, and github.com/jeremywohl/flatten).
func flat(values map[string]any) map[string]string {
	texts := map[string]string{}
	var add func(name string, value any)
	add = func(name string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, below := range value {
				add(name+"."+key, below)
			}
		case map[string]string:
			for key, below := range value {
				add(name+"."+key, below)
			}
		case []any:
			for i, below := range value {
				add(name+"."+strconv.Itoa(i), below)
			}
		default:
			texts[strings.TrimPrefix(name, ".")] = fmt.Sprint(value)
		}
	}
	add("", values)
	return texts
}

// ofList returns the parameters of a list. Without Go templates each is a text (applicationset/generators/list.go).
func (e *expansion) ofList(g listGenerator, at *field.Path) (all []params, err error) {
	for i, element := range g.Elements {
		p := params(element)
		if !e.GoTemplate {
			p, err = texts(element, "", at.Child("elements").Index(i))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	var more []params
	if err := yaml.Unmarshal([]byte(g.ElementsYAML), &more); err != nil {
		return nil, field.Invalid(at.Child("elementsYaml"), g.ElementsYAML, err.Error())
	}
	return append(all, more...), nil
}

// given returns parameters that are known from elsewhere, with the values of their generator. Without Go templates each
// is a text.
func (e *expansion) given(known []map[string]any, generator map[string]any, at *field.Path) (all []params, err error) {
	var g struct{ Values map[string]string }
	if err := manifest.Decode(generator, &g); err != nil {
		return nil, err
	}
	for _, element := range known {
		p := params(maps.Clone(element))
		if !e.GoTemplate {
			p = params{}
			for name, text := range flat(element) {
				p[name] = text
			}
		}
		all = append(all, p)
	}
	return all, e.addValues(all, g.Values, at.Child("values"))
}

// texts returns the texts of an element and, by joined names, of its values.
func texts(element map[string]any, prefix string, at *field.Path) (params, error) {
	p := params{}
	for _, key := range slices.Sorted(maps.Keys(element)) {
		value := element[key]
		values, isMap := value.(map[string]any)
		if prefix == "" && key == "values" && !isMap {
			return nil, field.Invalid(at.Child(key), value, "is no mapping: without goTemplate Argo CD takes "+
				"only one here")
		}
		if _, isText := value.(string); !isText && (prefix != "" || key != "values") {
			return nil, field.Invalid(at.Child(key), value, "is no text: without goTemplate Argo CD takes only texts "+
				"here: put it in quotes, or set goTemplate: true")
		}
		p[prefix+key] = value
		if isMap {
			delete(p, key)
			below, err := texts(values, "values.", at.Child(key))
			if err != nil {
				return nil, err
			}
			maps.Copy(p, below)
		}
	}
	return p, nil
}

// addValues adds the values of a generator to its parameters (appendTemplatedValues in applicationset/generators).
func (e *expansion) addValues(all []params, values map[string]string, at *field.Path) error {
	for _, p := range all {
		filled := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text, err := e.text(values[key], p, at.Child(key))
			if err != nil {
				return err
			}
			filled[key] = text
		}
		for key, text := range filled {
			if e.GoTemplate {
				p["values"] = filled
			} else {
				p["values."+key] = text
			}
		}
	}
	return nil
}

// matrix returns each pair of parameters of two generators (applicationset/generators/matrix.go).
func (e *expansion) matrix(g nested, at *field.Path) (all []params, err error) {
	at = at.Child("generators")
	if len(g.Generators) != 2 {
		return nil, field.Invalid(at, len(g.Generators), "a matrix has two generators: write one in another for more")
	}
	first, err := e.one(g.Generators[0], nil, at.Index(0))
	if err != nil {
		return nil, err
	}
	var unmatched error
	for _, outer := range first {
		second, err := e.one(g.Generators[1], outer, at.Index(1))
		if none := (NoMatchError{}); errors.As(err, &none) {
			unmatched = err
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, inner := range second {
			both, err := e.combined(outer, inner, at)
			if err != nil {
				return nil, err
			}
			all = append(all, both)
		}
		if len(all) > maxGenerated {
			return nil, errTooMany
		}
	}
	if len(all) == 0 {
		return nil, unmatched
	}
	return all, nil
}

// combined returns the parameters of two generators of a matrix: the first wins with Go templates, and have to
// be equal without.
func (e *expansion) combined(outer, inner params, at *field.Path) (params, error) {
	both := map[string]any{}
	if e.GoTemplate {
		for _, p := range []params{inner, outer} {
			if err := mergo.Merge(&both, map[string]any(p), mergo.WithOverride); err != nil {
				return nil, err
			}
		}
		return both, nil
	}
	for _, p := range []params{outer, inner} {
		for _, key := range slices.Sorted(maps.Keys(p)) {
			text := fmt.Sprint(p[key])
			if other, isSet := both[key]; isSet && other != text {
				return nil, field.Invalid(at, key, fmt.Sprintf("both generators have this parameter, with the values "+
					"%q and %q, and Argo CD refuses that: rename one, or set goTemplate: true", other, text))
			}
			both[key] = text
		}
	}
	return both, nil
}

// merge returns the parameters of the first generator, with the ones of others that have the same values of keys
// (applicationset/generators/merge.go).
func (e *expansion) merge(g nested, at *field.Path) (all []params, err error) {
	if len(g.Generators) < 2 {
		return nil, field.Invalid(at.Child("generators"), len(g.Generators), "a merge has two generators or more")
	}
	if len(g.MergeKeys) == 0 {
		return nil, field.Required(at.Child("mergeKeys"), "name the parameters that tell which of them belong together")
	}
	for i, content := range g.Generators {
		found, err := e.one(content, nil, at.Child("generators").Index(i))
		if err != nil {
			return nil, err
		}
		by := map[string]params{}
		for _, p := range found {
			key := keyOf(p, g.MergeKeys)
			if by[key] != nil {
				return nil, field.Invalid(at.Child("generators").Index(i), key, "two parameters of a generator have "+
					"these values of the mergeKeys, and Argo CD refuses that: add a key that tells them apart")
			}
			by[key] = p
		}
		if i == 0 {
			all = found
			continue
		}
		for _, p := range all {
			base := map[string]any(p)
			over := map[string]any(by[keyOf(p, g.MergeKeys)])
			if !e.GoTemplate {
				maps.Copy(base, over)
			} else if err := mergo.Merge(&base, over, mergo.WithOverride); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// keyOf returns the values of keys in parameters, as one text.
func keyOf(p params, keys []string) string {
	values := map[string]any{}
	for _, key := range keys {
		values[key] = p[key]
	}
	encoded, _ := json.Marshal(values) // plain data
	return string(encoded)
}

// clusterGenerator makes parameters of the clusters that Argo CD knows.
type clusterGenerator struct {
	Selector metav1.LabelSelector
	Values   map[string]string
	FlatList bool
}

// IsCluster reports whether a Secret registers a cluster.
func IsCluster(o manifest.Object) bool {
	return o.GetKind() == "Secret" && o.GetLabels()["argocd.argoproj.io/secret-type"] == "cluster"
}

// ofClusters returns the parameters of the clusters in the repository, and of the one that Argo CD runs in
// (applicationset/generators/cluster.go).
func (e *expansion) ofClusters(g clusterGenerator, at *field.Path) (all []params, err error) {
	selector, err := metav1.LabelSelectorAsSelector(&g.Selector)
	if err != nil {
		return nil, field.Invalid(at.Child("selector"), field.OmitValueType{}, err.Error())
	}
	if len(e.Clusters) == 0 {
		return nil, AskingError("no Secret of the environment lists its clusters")
	}
	hasOwn := len(g.Selector.MatchLabels)+len(g.Selector.MatchExpressions) > 0
	for _, o := range e.Clusters {
		if !selector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		name := secretText(o, "name")
		server := secretText(o, "server")
		if name == "" || strings.HasPrefix(name+server, "ENC[") {
			return nil, fmt.Errorf("the values of %s are not known", o)
		}
		p := params{"name": name, "nameNormalized": normalize(name), "server": server,
			"project": secretText(o, "project")}
		e.addMetadata(p, o)
		hasOwn = hasOwn || delivery.IsInCluster("", server)
		all = append(all, p)
	}
	if !hasOwn {
		all = append(all, params{"name": "in-cluster", "nameNormalized": "in-cluster", "server": delivery.InCluster,
			"project": ""})
	}
	if err := e.addValues(all, g.Values, at.Child("values")); err != nil || !g.FlatList {
		return all, err
	}
	clusters := make([]map[string]any, len(all))
	for i, p := range all {
		clusters[i] = p
	}
	return []params{{"clusters": clusters}}, nil
}

// addMetadata adds the labels and annotations of a Secret to the parameters of its cluster.
func (e *expansion) addMetadata(p params, o manifest.Object) {
	metadata := map[string]any{}
	all := map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()}
	for name, entries := range all {
		if len(entries) > 0 {
			metadata[name] = entries
		}
	}
	if e.GoTemplate {
		p["metadata"] = metadata
		return
	}
	for key, text := range flat(map[string]any{"metadata": metadata}) {
		p[key] = text
	}
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
