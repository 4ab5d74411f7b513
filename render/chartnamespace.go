package render

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// lostNamespaces warns of charts in a namespace whose objects name none: kustomize leaves these alone, and a sync puts
// them into its own namespace.
func (p *pipeline) lostNamespaces() (warnings []manifest.Problem) {
	found := make([][]string, len(p.sources.Charts))
	for _, o := range p.root.known() {
		isNamespaced, _ := p.checker.IsNamespaced(o.GroupVersionKind())
		path := p.root.paths.Find(o)
		if path != nil && path.Document.FromChart && isNamespaced && o.GetNamespace() == "" {
			if i := p.sources.ChartOf(path.Document); i >= 0 {
				found[i] = append(found[i], o.String())
			}
		}
	}
	for i, c := range p.sources.Charts {
		if names := found[i]; len(names) > 0 && c.Namespace != "" && c.Namespace != metav1.NamespaceDefault {
			warnings = append(warnings, manifest.Problem{Code: manifest.InvalidChart,
				File: c.File, Line: node.Line(c.Node, "name"), Warning: true,
				Message: fmt.Sprintf("chart %s: kustomize gives no namespace to objects of charts, and the templates "+
					"give none to %s: they go to the namespace default, or that of the tool, and not to %s: set it by "+
					"a value of the chart, or by a patch", c.Name, manifest.FirstOf(3, names), c.Namespace)})
		}
	}
	return warnings
}
