package kind

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// View is the input of Definition.Page and Definition.Warnings: a rendered environment. These functions
// must not change it.
type View[T any] struct {
	// Objects are the source objects of the kind, sorted by namespace and name.
	Objects []Rendered[*T]

	Environment
}

// Rendered is a source object and its rendered objects.
type Rendered[O any] struct {
	// Object is the committed object. Missing fields are empty, except for the defaults of
	// Definition.KeepDefaults.
	Object O

	// Children are its rendered objects, after the overrides.
	Children []*unstructured.Unstructured
}

// Child returns the first child of a group and kind, or nil.
func (r Rendered[O]) Child(group, kind string) *unstructured.Unstructured {
	for _, child := range r.Children {
		if gvk := child.GroupVersionKind(); gvk.Group == group && gvk.Kind == kind {
			return child
		}
	}
	return nil
}

// Environment is a rendered environment.
type Environment struct {
	// All are all objects of the environment.
	All []*unstructured.Unstructured

	// CRD is the CustomResourceDefinition of the kind, from the environment or from outside; nil
	// if render knows none.
	CRD *unstructured.Unstructured

	// Now is the time of rendering. It is zero for Page, which must not depend on it.
	Now time.Time
}

// Page is the part for a kind of the page of an environment, rendered/<environment>/README.md: a summary
// and a table.
type Page struct {
	// Summary is text above the table.
	Summary []Text

	// Columns follow the columns of the namespace and the name. If no cell links to an object,
	// render adds a column that links to the children.
	Columns []Column

	// Rows has a row for each of View.Objects, in the same order.
	Rows []Row

	// Totals are the cells of rows with totals: by the name of a namespace, or by "" for all
	// namespaces. Nil means no such rows.
	Totals map[string][]Cell
}

// Column is a column of the table.
type Column struct {
	Name string

	// IsNumber aligns the column to the right.
	IsNumber bool

	// Shared is a sentence for the summary, such as "The image is %s.". If all cells are the same,
	// it replaces the column. If the other cells are empty, it goes into the summary and the
	// column says yes or nothing. Cells that a row lacks at its end do not count.
	Shared string
}

// Row is the row of an object.
type Row struct {
	// Cells has a cell for each of Page.Columns. Cells at the end may be left out.
	Cells []Cell
}

// Cell is a cell of a table: a sequence of texts.
type Cell []Text

// Text is a text on the page. The page escapes Markdown in it.
type Text struct {
	Text  string
	Style Style

	// Link is an object of the environment. The text links to its file. Nil means no link.
	Link *unstructured.Unstructured
}

// Style is the style of a Text.
type Style int

// The styles of texts.
const (
	PlainStyle Style = iota
	CodeStyle
	BoldStyle
)

// Plain returns a plain text. Line breaks in it stay line breaks.
func Plain(text string) Text { return Text{Text: text} }

// Code returns a text in code style. The page cuts it after 72 characters.
func Code(text string) Text { return Text{Text: text, Style: CodeStyle} }

// Bold returns a bold text.
func Bold(text string) Text { return Text{Text: text, Style: BoldStyle} }

// Link returns a text that links to the file of an object.
func Link(text string, object *unstructured.Unstructured) Text {
	return Text{Text: text, Link: object}
}

// Warning is about a valid object with a likely mistake.
type Warning struct {
	// Object is one of View.Objects.
	Object metav1.Object

	// Field is the path of the field with the mistake, such as spec.schedule; empty for the
	// whole object.
	Field string

	// Message names the mistake and a remedy.
	Message string

	// IfNew limits the warning to an object that is new in rendered/, or has a new rendered object.
	IfNew bool
}
