package charts

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/render/templates"
)

// maxDepth bounds how deep templates call each other.
const maxDepth = 400

var errDeep = fmt.Errorf("templates include each other over %d deep: end the recursion", maxDepth)

// run is one execution of the templates of a chart. Go neither interrupts nor observes a template: so
// each template is rewritten, and calls functions of the run.
type run struct {
	sites  []*site
	chains []chain
	texts  []passage
	ofTpl  map[string]string  // rewritten texts
	parts  map[string]*part   // by name
	asked  map[*part]question // by the file that Helm executes
	chart  string             // that is rewritten
	// roots are the keys of the values of each chart, from the values of the whole: by the path of the chart, several
	// of one with several names.
	roots map[string][][]string
	// makesValues reports whether a template may make a context with other values than those of a chart: it has the
	// text Values.
	makesValues bool

	always   reads // of Helm itself
	values   map[string]any
	file     string               // the template that Helm executes
	at       atomic.Pointer[site] // the watchdog reads it
	last     int                  // chain that was read
	calls    []call
	paths    map[uintptr][]string // of the mappings in values
	pieces   map[string][]piece   // by file
	files    map[string]string    // the files that Helm made
	changing []change
	hasAsked bool             // the cluster, by lookup
	apis     sets.Set[string] // that actions asked .Capabilities.APIVersions for
	// others are the lines whose random values are others than usual, or all lines if isOtherEverywhere.
	others            Position
	isOtherEverywhere bool

	addresses []string // of memory, as Go prints pointers that templates reach
}

// call is an open call of a template: inline if it writes to the text of the caller.
type call struct {
	*site
	isInline bool
}

// piece is a part of the text that a file writes, with its line in the template. A text has the lines that follow, too.
type piece struct {
	length, line int
	isText       bool
}

// change is a call of a function whose result changes.
type change struct {
	*site
	callers        []*site
	file, function string
}

func newRun() *run {
	return &run{always: reads{}, ofTpl: map[string]string{}, parts: map[string]*part{}, asked: map[*part]question{},
		apis: sets.Set[string]{}, roots: map[string][][]string{},
		paths: map[uintptr][]string{}, pieces: map[string][]piece{}}
}

// addRoots adds the keys of the values of a chart and of those below it, under each of their names.
func (r *run) addRoots(c *chart.Chart, keys []string) {
	r.roots[c.ChartFullPath()] = append(r.roots[c.ChartFullPath()], keys)
	for _, below := range c.Dependencies() {
		names := []string{below.Name()}
		for _, d := range c.Metadata.Dependencies {
			if d.Name == below.Name() && d.Alias != "" {
				names = append(names, d.Alias)
			}
		}
		for _, name := range names {
			r.addRoots(below, append(slices.Clip(keys), name))
		}
	}
}

func (r *run) rewriteAll(c *loaded) {
	r.addRoots(c.Chart, nil)
	for _, of := range withDependencies(c.Chart) {
		r.chart = of.ChartFullPath()
		for _, f := range of.Templates {
			f.Data = []byte(r.rewrite(f.Name, c.sources[f], string(f.Data), nil))
		}
		for _, f := range of.Files {
			r.newPart("file "+r.chart+"/"+f.Name, c.sources[f], f.Data).isFile = true
		}
		for _, m := range of.Metadata.Maintainers {
			r.addresses = append(r.addresses, fmt.Sprintf("%p", m))
		}
		for _, d := range of.Metadata.Dependencies {
			r.addresses = append(r.addresses, fmt.Sprintf("%p", d))
		}
	}
}

// actions returns the functions that rewritten templates call.
func (r *run) actions() template.FuncMap {
	return template.FuncMap{
		"gatehouseFile": r.enterFile, "gatehouseAt": r.enter, "gatehouseText": r.text, "gatehousePrint": r.print,
		"gatehouseCall": r.call, "gatehouseInline": r.inline, "gatehouseTpl": r.tpl, "gatehouseReturn": r.leave,
		"gatehouseRead": r.read, "gatehouseResult": r.result, "gatehouseAPI": r.ofAPI,
	}
}

