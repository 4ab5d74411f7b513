package page

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// section is about the objects of a kind.
type section struct {
	kind      *kind.Kind
	page      kind.Page
	paths     filePaths
	entries   []*entry
	columns   []column
	sentences []string // of columns that all objects share
}

// entry is an object in a section.
type entry struct {
	kind.Row
	namespace, name string
	object          kind.Rendered[*unstructured.Unstructured]
	schedule        string    // as it is written
	due             time.Time // in UTC
}

// column is a column of the table, with the cells of all entries in Markdown.
type column struct {
	title string
	cells []string
	index int // among the columns of the kind
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
		e := &entry{namespace: manifest.Object{Unstructured: o.Object}.NamespaceOrDefault(), name: o.Object.GetName(), object: o}
		if i < len(s.page.Rows) {
			e.Row = s.page.Rows[i]
		}
		if v.Kind.TimeField != "" {
			e.schedule, _, _ = unstructured.NestedString(o.Object.Object, strings.Split(v.Kind.TimeField, ".")...)
			due, _ := time.Parse(time.RFC3339, e.schedule)
			e.due = due.UTC()
		}
		s.entries = append(s.entries, e)
	}
	slices.SortStableFunc(s.entries, func(a, b *entry) int { return a.due.Compare(b.due) })
	s.readColumns()
	return s, nil
}

// readColumns makes sentences of the columns that all objects share, and keeps the others.
func (s *section) readColumns() {
	hasLinks := false
	for i, c := range s.page.Columns {
		read := column{escape(c.Name), make([]string, len(s.entries)), i}
		values := map[string]bool{}
		for j, e := range s.entries {
			if i < len(e.Cells) {
				read.cells[j] = s.markdown(e.Cells[i])
				values[read.cells[j]] = true
				hasLinks = hasLinks || slices.ContainsFunc(e.Cells[i], func(t kind.Text) bool { return t.Link != nil })
			}
		}
		someLack := values[""]
		delete(values, "")
		if c.Shared != "" && len(values) < 2 {
			for value := range values {
				s.sentences = append(s.sentences, fmt.Sprintf(c.Shared, value))
			}
			if len(values) == 0 || !someLack {
				continue
			}
			for j, cell := range read.cells {
				if cell != "" {
					read.cells[j] = "yes"
				}
			}
		}
		if c.IsNumber {
			read.title += ":"
		}
		s.columns = append(s.columns, read)
	}
	if !hasLinks {
		last := column{title: "Rendered to", index: len(s.page.Columns)}
		for _, e := range s.entries[:min(len(s.entries), maxRows)] {
			last.cells = append(last.cells, s.links(e.object.Children))
		}
		s.columns = append(s.columns, last)
	}
}

func (s *section) write(page *bytes.Buffer) {
	kinds, timed := plural(s.kind.GVK.Kind), s.kind.TimeField != ""
	fmt.Fprintf(page, "\n## %s\n\n", kinds)
	summary := s.sentences
	if len(s.page.Summary) > 0 {
		summary = slices.Insert(summary, 0, s.markdown(s.page.Summary))
	}
	if timed {
		summary = slices.Insert(summary, 0, writeTimeline(page, s.entries, s.kind.GVK.Kind))
	}
	if len(summary) > 0 {
		page.WriteString(strings.Join(summary, " ") + "\n\n")
	}
	s.writeNamespaces(page)

	t := table{columns: []string{"Namespace", s.kind.GVK.Kind}}
	if timed {
		t.columns = slices.Insert(t.columns, 0, "Schedule")
	}
	for _, c := range s.columns {
		t.columns = append(t.columns, c.title)
	}
	for i, e := range s.entries[:min(len(s.entries), maxRows)] {
		row := []string{word(e.namespace), s.link(word(e.name), e.object.Object)}
		if timed {
			row = slices.Insert(row, 0, e.times())
		}
		for _, c := range s.columns {
			row = append(row, c.cells[i])
		}
		t.add(row...)
	}
	t.addRest(len(s.entries), kinds)
	if s.page.Totals != nil {
		t.rows = append(t.rows, append([]string{bold("all"), ""}, s.total("", s.columns)...))
	}
	t.write(page)
}

// writeNamespaces writes a table of the totals of namespaces, if there are several.
func (s *section) writeNamespaces(page *bytes.Buffer) {
	counts := map[string]int{}
	for _, e := range s.entries {
		counts[e.namespace]++
	}
	if s.page.Totals == nil || len(counts) < 2 {
		return
	}
	t := table{columns: []string{"Namespace", plural(s.kind.GVK.Kind) + ":"}}
	summed := slices.Clone(s.columns)
	for i, cell := range s.total("", s.columns) {
		if cell != "" {
			t.columns = append(t.columns, s.columns[i].title)
		}
	}
	summed = slices.DeleteFunc(summed, func(c column) bool { return !slices.Contains(t.columns, c.title) })
	for _, namespace := range slices.Sorted(maps.Keys(counts)) {
		t.add(append([]string{word(namespace), fmt.Sprint(counts[namespace])}, s.total(namespace, summed)...)...)
	}
	t.addRest(len(counts), "namespaces")
	t.rows = append(t.rows, append([]string{bold("all"), bold(fmt.Sprint(len(s.entries)))}, s.total("", summed)...))
	t.write(page)
	page.WriteString("\n")
}

// total returns the cells of columns that sum up a namespace; in bold those that sum up all.
func (s *section) total(namespace string, columns []column) (cells []string) {
	totals := s.page.Totals[namespace]
	for _, c := range columns {
		text := ""
		if c.index < len(totals) {
			text = s.markdown(totals[c.index])
		}
		if namespace == "" && text != "" {
			text = bold(text)
		}
		cells = append(cells, text)
	}
	return cells
}

// times returns the schedule as it is written, and in UTC.
func (e *entry) times() string {
	written, err := time.Parse(time.RFC3339, e.schedule)
	if _, offset := written.Zone(); err != nil || offset == 0 {
		return code(e.schedule)
	}
	return code(e.schedule) + "<br>" + stamp(e.due) + " UTC"
}

// markdown returns texts in Markdown.
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

// link returns a link to the file of an object, or the text alone where the object has none.
func (s *section) link(text string, to *unstructured.Unstructured) string {
	path, ok := s.paths[to]
	if !ok {
		return text
	}
	return "[" + text + "](" + (&url.URL{Path: path}).EscapedPath() + ")"
}

// links returns how many objects there are of each kind, with links to the first.
func (s *section) links(objects []*unstructured.Unstructured) string {
	const most = 5
	byKind := map[string][]*unstructured.Unstructured{}
	for _, o := range objects {
		byKind[o.GetKind()] = append(byKind[o.GetKind()], o)
	}
	links := slices.Sorted(maps.Keys(byKind))
	for i, kind := range links {
		same := byKind[kind]
		slices.SortFunc(same, func(a, b *unstructured.Unstructured) int { return cmp.Compare(s.paths[a], s.paths[b]) })
		if len(same) == 1 {
			links[i] = s.link("1 "+kind, same[0])
			continue
		}
		links[i] = count(len(same), kind) + ":"
		for j, o := range same[:min(len(same), most)] {
			links[i] += " " + s.link(fmt.Sprint(j+1), o)
		}
		if len(same) > most {
			links[i] += " …"
		}
	}
	if len(links) == 0 {
		return "nothing"
	}
	return strings.Join(links, ", ")
}
