package kind

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// View is what a function of a kind for people, such as Definition.Page, sees of a rendered
// environment. It is not to be changed.
type View[T any] struct {
	// Objects are all objects of the kind, sorted by namespace and name.
	Objects []Rendered[*T]

	Environment
}

// Rendered is an object and what it is rendered to.
type Rendered[O any] struct {
	// Object is the object as it is committed: of the defaults it has those of
	// Definition.KeepDefaults.
	Object O

	// Children are the objects that it is rendered to, as overrides leave them.
	Children []*unstructured.Unstructured
}

// Child returns the first child of a group and kind, nil where there is none.
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
	// All are all its objects.
	All []*unstructured.Unstructured

	// CRD is the CustomResourceDefinition of the kind, of the environment or of something else
	// that brings it; nil where render knows of none.
	CRD *unstructured.Unstructured

	// Now is the time; zero where the result may not depend on it, as that of Page.
	Now time.Time
}

// Page is what the page about an environment, rendered/<environment>/README.md, has about the
// objects of a kind: a summary and a table. Of a kind with a TimeField it also has a timeline.
type Page struct {
	// Summary is text above the table.
	Summary []Text

	// Columns follow the columns of the namespace and the name. Where no cell links to an
	// object, a last column links to what each object is rendered to.
	Columns []Column

	// Rows are those of View.Objects, in the same order.
	Rows []Row

	// Totals are the cells of rows that sum up a namespace, by its name, or by "" all
	// namespaces; nil for no such rows.
	Totals map[string][]Cell
}

// Column is a column of the table.
type Column struct {
	Name string

	// IsNumber aligns the column to the right.
	IsNumber bool

	// Shared is a sentence for the summary, such as "The image is %s.". It takes the place of
	// the column where all cells are the same. Where the others are empty, the column says yes
	// or nothing. Cells that a row lacks at its end do not count.
	Shared string
}

// Row is the row of an object.
type Row struct {
	// Cells are those of Page.Columns. Cells at the end may be left out.
	Cells []Cell

	// Mark is shown beside the object in the timeline, such as suspended; empty for nothing.
	Mark string
}

// Cell is a cell of a table: texts, one after the other.
type Cell []Text

// Text is a text on the page. Nothing in it has a meaning to Markdown.
type Text struct {
	Text  string
	Style Style

	// Link is an object of the environment, to whose file the text links; nil for no link.
	Link *unstructured.Unstructured
}

// Style is how a text looks.
type Style int

// The styles of texts.
const (
	PlainStyle Style = iota
	CodeStyle
	BoldStyle
)

// Plain returns a plain text. A line break in it is one on the page.
func Plain(text string) Text { return Text{Text: text} }

// Code returns a text that is shown as code. The page cuts what is longer than 72 characters.
func Code(text string) Text { return Text{Text: text, Style: CodeStyle} }

// Bold returns a bold text.
func Bold(text string) Text { return Text{Text: text, Style: BoldStyle} }

// Link returns a text that links to the file of an object.
func Link(text string, object *unstructured.Unstructured) Text {
	return Text{Text: text, Link: object}
}
