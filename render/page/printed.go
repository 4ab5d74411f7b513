package page

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// specField matches the path of a field of a spec.
var specField = regexp.MustCompile(`^\.spec(\.[A-Za-z0-9_-]+)+$`)

// printedPage returns the default page of a kind: the columns of `kubectl get` with fields of the spec.
func printedPage(v registry.View) (page kind.Page) {
	_, version, err := v.Kind.ReadCRD()
	if err != nil || version == nil {
		return page // registry.New reports it
	}
	page.Rows = make([]kind.Row, len(v.Objects))
	for _, c := range version.AdditionalPrinterColumns {
		if c.Priority > 0 || !specField.MatchString(c.JSONPath) {
			continue
		}
		page.Columns = append(page.Columns,
			kind.Column{Name: c.Name, IsNumber: c.Type == "integer" || c.Type == "number"})
		for i, o := range v.Objects {
			page.Rows[i].Cells = append(page.Rows[i].Cells, valueCell(o.Object, strings.Split(c.JSONPath[1:], ".")))
		}
	}
	return page
}

func valueCell(o *unstructured.Unstructured, path []string) kind.Cell {
	value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	text := fmt.Sprint(value)
	switch {
	case !ok || value == nil:
		return nil
	case isWord(text):
		return kind.Cell{kind.Plain(text)}
	}
	return kind.Cell{kind.Code(text)}
}
