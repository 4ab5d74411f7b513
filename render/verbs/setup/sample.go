package setup

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// newSample returns a manifest for users to edit, with a comment on each field. Other fields than values are
// comments with their default or an example. Columns of `kubectl get` always have their default.
func newSample(k *kind.Kind, o *Outline, namespace, name string, values map[string]any) []byte {
	isSet := func(f Field) bool { return values[f.Name] != nil || f.Shown && f.Default != nil }
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", o.Sentence, k.GVK().GroupVersion(),
		k.GVK().Kind, manifest.Scalar(name))
	if namespace != "" {
		fmt.Fprintf(&b, "  namespace: %s\n", manifest.Scalar(namespace))
	}
	switch {
	case !o.hasSpec:
		return b.Bytes()
	case slices.ContainsFunc(o.Fields, isSet):
		b.WriteString("spec:\n")
	default:
		b.WriteString("spec: {}\n")
	}
	for _, f := range o.Fields {
		prefix := "  #"
		value := cmp.Or(f.Default, f.Example)
		if isSet(f) {
			prefix = "  "
			value = cmp.Or(values[f.Name], f.Default)
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

// fieldYAML returns a field and its value as YAML. A text with several lines is a block, unless it contains
// a line end that only some parsers recognize.
func fieldYAML(name string, value any) string {
	text, isText := value.(string)
	if isText && (!strings.Contains(text, "\n") || strings.ContainsAny(text, manifest.LineEnds)) {
		return name + ": " + manifest.Scalar(text) + "\n"
	}
	return string(manifest.ToYAML(map[string]any{name: value}))
}

// lineStart matches the start of each nonempty line.
var lineStart = regexp.MustCompile(`(?m)^(.)`)
