package page

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// section is the part of a page about one kind.
type section struct {
	kind    *kind.Kind
	page    kind.Page
	paths   filePaths
	entries []*entry
}

// entry is an object in a section.
type entry struct {
	kind.Row
	namespace, name string
	object          kind.Rendered[*unstructured.Unstructured]
	schedule        string    // in the source object
	due             time.Time // in UTC
}

func newSection(v registry.View, paths filePaths) (*section, error) {
	s := &section{kind: v.Kind, paths: paths}
	if v.Kind.Page == nil {
		s.page = printedPage(v)
	} else if page, err := v.Page(); err != nil {
		return nil, err
	} else {
		s.page = page
	}
	for i, o := range v.Objects {
		e := &entry{namespace: manifest.Object{Unstructured: o.Object}.NamespaceOrDefault(),
			name: o.Object.GetName(), object: o}
		if i < len(s.page.Rows) {
			e.Row = s.page.Rows[i]
		}
		if v.Kind.TimeField() != "" {
			e.schedule, _, _ = unstructured.NestedString(o.Object.Object, strings.Split(v.Kind.TimeField(), ".")...)
			due, _, _ := kind.ParseTime(e.schedule)
			e.due = due.UTC()
		}
		s.entries = append(s.entries, e)
	}
	slices.SortStableFunc(s.entries, func(a, b *entry) int { return a.due.Compare(b.due) })
	return s, nil
}

// columns returns the columns of the table, and sentences about values that all objects share.
func (s *section) columns() (columns []column, sentences []string) {
	hasLinks := false
	for i, c := range s.page.Columns {
		read := s.column(i)
		values := map[string]bool{}
		for j, e := range s.entries {
			if i < len(e.Cells) {
				values[read.cells[j]] = true
				hasLinks = hasLinks || slices.ContainsFunc(e.Cells[i], func(t kind.Text) bool { return t.Link != nil })
			}
		}
		someLack := values[""]
		delete(values, "")
		if c.Shared == "" || len(values) > 1 {
			columns = append(columns, read)
			continue
		}
		for value := range values {
			sentences = append(sentences, fmt.Sprintf(c.Shared, value))
		}
		if len(values) == 1 && someLack {
			for j, cell := range read.cells {
				if cell != "" {
					read.cells[j] = "yes"
				}
			}
			columns = append(columns, read)
		}
	}
	if !hasLinks {
		columns = append(columns, newColumn("Rendered to", s.entries, func(e *entry) string {
			return s.links(e.object.Children)
		}))
	}
	return columns, sentences
}

func (s *section) column(i int) column {
	of := s.page.Columns[i]
	c := column{title: escape(of.Name), isNumber: of.IsNumber, cells: make([]string, len(s.entries)),
		totals: map[string]string{}}
	for j, e := range s.entries {
		if i < len(e.Cells) {
			c.cells[j] = s.markdown(e.Cells[i])
		}
	}
	for namespace, cells := range s.page.Totals {
		if i < len(cells) {
			c.totals[namespace] = s.markdown(cells[i])
		}
	}
	return c
}

func (s *section) write(page *bytes.Buffer) {
	kinds, isTimed := kind.Plural(s.kind.GVK().Kind), s.kind.TimeField() != ""
	fmt.Fprintf(page, "\n## %s\n\n", kinds)
	var summary []string
	if len(s.page.Summary) > 0 {
		summary = append(summary, s.markdown(s.page.Summary))
	}
	columns, sentences := s.columns()
	if summary = append(summary, sentences...); len(summary) > 0 {
		page.WriteString(strings.Join(summary, " ") + "\n\n")
	}
	columns = slices.Insert(columns, 0,
		newColumn("Namespace", s.entries, func(e *entry) string { return word(e.namespace) }),
		newColumn(s.kind.GVK().Kind, s.entries, func(e *entry) string { return s.link(word(e.name), e.object.Object) }))
	if isTimed {
		columns = slices.Insert(columns, 0, newColumn("Schedule", s.entries, (*entry).times))
	}
	if s.page.Totals != nil {
		columns[0].totals = map[string]string{"": "all"}
	}
	writeTable(page, len(s.entries), kinds, columns)
}

// times returns the schedule, and its time in UTC if the schedule has another offset.
func (e *entry) times() string {
	written, _, err := kind.ParseTime(e.schedule)
	if _, offset := written.Zone(); err != nil || offset == 0 {
		return code(e.schedule)
	}
	return code(e.schedule) + "<br>" + stamp(e.due) + " UTC"
}

// stamp formats a time to the minute, or as precisely as necessary.
func stamp(t time.Time) string {
	clock := "15:04"
	switch {
	case t.Nanosecond() != 0:
		clock = "15:04:05.999999999"
	case t.Second() != 0:
		clock = "15:04:05"
	}
	return t.Format("2006-01-02 " + clock)
}

func (s *section) markdown(texts []kind.Text) string {
	var b strings.Builder
	for _, t := range texts {
		text := escape(t.Text)
		switch t.Style {
		case kind.CodeStyle:
			text = code(t.Text)
		case kind.BoldStyle:
			text = bold(text)
		}
		if t.Link != nil {
			text = s.link(text, t.Link)
		}
		b.WriteString(text)
	}
	return b.String()
}

// link returns a link to an object's file, or the text alone if the object has no file.
func (s *section) link(text string, to *unstructured.Unstructured) string {
	path := s.paths.of(to)
	if path == "" {
		return text
	}
	return "[" + text + "](" + (&url.URL{Path: path}).EscapedPath() + ")"
}

// links returns the number of objects of each kind, with links to the first of them.
func (s *section) links(objects []*unstructured.Unstructured) string {
	const maxLinks = 5
	byKind := map[string][]*unstructured.Unstructured{}
	for _, o := range objects {
		byKind[o.GetKind()] = append(byKind[o.GetKind()], o)
	}
	links := slices.Sorted(maps.Keys(byKind))
	for i, kind := range links {
		same := byKind[kind]
		slices.SortFunc(same, func(a, b *unstructured.Unstructured) int {
			return cmp.Compare(s.paths.of(a), s.paths.of(b))
		})
		if len(same) == 1 {
			links[i] = s.link("1 "+kind, same[0])
			continue
		}
		links[i] = count(len(same), kind) + ":"
		for j, o := range same[:min(len(same), maxLinks)] {
			links[i] += " " + s.link(fmt.Sprint(j+1), o)
		}
		if len(same) > maxLinks {
			links[i] += " …"
		}
	}
	if len(links) == 0 {
		return "nothing"
	}
	return strings.Join(links, ", ")
}

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
