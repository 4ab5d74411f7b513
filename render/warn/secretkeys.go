package warn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// unknownSecretKeys warns of {{ .NAME }} in the template of an ExternalSecret whose data has no such secretKey: the
// controller fails, or writes "<no value>". With dataFrom, or a template of another engine, the keys are unknown. See
// pkg/template/v2 of external-secrets.
func unknownSecretKeys(_ Input, o manifest.Object) (warnings []manifest.Problem) {
	if o.GetKind() != "ExternalSecret" || o.GroupVersionKind().Group != "external-secrets.io" {
		return nil
	}
	spec, _ := o.Object["spec"].(map[string]any)
	template, _ := decoding.At(spec, []string{"target", "template"}).(map[string]any)
	from, _ := spec["dataFrom"].([]any)
	data, _ := spec["data"].([]any)
	if len(from) > 0 || len(data) == 0 || template["engineVersion"] == "v1" {
		return nil
	}
	var keys []string
	for _, item := range data {
		key, _ := decoding.At(item, []string{"secretKey"}).(string)
		keys = append(keys, key)
	}
	for _, below := range [][]string{{"data"}, {"metadata", "labels"}, {"metadata", "annotations"}} {
		texts, _ := decoding.At(template, below).(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			text, _ := texts[key].(string)
			for _, name := range fieldsOf(text) {
				if !slices.Contains(keys, name) && !strings.Contains(strings.Join(keys, ""), "$") {
					at := slices.Concat([]string{"spec", "target", "template"}, below, []string{key})
					warnings = append(warnings, warningAt(o, at, "spec.data has no secretKey %s%s", name,
						instead(name, keys)))
				}
			}
		}
	}
	return warnings
}

// fieldsOf returns the fields of the data that a template takes without a condition, none if it is malformed.
func fieldsOf(text string) (names []string) {
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	tree, err := t.Parse(text, "{{", "}}", map[string]*parse.Tree{})
	if err != nil || tree.Root == nil {
		return nil
	}
	for _, node := range tree.Root.Nodes {
		action, isAction := node.(*parse.ActionNode)
		if !isAction {
			continue
		}
		for _, command := range action.Pipe.Cmds {
			for _, argument := range command.Args {
				if field, isField := argument.(*parse.FieldNode); isField && !slices.Contains(names, field.Ident[0]) {
					names = append(names, field.Ident[0])
				}
			}
		}
		if strings.Contains(fmt.Sprint(action), "default") || strings.Contains(fmt.Sprint(action), "coalesce") {
			return nil
		}
	}
	return names
}