// Calls of actions, and the base of a chain, in an error that quotes a template.
var (
	inErrors = regexp.MustCompile(
		`\(gatehouseRead \d+ (?:\.\)(\.)|(\.|\$\w*)\))|\(gatehouse\w+ ("[^"]*"|[^() ]+)\)|` +
			`\{\{gatehouse\w+[^}]*\}\}| \| gatehouse\w+| at <gatehouse[^>]*>|error calling gatehouse\w+: |` +
			`gatehouse\w+ (?:\d+ )?`)
	baseInError = regexp.MustCompile(`<(\.|\$\w*)>:\s+(can't|nil)`)
)

// describe returns an error of Helm as one about the original templates.
func (r *run) describe(err error) error {
	message := inErrors.ReplaceAllString(err.Error(), "$1$2$3")
	if found := baseInError.FindStringSubmatch(message); found != nil && r.last < len(r.chains) {
		named := strings.Join(append([]string{strings.TrimSuffix(found[1], ".")}, r.chains[r.last].keys...), ".")
		message = baseInError.ReplaceAllLiteralString(message, "<"+named+">: "+found[2])
	}
	return errors.New(message)
}

// enterFile begins a file, unless a template includes it.
func (r *run) enterFile(context any) string {
	if len(r.calls) == 0 {
		r.file, _ = child(child(context, "Template"), "Name").(string)
	}
	return ""
}

// enter begins an action.
func (r *run) enter(i int) string {
	s := r.sites[i]
	s.isRun = true
	r.at.Store(s)
	if s.asks != 0 {
		r.ask(s)
	}
	return ""
}

func (r *run) text(i int) string {
	r.texts[i].isRun = true
	t := r.texts[i]
	r.emit(piece{len(t.content), t.line, true})
	return t.content
}

// printer prints a value as each action does: a method String of a pointer counts where the value has an address.
var printer = template.Must(template.New("").Parse("{{.}}"))

// print returns the text that an action writes.
func (r *run) print(value reflect.Value) (any, error) {
	if !value.IsValid() {
		return "<no value>", nil // Helm removes this text
	}
	if err := templates.Check(value); err != nil {
		return nil, err
	}
	var printed strings.Builder
	if err := printer.Execute(&printed, value); err != nil {
		return value.Interface(), nil //nolint:nilerr // the action itself reports it
	}
	r.emit(piece{printed.Len(), r.at.Load().Line, false})
	return r.result(printed.String()), nil
}

// emit records a piece of the text that the file writes.
func (r *run) emit(p piece) {
	if slices.ContainsFunc(r.calls, func(c call) bool { return !c.isInline }) {
		return
	}
	if len(r.calls) > 0 {
		p.line, p.isText = r.calls[0].Line, false
	}
	r.pieces[r.file] = append(r.pieces[r.file], p)
}

// lines returns the template line of each line of a file.
func (r *run) lines(file string) (lines []int) {
	rest, isOpen := r.files[file], false // the line has begun
	for _, p := range r.pieces[file] {
		content := rest[:min(p.length, len(rest))]
		rest = rest[len(content):]
		for _, c := range []byte(content) {
			switch {
			case !isOpen && c != ' ':
				lines, isOpen = append(lines, p.line), c != '\n'
			case c == '\n':
				isOpen = false
			}
			if c == '\n' && p.isText {
				p.line++
			}
		}
	}
	return lines
}

// call begins a call of a template.
func (r *run) call(name any) (any, error) { return name, r.open(call{r.at.Load(), false}) }

func (r *run) inline() (string, error) { return "", r.open(call{r.at.Load(), true}) }

func (r *run) open(c call) error {
	if r.calls = append(r.calls, c); len(r.calls) > maxDepth {
		return errDeep
	}
	return nil
}

// tpl begins the call of a text, and returns the rewritten text.
func (r *run) tpl(text string) (string, error) {
	key := fmt.Sprintf("%p %s", r.at.Load(), text)
	rewritten, isKnown := r.ofTpl[key]
	if !isKnown {
		rewritten = r.rewrite("tpl", "", text, r.at.Load())
		r.ofTpl[key] = rewritten
	}
	return rewritten, r.open(call{r.at.Load(), false})
}

// ofAPI records that an action asks for an API, and returns its name.
func (r *run) ofAPI(name string) string {
	r.apis.Insert(name)
	return name
}

