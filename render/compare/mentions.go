package compare

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

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
}

// Successor is a ConfigMap or Secret in place of another one, whose name has another hash.
type Successor struct{ Namespace, Before, After string }

// word matches a word that may be the key of a label or a name.
var word = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9./_-]*`)

// MentionsPart reports whether a word that is no label has a part.
func (m Mentions) MentionsPart(part string) bool {
	for text := range m.Selected {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// IsLimited reports whether a quota or a range may limit the objects of a namespace.
func (m Mentions) IsLimited(namespace string) bool { return m.Limited.HasAny(namespace, "") }

// findMentions returns the words in objects. It reads no definitions.
func (both *Comparison) findMentions() Mentions {
	m := Mentions{sets.Set[string]{}, sets.Set[string]{}, sets.Set[string]{}, sets.Set[string]{},
		sets.Set[manifest.ID]{}, sets.Set[manifest.ID]{}, sets.Set[Successor]{}, map[manifest.ID][]manifest.ID{}}
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
				visitWords(o.Object, func(text string) { m.Selected.Insert(text) })
				visitEncoded(o, func(text string) { m.Selected.Insert(text) })
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

// visitWords visits the keys and the words of texts below a value, without the names and labels of an object and of its
// templates.
func visitWords(content any, visit func(string)) {
	switch content := content.(type) {
	case string:
		words := word.FindAllString(content, -1)
		if plain := strings.ReplaceAll(content, `\.`, "."); plain != content { // of a JSONPath
			words = append(words, word.FindAllString(plain, -1)...)
		}
		for _, text := range words {
			_, label, _ := strings.Cut(text, "labels.") // of an expression: metadata.labels.chart
			visit(text)
			visit(label)
		}
	case []any:
		for _, item := range content {
			visitWords(item, visit)
		}
	case map[string]any:
		for key, value := range content {
			visit(key)
			metadata, isMap := value.(map[string]any)
			if isOwn := content["spec"] != nil || content["kind"] != nil; isMap && isOwn && key == "metadata" {
				value = metadata["annotations"]
			}
			visitWords(value, visit)
		}
	}
}

// visitEncoded visits the words of the values of a Secret and the binary ones of a ConfigMap, which are in base64.
func visitEncoded(o *unstructured.Unstructured, visit func(string)) {
	field := map[string]string{"Secret": "data", "ConfigMap": "binaryData"}[KindOf(o)]
	values, _, _ := unstructured.NestedStringMap(o.Object, field)
	for _, value := range values {
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
			visitWords(string(decoded), visit)
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
