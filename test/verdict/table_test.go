package verdict_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/verdict/apiserver"
)

// Each object of the tables has the same verdict, fields and warnings of render and of the API server.
func TestTablesHaveTheSameVerdict(t *testing.T) {
	judge := newJudge(t)
	agreement, number := agreement{}, 0
	for _, file := range tables(t) {
		cases := readCases(t, file, number)
		number += len(cases)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { agreement.compare(t, judge, cases) })
	}
	t.Log("\n" + agreement.String())
}

// tables returns the files of the tables.
func tables(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no tables", err)
	}
	return files
}

// compare compares the verdicts on the objects of a table.
func (a agreement) compare(t *testing.T, judge *judge, cases []objectCase) {
	t.Helper()
	objects := make([]*unstructured.Unstructured, len(cases))
	for i, c := range cases {
		objects[i] = c.Unstructured
	}
	ofServer := judge.ask(t.Context(), objects)
	ofRender, _ := judgedByRender(t, objects)
	for i, c := range cases {
		server, render := ofServer[i], ofRender[i]
		if server.merged().refused && !render.refused && !c.isOfCluster { // render may convert or complete it
			server = judge.askOfRendered(t, c.Unstructured, server)
		}
		switch {
		case c.isOfCluster:
			if !server.merged().refused || render.refused {
				t.Errorf("%s: does not depend on the cluster\n%s", c, dispute(server, render))
			}
		case !a.add(c, server, render, kubernetes(t) == apiserver.Newest):
			t.Errorf("%s\n%s", c, dispute(server, render))
		}
	}
}

// askOfRendered returns the verdict on the rendered form of an object, if it is rendered.
func (j *judge) askOfRendered(t *testing.T, u *unstructured.Unstructured, written clusterVerdicts) clusterVerdicts {
	t.Helper()
	rendering, _ := renderAll(t, []*unstructured.Unstructured{u})
	if rendering == nil {
		return written
	}
	return j.ask(t.Context(), []*unstructured.Unstructured{rendering.Objects[0].Unstructured})[0]
}

// dispute formats the verdicts on an object.
func dispute(server clusterVerdicts, render answer) string {
	var b strings.Builder
	for _, of := range []struct {
		name string
		answer
	}{{"create", server.create}, {"apply", server.apply}, {"render", render}} {
		fmt.Fprintf(&b, "  %s: refused: %t, fields %q\n", of.name, of.refused, of.fields)
		for _, m := range of.messages {
			fmt.Fprintf(&b, "    %s\n", m)
		}
		for _, w := range of.warnings {
			fmt.Fprintf(&b, "    Warning: %s\n", w)
		}
	}
	return b.String()
}

// agreement counts equal verdicts by kind.
type agreement map[string]*counts

type counts struct {
	objects, create, apply, render, verdicts, fields, warnings int
}

func (a agreement) add(c objectCase, server clusterVerdicts, render answer, isNewest bool) (same bool) {
	gvk := c.GroupVersionKind()
	kind := gvk.Kind
	if gvk.Group != "" {
		kind += "." + gvk.Group
	}
	if a[kind] == nil {
		a[kind] = &counts{}
	}
	merged := server.merged()
	verdicts := merged.refused == render.refused
	fields := verdicts && (sameFields(merged, render) || !isNewest && similarFields(merged, render))
	warned := verdicts && (merged.refused || slices.Equal(merged.warnings, render.warnings))
	a[kind].add(counts{1, one(server.create.refused), one(server.apply.refused), one(render.refused), one(verdicts), one(fields), one(warned)})
	return verdicts && fields && warned
}

func (c *counts) add(more counts) {
	c.objects += more.objects
	c.create += more.create
	c.apply += more.apply
	c.render += more.render
	c.verdicts += more.verdicts
	c.fields += more.fields
	c.warnings += more.warnings
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

var index = regexp.MustCompile(`\[[^]]*\]`)

// sameFields reports whether verdicts have the same fields. If the API server ended at the first error,
// render may have more, and more exact ones. Of a wrong selector render tells the wrong label alone.
func sameFields(server, render answer) bool {
	server.fields = slices.DeleteFunc(slices.Clone(server.fields), func(field string) bool {
		return field == "spec.selector" && !slices.Contains(render.fields, field) &&
			slices.ContainsFunc(server.fields, func(other string) bool { return strings.HasPrefix(other, field+".") })
	})
	if render.isPartial {
		return len(server.fields) == 0 || isWithin(render.fields[0], server.fields[0]) ||
			isWithin(index.ReplaceAllString(server.fields[0], ""), render.fields[0])
	}
	if !server.isPartial {
		isMore := func(field string) bool {
			return (server.skipsRules || slices.Contains(render.ofOthers, field)) && !slices.Contains(server.fields, field)
		}
		return slices.Equal(server.fields, slices.DeleteFunc(slices.Clone(render.fields), isMore)) || len(render.fields) == 0 && render.mentions(server.fields)
	}
	bare := make([]string, len(render.fields))
	for i, field := range render.fields {
		bare[i] = index.ReplaceAllString(field, "")
	}
	for _, field := range server.fields {
		isPart := func(of string) bool { return isWithin(index.ReplaceAllString(field, ""), of) }
		if !slices.ContainsFunc(bare, isPart) && !render.mentions([]string{field}) {
			return false
		}
	}
	return true
}

// similarFields reports whether verdicts have similar fields: the newest version may add an index or a part
// of the field, or move its last part.
func similarFields(server, render answer) bool {
	covers := func(all, fields []string) bool {
		return !slices.ContainsFunc(fields, func(field string) bool {
			return !slices.ContainsFunc(all, func(other string) bool { return isSimilar(field, other) })
		})
	}
	return len(server.fields) > 0 && covers(server.fields, render.fields) && covers(render.fields, server.fields)
}

func isSimilar(a, b string) bool {
	a, b = index.ReplaceAllString(a, ""), index.ReplaceAllString(b, "")
	lastA, lastB := strings.LastIndex(a, "."), strings.LastIndex(b, ".")
	return isWithin(a, b) || isWithin(b, a) || lastA > 0 && lastB > 0 && (a[:lastA] == b[:lastB] || a[lastA:] == b[lastB:])
}

// isWithin reports whether a field is at a path or below it.
func isWithin(path, field string) bool {
	rest, ok := strings.CutPrefix(field, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// mentions reports whether the messages of a verdict contain all fields.
func (v answer) mentions(fields []string) bool {
	for _, field := range fields {
		if !slices.ContainsFunc(v.messages, func(m string) bool { return strings.Contains(m, field) }) {
			return false
		}
	}
	return true
}

func (a agreement) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kind\tobjects\trefused by create\tby apply\tby render\tsame verdict\tsame fields\tsame warnings\t")
	total := counts{}
	for _, kind := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprintln(w, a[kind].row(kind))
		total.add(*a[kind])
	}
	fmt.Fprintln(w, total.row("all"))
	_ = w.Flush() // to memory
	return b.String()
}

func (c counts) row(name string) string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t", name, c.objects, c.create, c.apply, c.render, c.verdicts, c.fields, c.warnings)
}
