package charts

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"text/template/parse"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// reads are the values that the templates of a chart may read, on any branch.
//
// Rendering with and without a value would not tell: templates also read a value under a false condition, or one
// that equals its default. So the parsed templates are executed on paths of values instead of values:
// along both branches of each condition, through variables, with, range, include and dict. A function without a
// rule reads its arguments as a whole. The result has too many values, and never too few.
type reads struct {
	top       *place
	trees     map[string][]*parsed // by template
	texts     []*parsed            // values and files that tpl may execute
	known     map[call]placeSet
	marked    placeSet   // by the current action
	within    []placeSet // by the conditions around it
	lines     map[Position]placeSet
	spans     []span
	work      int
	depth     int
	isGivenUp bool
}

// place is a value of the chart or, without a path, a mapping that templates make.
type place struct {
	path    []string
	fields  map[string]places
	also    places // merged into the mapping
	isWhole bool   // read with all that it contains
	isRead  bool
}

// places are the values that an expression may have.
type places []*place

// placeSet are values that are read, true for those with all that they contain.
type placeSet map[*place]bool

func (s placeSet) add(others placeSet) {
	for p, isWhole := range others {
		s[p] = s[p] || isWhole
	}
}

// has reports whether a set has the value at keys, or a whole value around it.
func (s placeSet) has(keys []string) bool {
	for p, isWhole := range s {
		n := len(p.path)
		isSame := func(a, b string) bool { return a == b || a == anyKey }
		if n <= len(keys) && (isWhole || n == len(keys)) && slices.EqualFunc(p.path, keys[:n], isSame) {
			return true
		}
	}
	return false
}

// any stands for each key of a mapping and each item of a list.
const anyKey = "*"

// parsed is a parsed template.
type parsed struct {
	*parse.Tree
	file   string
	isFile bool  // and no define
	starts []int // of lines
}

// call is a template with a context.
type call struct {
	*parsed
	context string
}

// span are lines of text of a template, with the values that the conditions around them read.
type span struct {
	file     string
	from, to int
	around   []placeSet
}

// A chart that needs more work, or deeper calls, counts as one that reads all of its values.
const (
	maxSteps    = 2_000_000
	maxIncludes = 100
	maxKey      = 1 << 14
)

// findReads returns the values that a chart may read. The chart is as it was loaded.
func findReads(c *loaded, set map[string]any) *reads {
	r := &reads{top: &place{path: []string{}}, trees: map[string][]*parsed{}, known: map[call]placeSet{}, marked: placeSet{}, lines: map[Position]placeSet{}}
	r.addTexts(set)
	var run []func()
	r.addChart(c, c.Chart, r.top, &run)
	for _, f := range run {
		f()
	}
	return r
}

// addChart adds the templates of a chart whose values are at a place, and returns their context. Templates run
// once all are known.
func (r *reads) addChart(c *loaded, from *chart.Chart, values *place, run *[]func()) *place {
	context, subcharts := made(), made()
	context.fields["Values"], context.fields["Subcharts"] = places{values}, places{subcharts}
	for _, f := range from.Templates {
		name := path.Join(from.ChartFullPath(), f.Name)
		main := r.parse(name, c.sources[f].file, string(f.Data))
		if main != nil && from.Metadata.Type != "library" && !strings.HasPrefix(path.Base(f.Name), "_") {
			*run = append(*run, func() { r.execute(main, places{context}) })
		}
	}
	r.addTexts(from.Values)
	for _, f := range from.Files {
		if path.Ext(f.Name) != ".md" {
			r.addTexts(string(f.Data))
		}
	}
	for _, d := range from.Dependencies() {
		for _, name := range dependencyNames(from, d) {
			sub := r.step(places{values}, name)[0]
			sub.fields["global"] = append(r.step(places{sub}, "global"), r.step(places{values}, "global")...)
			subcharts.fields[name] = places{r.addChart(c, d, sub, run)}
		}
	}
	r.addDependencies(from, values)
	return context
}

// dependencyNames returns the names under which a chart has the values of a dependency.
func dependencyNames(c, dependency *chart.Chart) (names []string) {
	for _, d := range c.Metadata.Dependencies {
		if d.Name == dependency.Name() && d.Alias != "" {
			names = append(names, d.Alias)
		}
	}
	return append(names, dependency.Name())
}

// addDependencies reads the values of the conditions, tags and imports of Chart.yaml.
func (r *reads) addDependencies(c *chart.Chart, values *place) {
	for _, d := range c.Metadata.Dependencies {
		for condition := range strings.SplitSeq(d.Condition, ",") {
			r.touch(r.steps(places{values}, strings.Split(strings.TrimSpace(condition), ".")))
		}
		for _, tag := range d.Tags {
			r.touch(r.steps(places{r.top}, []string{"tags", tag}))
		}
		for _, imported := range d.ImportValues {
			child, _ := imported.(string)
			child = "exports." + child
			if table, is := imported.(map[string]any); is {
				child, _ = table["child"].(string)
			}
			r.consume(r.steps(places{values}, append([]string{cmp.Or(d.Alias, d.Name)}, strings.Split(child, ".")...)))
		}
	}
}

// addTexts adds the texts in a value that are templates.
func (r *reads) addTexts(value any) {
	switch value := value.(type) {
	case string:
		if strings.Contains(value, "{{") {
			if t := r.parse("text", "", value); t != nil {
				r.texts = append(r.texts, t)
			}
		}
	case map[string]any:
		for key, v := range value {
			r.addTexts(key)
			r.addTexts(v)
		}
	case []any:
		for _, v := range value {
			r.addTexts(v)
		}
	}
}

