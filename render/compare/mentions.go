package compare

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/render/manifest"
)

// Mentions say what other objects of an environment, before or after a change, have to do with a field.
type Mentions struct {
	Selected   sets.Set[string]      // words that are no labels of objects: they may select these
	Scaled     sets.Set[string]      // namespaces with autoscalers
	Budgeted   sets.Set[string]      // namespaces with PodDisruptionBudgets
	Limited    sets.Set[string]      // namespaces with ResourceQuotas and LimitRanges; "" for all
	Installs   sets.Set[manifest.ID] // deliveries whose objects change, if all of them are known
	Encrypted  sets.Set[manifest.ID] // deliveries of encrypted objects, which may have variables
	Successors sets.Set[Successor]
	Users      map[manifest.ID][]manifest.ID // objects that name an object by its kind, such as the source of a chart
	// Valued has the keys that stand beside one value, and not in Selected: they may select labels with that value.
	Valued map[string]sets.Set[string]
}

// Successor is a ConfigMap or Secret in place of another one, whose name has another hash.
type Successor struct{ Namespace, Before, After string }

// word matches a word that may be the key of a label or a name.
var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9./_-]*`)

// MentionsPart reports whether a word that is no label has a part.
func (m Mentions) MentionsPart(part string) bool {
	hasPart := func(text string) bool { return strings.Contains(text, part) }
	return slices.ContainsFunc(m.Selected.UnsortedList(), hasPart) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(m.Valued)), hasPart)
}

// IsLimited reports whether a quota or a range may limit the objects of a namespace.
func (m Mentions) IsLimited(namespace string) bool { return m.Limited.HasAny(namespace, "") }

// findMentions returns the words in objects. It reads no definitions.
func (both *Comparison) findMentions() Mentions {
	m := Mentions{sets.Set[string]{}, sets.Set[string]{}, sets.Set[string]{}, sets.Set[string]{},
		sets.Set[manifest.ID]{}, sets.Set[manifest.ID]{}, sets.Set[Successor]{}, map[manifest.ID][]manifest.ID{},
		map[string]sets.Set[string]{}}
	for _, c := range both.Changes {
		if !both.IsUnproven(c.InstalledBy) {
			m.Installs.Insert(c.InstalledBy)
		}
		kind := KindOf(c.Object().Unstructured)
		if c.Action() == Replaced && (kind == "ConfigMap" || kind == "Secret") {
			m.Successors.Insert(Successor{NamespaceOf(c.After), c.Before.GetName(), c.After.GetName()})
		}
	}
	for _, s := range []*Side{both.Before(), both.After()} {
		for _, o := range s.Objects {
			switch kind := o.GetKind(); {
			case kind == "PodDisruptionBudget":
				m.Budgeted.Insert(NamespaceOf(o))
			case kind == "LimitRange", kind == "ResourceQuota":
				m.Limited.Insert(NamespaceOf(o))
			case strings.HasSuffix(kind, "ResourceQuota"): // of another tool, such as OpenShift's of several namespaces
				m.Limited.Insert("")
			case strings.HasSuffix(kind, "Autoscaler"), kind == "ScaledObject":
				m.Scaled.Insert(NamespaceOf(o))
			}
			if _, isEncrypted := o.Object["sops"]; isEncrypted {
				id := manifest.Object{Unstructured: o}.IDInNamespace()
				m.Encrypted.Insert(slices.Concat(both.was[id], both.is[id])...)
			}
			visitSources(o, func(source manifest.ID) { m.Users[source] = append(m.Users[source], IDOf(o)) })
			if KindOf(o) != "CustomResourceDefinition.apiextensions.k8s.io" {
				w := words{visit: func(text string) { m.Selected.Insert(text) }, visitPair: m.addValued}
				w.visitAll(withoutChart(o))
				w.visitEncoded(o)
			}
		}
	}
	return m
}

// visitSources visits the sources of deliveries that an object names anywhere, by their kinds and names.
func visitSources(o *unstructured.Unstructured, visit func(manifest.ID)) {
	for _, value := range manifest.Values(o.Object) {
		fields, _ := value.(map[string]any)
		kind, _ := fields["kind"].(string)
		name, _ := fields["name"].(string)
		if name != "" && (strings.HasSuffix(kind, "Repository") || kind == "HelmChart") {
			namespace, _ := fields["namespace"].(string)
			visit(manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: kind, Name: name,
				Namespace: cmp.Or(namespace, NamespaceOf(o))})
		}
	}
}

// addValued adds a key beside a value.
func (m Mentions) addValued(key, value string) {
	if m.Valued[key] == nil {
		m.Valued[key] = sets.Set[string]{}
	}
	m.Valued[key].Insert(value)
}

// MaySelect reports whether a word that is no label may select the label with one of some values: it is its key, and
// the value beside it, if there is one, is the same or begins like it.
func (m Mentions) MaySelect(key string, values ...*string) bool {
	if m.Selected.Has(key) {
		return true
	}
	for wanted := range m.Valued[key] {
		if slices.ContainsFunc(values, func(is *string) bool {
			return is != nil && (strings.HasPrefix(*is, wanted) || strings.HasPrefix(wanted, *is))
		}) {
			return true
		}
	}
	return false
}

// withoutChart returns the content of an object without the fields that say which chart a release has.
func withoutChart(o *unstructured.Unstructured) map[string]any {
	spec, isMap := o.Object["spec"].(map[string]any)
	if !isMap || !ofCharts.MatchString(KindOf(o)) {
		return o.Object
	}
	fields := maps.Clone(spec)
	delete(fields, "chart")
	if one, isSource := fields["source"].(map[string]any); isSource {
		fields["source"] = withoutKey(one, "chart")
	}
	if sources, isList := fields["sources"].([]any); isList {
		several := slices.Clone(sources)
		for i, item := range several {
			if one, isSource := item.(map[string]any); isSource {
				several[i] = withoutKey(one, "chart")
			}
		}
		fields["sources"] = several
	}
	content := maps.Clone(o.Object)
	content["spec"] = fields
	return content
}

// ofCharts matches the kinds with fields that are called chart.
var ofCharts = regexp.MustCompile(
	`^(HelmRelease\.helm|HelmChart\.source)\.toolkit\.fluxcd\.io$|^Application\.argoproj\.io$`)

func withoutKey(of map[string]any, key string) map[string]any {
	of = maps.Clone(of)
	delete(of, key)
	return of
}

// words visits the keys and the words of objects.
type words struct {
	visit func(text string)
	// visitPair is called with a key beside a value that a label may have.
	visitPair func(key, value string)
}

// comment matches a comment in a text of YAML or a script, which selects nothing: a line, or the end of one without
// quotes, as its beginning may be in a text.
var comment = regexp.MustCompile(`(?m)^[ \t]*#.*$|[ \t]#[ \t][^"'\n]*$`)

