package advice

import (
	"fmt"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/render/object"
)

// reference is the name of a ConfigMap or Secret in a Pod, or in what Pods are made from.
type reference struct{ kind, name, field string }

// podSpec is the spec of the Pods that an object of a built-in kind is or makes, and its
// field.
func podSpec(o object.Object) (spec map[string]any, field string) {
	path, ok := object.PodTemplatePath(o.GetKind())
	if !ok || !scheme.Scheme.IsGroupRegistered(o.GroupVersionKind().Group) {
		return nil, ""
	}
	path = append(path, "spec")
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	spec, _ = value.(map[string]any)
	return spec, strings.Join(path, ".")
}

// references are the ConfigMaps and Secrets that an object names and cannot do without.
func references(o object.Object) (found []reference) {
	if isAt(o) { // it is like a container
		spec, _ := o.Object["spec"].(map[string]any)
		return containerReferences(spec, "spec")
	}
	spec, field := podSpec(o)
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for at, container := range items(spec, list, field) {
			found = append(found, containerReferences(container, at)...)
		}
	}
	for at, volume := range items(spec, "volumes", field) {
		found = refer(found, "ConfigMap", volume["configMap"], at+".configMap", "name")
		found = refer(found, "Secret", volume["secret"], at+".secret", "secretName")
		projected, _ := volume["projected"].(map[string]any)
		for at, source := range items(projected, "sources", at+".projected") {
			found = refer(found, "ConfigMap", source["configMap"], at+".configMap", "name")
			found = refer(found, "Secret", source["secret"], at+".secret", "name")
		}
	}
	for at, secret := range items(spec, "imagePullSecrets", field) {
		found = refer(found, "Secret", secret, at, "name")
	}
	return found
}

func containerReferences(container map[string]any, field string) (found []reference) {
	for at, variable := range items(container, "env", field) {
		from, _ := variable["valueFrom"].(map[string]any)
		found = refer(found, "ConfigMap", from["configMapKeyRef"], at+".valueFrom.configMapKeyRef", "name")
		found = refer(found, "Secret", from["secretKeyRef"], at+".valueFrom.secretKeyRef", "name")
	}
	for at, from := range items(container, "envFrom", field) {
		found = refer(found, "ConfigMap", from["configMapRef"], at+".configMapRef", "name")
		found = refer(found, "Secret", from["secretRef"], at+".secretRef", "name")
	}
	return found
}

// items are the mappings of a list in a mapping, with their fields.
func items(mapping map[string]any, key, field string) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		list, _ := mapping[key].([]any)
		for i, item := range list {
			if content, ok := item.(map[string]any); ok && !yield(fmt.Sprintf("%s.%s[%d]", field, key, i), content) {
				return
			}
		}
	}
}

// refer adds the reference that a field holds, if any, unless it is optional.
func refer(found []reference, kind string, value any, field, nameKey string) []reference {
	content, _ := value.(map[string]any)
	name, _ := content[nameKey].(string)
	if isOptional, _ := content["optional"].(bool); isOptional || name == "" {
		return found
	}
	return append(found, reference{kind: kind, name: name, field: field + "." + nameKey})
}