// leave ends a call.
func (r *run) leave(result any) any {
	last := len(r.calls) - 1
	r.at.Store(r.calls[last].site)
	r.calls = r.calls[:last]
	return r.result(result)
}

// result checks the result of a function, and returns it.
func (r *run) result(result any) any {
	text, _ := result.(string)
	isAddress := func(address string) bool { return strings.Contains(text, address) }
	if strings.Contains(text, "0x") && slices.ContainsFunc(r.addresses, isAddress) {
		r.change("printing an address")
	}
	return result
}

// isOther reports whether the current action gets other random values than usual.
func (r *run) isOther() bool {
	at := r.at.Load()
	return r.isOtherEverywhere || at != nil && at.Position == r.others
}

// change records a call of a function whose result changes.
func (r *run) change(function string) {
	c := change{site: r.at.Load(), file: r.file, function: function}
	for _, caller := range r.calls {
		c.callers = append(c.callers, caller.site)
	}
	r.changing = append(r.changing, c)
}

// locate records the paths of the mappings in the values. Helm puts the same mapping of global values at several paths:
// the last one counts, in the order of keys.
func (r *run) locate() {
	each(r.values, func(path []string, value any) {
		if mapping, isMapping := value.(map[string]any); isMapping {
			r.paths[reflect.ValueOf(mapping).Pointer()] = path
		}
	})
}

// read records that an action reads keys of a value, and returns the value: with its address, if it has one, as a
// method may need that.
func (r *run) read(i int, value reflect.Value, more ...any) reflect.Value {
	r.last = i
	r.chains[i].isRun = true
	c := r.chains[i]
	keys := slices.Clone(c.keys)
	for _, key := range more {
		keys = append(keys, fmt.Sprint(key))
	}
	var item any
	if value.IsValid() {
		item = value.Interface()
	}
	path := r.pathOf(item, nil)
	for _, key := range keys {
		if values, is := item.(common.Values); is && reflect.ValueOf(values).MethodByName(key).IsValid() {
			r.markAll(item, path) // a method reads all
			return value
		}
		if path != nil {
			path = append(slices.Clip(path), key)
		}
		item = child(item, key)
		path = r.pathOf(item, path)
		if item == nil {
			break
		}
	}
	switch {
	case c.isWhole:
		r.markAll(item, path)
	case path != nil:
		r.mark(path, !isContainer(item))
	}
	return value
}

func isContainer(value any) bool {
	kind := reflect.ValueOf(value).Kind()
	return kind == reflect.Map || kind == reflect.Slice
}

// pathOf returns the path of a mapping of values, wherever templates put it, or else a known path.
func (r *run) pathOf(value any, known []string) []string {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Map && r.paths[v.Pointer()] != nil {
		return r.paths[v.Pointer()]
	}
	return known
}

// plainMap returns a mapping without the type of Helm.
func plainMap(value any) any {
	if values, is := value.(common.Values); is {
		return map[string]any(values)
	}
	return value
}

func child(of any, key string) any {
	switch of := plainMap(of).(type) {
	case map[string]any:
		return of[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(of) {
			return of[i]
		}
	}
	return nil
}

// markAll marks a value, or the values in a mapping or list that templates made.
func (r *run) markAll(value any, path []string) {
	seen := map[uintptr]bool{} // mappings and lists: a template may put one into many, or into itself
	var visit func(value any, path []string)
	visit = func(value any, path []string) {
		if path = r.pathOf(value, path); path != nil {
			r.mark(path, true)
			return
		}
		if isContainer(value) {
			at := reflect.ValueOf(value).Pointer()
			if seen[at] {
				return
			}
			seen[at] = true
		}
		switch value := plainMap(value).(type) {
		case map[string]any:
			for _, item := range value {
				visit(item, nil)
			}
		case []any:
			for _, item := range value {
				visit(item, nil)
			}
		}
	}
	visit(value, path)
}

// mark records that the current action, and the callers of its template, read a value.
func (r *run) mark(path []string, isWhole bool) {
	r.at.Load().reads.add(joinPath(path), isWhole)
	for _, c := range r.calls {
		c.reads.add(joinPath(path), isWhole)
	}
	if global := slices.Index(path, "global"); global > 0 { // a copy of the values of the parent
		r.mark(path[global:], isWhole)
	}
}