// parse adds the templates in a text, and returns the outer one. A text that is no template, such as a part of
// one, may read each value that it could name.
func (r *reads) parse(name, file, text string) (main *parsed) {
	t, all := parse.New(name), map[string]*parse.Tree{}
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, "", "", all); err != nil {
		if file != "" || strings.Contains(text, "Values") {
			r.giveUp()
		}
		return nil
	}
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	for _, defined := range slices.Sorted(maps.Keys(all)) {
		added := &parsed{Tree: all[defined], file: file, isFile: defined == name, starts: starts}
		if defined == name {
			main = added
		}
		if file != "" || defined != name {
			r.trees[defined] = append(r.trees[defined], added)
		}
	}
	return main
}

// around returns the values in the conditions around lines of a template.
func (r *reads) around(file string, from, to int) placeSet {
	all := placeSet{}
	for _, s := range r.spans {
		for _, condition := range s.around {
			if s.file == file && s.from <= to && s.to >= from {
				all.add(condition)
			}
		}
	}
	return all
}

// line returns the line of a position.
func (t *parsed) line(at int) int { return sort.SearchInts(t.starts, at+1) }

func made() *place { return &place{fields: map[string]places{}} }

// giveUp counts all values as read.
func (r *reads) giveUp() { r.isGivenUp = true }

// steps returns the places at keys.
func (r *reads) steps(from places, keys []string) places {
	for _, key := range keys {
		from = r.step(from, key)
	}
	return from
}

// step returns the places at a key. The methods of values read all of them.
func (r *reads) step(from places, key string) (to places) {
	for _, p := range from {
		switch {
		case p.path == nil:
			to = append(append(append(to, p.fields[key]...), p.fields[anyKey]...), r.step(p.also, key)...)
			continue
		case slices.Contains([]string{"AsMap", "YAML", "Table", "PathValue", "Encode"}, key):
			r.consume(places{p})
		}
		if p.fields == nil {
			p.fields = map[string]places{}
		}
		if p.fields[key] == nil {
			p.fields[key] = places{{path: append(slices.Clip(p.path), key)}}
		}
		to = append(to, p.fields[key]...)
	}
	return unique(to)
}

func unique(all places) places {
	seen := placeSet{}
	return slices.DeleteFunc(slices.Clone(all), func(p *place) bool {
		is := seen[p]
		seen[p] = true
		return is
	})
}

// touch reads values themselves, as a condition does.
func (r *reads) touch(all places) {
	for _, p := range all {
		p.isRead = true
		r.marked.add(placeSet{p: false})
	}
}

// consume reads values with all that they contain.
func (r *reads) consume(all places) { r.consumeOnce(all, placeSet{}) }

func (r *reads) consumeOnce(all places, seen placeSet) {
	for _, p := range all {
		if seen[p] {
			continue
		}
		seen[p] = true
		if p.path == nil {
			for _, fields := range p.fields {
				r.consumeOnce(fields, seen)
			}
			r.consumeOnce(p.also, seen)
			continue
		}
		p.isWhole, p.isRead, r.marked[p] = true, true, true
	}
}

// collect returns the values that f reads.
func (r *reads) collect(f func()) placeSet {
	before := r.marked
	r.marked = placeSet{}
	f()
	got := r.marked
	r.marked = before
	r.marked.add(got)
	return got
}

// execute executes a template once for each context.
func (r *reads) execute(t *parsed, dot places) {
	var b strings.Builder
	r.writeKey(&b, dot, 0)
	key := call{t, b.String()}
	got, isKnown := r.known[key]
	if !isKnown && !r.isGivenUp {
		r.known[key] = placeSet{} // for a template that includes itself
		if r.depth++; r.depth > maxIncludes {
			r.giveUp()
		}
		f := frame{reads: r, tree: t, vars: []variable{{"$", dot}}}
		got = r.collect(func() { f.walk(dot, t.Root) })
		r.known[key] = got
		r.depth--
	}
	r.marked.add(got)
}

// writeKey writes a key of places: equal if they read the same.
func (r *reads) writeKey(b *strings.Builder, all places, depth int) {
	if depth > 8 || b.Len() > maxKey {
		r.giveUp()
		return
	}
	for _, p := range all {
		b.WriteByte('\n')
		if p.path != nil {
			b.WriteString(strings.Join(p.path, "\x00"))
			continue
		}
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(p.fields)) {
			b.WriteString(name)
			r.writeKey(b, p.fields[name], depth+1)
		}
		b.WriteByte('+')
		r.writeKey(b, p.also, depth+1)
		b.WriteByte('}')
	}
}

// mayRead reports whether the value at keys is read, or a value around it with all that it contains.
func (r *reads) mayRead(keys []string) bool { return r.isGivenUp || r.top.mayRead(keys) }

func (p *place) mayRead(keys []string) bool {
	if p.isWhole || len(keys) == 0 && p.isReadBelow() {
		return true
	}
	if len(keys) == 0 {
		return false
	}
	is := func(below *place) bool { return below.mayRead(keys[1:]) }
	return slices.ContainsFunc(p.fields[keys[0]], is) || slices.ContainsFunc(p.fields[anyKey], is)
}

// isReadBelow reports whether a value, or a value in it, is read.
func (p *place) isReadBelow() bool {
	if p.isRead {
		return true
	}
	for _, below := range p.fields {
		if slices.ContainsFunc(below, (*place).isReadBelow) {
			return true
		}
	}
	return false
}
