package charts

import (
	"maps"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/templates"
)

// functions returns functions in the place of the functions of Helm. They return the same, or a stand-in for a result
// that changes.
func (r *run) functions() template.FuncMap {
	functions := templates.Functions(template.FuncMap{
		"lookup": func(_, _, _, _ string) map[string]any {
			r.hasAsked = true
			return map[string]any{}
		},
		// as Helm, which drops errors, and does not bound the text
		"toYaml": func(value any) string { text, _ := templates.ToYAML(value); return text },
	}, r.change, r.isOther)
	delete(functions, "fail") // Helm has its own
	delete(functions, "fromJson")
	maps.Copy(functions, r.actions())
	return functions
}

// executeName returns the name that a nameTemplate makes.
func executeName(original string) (string, error) {
	return templates.NewMaker(template.New("nameTemplate"), nil).Make(original, nil)
}

// codeOf returns the code of an error. Templates and Helm pass errors on as text.
func codeOf(err error) metav1.CauseType {
	for _, own := range []error{templates.ErrChanging, errDeep, templates.ErrLarge} {
		if strings.Contains(err.Error(), own.Error()) {
			return manifest.ChartRuleOfRender
		}
	}
	return ""
}
