package setup

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// newSample returns the manifest of an object, for a person to edit. A comment describes each
// field. Fields that are not given are comments themselves, with their default or an example; those
// that `kubectl get` shows have their default.
func newSample(k *kind.Kind, o *Outline, namespace, name string, values map[string]any) []byte {
	isWritten := func(f Field) bool { return values[f.Name] != nil || f.Shown && f.Default != nil }
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", o.Sentence, k.GVK().GroupVersion(), k.GVK().Kind, manifest.Scalar(name))
	if namespace != "" {
		fmt.Fprintf(&b, "  namespace: %s\n", manifest.Scalar(namespace))
	}
	switch {
	case !o.hasSpec:
		return b.Bytes()
	case slices.ContainsFunc(o.Fields, isWritten):
		b.WriteString("spec:\n")
	default:
		b.WriteString("spec: {}\n")
	}
	for _, f := range o.Fields {
		prefix, value := "  #", cmp.Or(f.Default, f.Example)
		if isWritten(f) {
			prefix, value = "  ", cmp.Or(values[f.Name], f.Default)
		}
		if value == nil {
			continue
		}
		if f.schema.Description != "" {
			fmt.Fprintf(&b, "  # %s\n", firstSentence(f.schema.Description))
		}
		b.WriteString(lineStart.ReplaceAllString(fieldYAML(f.Name, value), prefix+"$1"))
	}
	return b.Bytes()
}

// fieldYAML returns a field and its value as YAML. Text of several lines is a block, unless it has
// a character that ends a line for some readers only.
func fieldYAML(name string, value any) string {
	text, isText := value.(string)
	if isText && (!strings.Contains(text, "\n") || strings.ContainsAny(text, manifest.LineEnds)) {
		return name + ": " + manifest.Scalar(text) + "\n"
	}
	content, err := yaml.Marshal(map[string]any{name: value})
	if err != nil {
		panic(err) // values are what was read from YAML
	}
	return string(content)
}

// lineStart matches the start of each line that is not empty.
var lineStart = regexp.MustCompile(`(?m)^(.)`)