// visitAll visits the keys and the words of texts below a value, without the names and labels of an object and of its
// templates.
func (w words) visitAll(content any) {
	switch content := content.(type) {
	case string:
		content = comment.ReplaceAllString(content, "")
		texts := word.FindAllString(content, -1)
		if plain := strings.ReplaceAll(content, `\.`, "."); plain != content { // of a JSONPath
			texts = append(texts, word.FindAllString(plain, -1)...)
		}
		for _, text := range texts {
			_, label, _ := strings.Cut(text, "labels.") // of an expression: metadata.labels.chart
			w.visit(text)
			w.visit(label)
		}
	case []any:
		for _, item := range content {
			w.visitAll(item)
		}
	case map[string]any:
		for key, value := range content {
			w.visitKey(key, value)
			metadata, isMap := value.(map[string]any)
			if isOwn := content["spec"] != nil || content["kind"] != nil; isMap && isOwn && key == "metadata" {
				value = metadata["annotations"]
			}
			w.visitAll(value)
		}
	}
}

func (w words) visitKey(key string, value any) {
	text, isText := value.(string)
	isValue := isText && text != "" && len(text) <= validation.LabelValueMaxLength
	if isValue && len(validation.IsValidLabelValue(text)) == 0 {
		w.visitPair(key, text)
		return
	}
	w.visit(key)
}

// visitEncoded visits the words of the values of a Secret and the binary ones of a ConfigMap, which are in base64.
func (w words) visitEncoded(o *unstructured.Unstructured) {
	field := map[string]string{"Secret": "data", "ConfigMap": "binaryData"}[KindOf(o)]
	values, _, _ := unstructured.NestedStringMap(o.Object, field)
	for _, value := range values {
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
			w.visitAll(string(decoded))
		}
	}
}

// Quantity returns the number of a quantity, and whether it is one.
func Quantity(text *string) (float64, bool) {
	if text == nil {
		return 0, false
	}
	q, err := resource.ParseQuantity(*text)
	return q.AsApproximateFloat64(), err == nil
}
