package charts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template/parse"
)

// site is an action of a template, or an action around lines of it.
type site struct {
	Position
	end     int                // its last line
	sources map[string][]*site // actions that set the variables in it
	reads   reads
	part    *part
	isRun   bool
	asks    question
}

// chain is a value that an action names: keys from a base.
type chain struct {
	keys    []string
	items   []string // constant keys of index, get and hasKey, below keys
	isWhole bool     // used with all below
	part    *part
	isRun   bool
}

// passage is a text of a template.
type passage struct {
	content string
	line    int
	part    *part
	isRun   bool
}

// Functions that return an argument, or a value around it, and functions that look at no more than a value itself.
var (
	passing = []string{"and", "or", "required", "dict", "list", "tuple", "set", "index", "get", "first", "last"}
	looking = []string{"not", "empty", "kindIs", "kindOf", "typeIs", "typeOf", "hasKey", "include", "tpl"}
	makers  = []string{"dict", "list", "tuple"}
)

// rewriter writes a template whose actions report to a run. It has actions alone, in the lines of the original:
// texts are results of gatehouseText.
type rewriter struct {
	*run
	strings.Builder
	file       string // in the repository
	starts     []int  // of the lines of the original
	caller     *site  // of a text for tpl
	part       *part
	line, last int // of the output, and the last line of the original
	site       *site
	variables  map[string][]*site
	passed     parse.Node // the key of values that a context has of another
	isHas      bool       // in the name of a call of .APIVersions.Has
}

// rewrite returns a template that writes the same as the text of a file, or of tpl at a caller. A text that is no
// template stays as it is: Helm reports it.
func (r *run) rewrite(template, file, original string, caller *site) string {
	main := parse.New(template)
	trees := map[string]*parse.Tree{}
	main.Mode = parse.SkipFuncCheck
	if _, err := main.Parse(original, "", "", trees); err != nil {
		return original
	}
	w := &rewriter{run: r, file: file, starts: []int{0}, caller: caller, line: 1, variables: map[string][]*site{}}
	if caller == nil {
		w.part = r.newPart(r.chart+"/"+template, file, []byte(main.Root.String()))
		w.part.chart = r.chart
	} else {
		w.part = r.newPart("tpl "+original, caller.File, []byte(main.Root.String()))
		caller.part.calls = append(caller.part.calls, "tpl "+original)
	}
	for i, c := range []byte(original) {
		if c == '\n' {
			w.starts = append(w.starts, i+1)
		}
	}
	if caller == nil && !parse.IsEmptyTree(main.Root) {
		w.write("{{gatehouseFile .}}")
	}
	delete(trees, template)
	defines := slices.SortedFunc(maps.Values(trees), func(a, b *parse.Tree) int { return int(a.Root.Pos - b.Root.Pos) })
	writeUpTo := func(at parse.Pos) {
		for len(defines) > 0 && defines[0].Root.Pos <= at {
			w.define(defines[0])
			defines = defines[1:]
		}
	}
	for _, n := range main.Root.Nodes {
		writeUpTo(n.Position())
		w.node(n)
	}
	writeUpTo(parse.Pos(len(original)))
	return w.String()
}

func (w *rewriter) define(t *parse.Tree) {
	around := w.part
	defer func() { w.part = around }()
	w.part = w.newPart(around.name+" "+t.Name, around.file, []byte(t.Root.String()))
	w.part.defines = t.Name
	w.open(w.lineOf(t.Root.Pos))
	w.write("define " + strconv.Quote(t.Name) + "}}")
	if parse.IsEmptyTree(t.Root) { // such a template replaces none
		w.write(t.Root.String())
	} else {
		w.node(t.Root)
	}
	w.write("{{end}}")
}

func (w *rewriter) write(text string) {
	_, _ = w.WriteString(text)
	w.line += strings.Count(text, "\n")
}

// open begins an action in a line.
func (w *rewriter) open(line int) {
	w.write("{{" + strings.Repeat("\n", max(0, line-w.line)))
}

func (w *rewriter) lineOf(at parse.Pos) int {
	return sort.SearchInts(w.starts, int(at)+1)
}

func (w *rewriter) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			w.node(child)
		}
	case *parse.TextNode:
		line := w.lineOf(n.Pos)
		w.last = max(w.last, w.lineOf(n.Pos+parse.Pos(len(n.Text))))
		w.texts = append(w.texts, passage{content: string(n.Text), line: line, part: w.part})
		w.open(line)
		w.write(fmt.Sprintf("gatehouseText %d}}", len(w.texts)-1))
	case *parse.ActionNode:
		w.enter(n.Line)
		w.open(n.Line)
		w.write(w.pipe(n.Pipe, len(n.Pipe.Decl) == 0))
		if len(n.Pipe.Decl) == 0 {
			w.write(" | gatehousePrint")
		}
		w.write("}}")
	case *parse.TemplateNode:
		w.part.calls = append(w.part.calls, n.Name)
		w.enter(n.Line)
		w.write("{{gatehouseInline}}")
		w.open(n.Line)
		w.write("template " + strconv.Quote(n.Name))
		if n.Pipe != nil {
			w.write(" " + w.pipe(n.Pipe, false))
		}
		w.write(`}}{{gatehouseReturn ""}}`)
	case *parse.IfNode:
		w.branch("if", &n.BranchNode, false)
	case *parse.WithNode:
		w.branch("with", &n.BranchNode, false)
	case *parse.RangeNode: // the keys of a mapping are read, too
		w.branch("range", &n.BranchNode, !slices.Contains(makers, function(n.Pipe.Cmds[len(n.Pipe.Cmds)-1])))
	default: // break and continue
		w.write(n.String())
	}
}

// enter begins a site at a line.
func (w *rewriter) enter(line int) {
	w.last = max(w.last, line)
	w.site = &site{Position: Position{w.file, line}, end: line, sources: map[string][]*site{}, reads: reads{},
		part: w.part}
	if w.caller != nil {
		w.site.Position = w.caller.Position
		w.site.end = w.caller.end
	}
	w.sites = append(w.sites, w.site)
	w.write(fmt.Sprintf("{{gatehouseAt %d}}", len(w.sites)-1))
}

func (w *rewriter) branch(keyword string, b *parse.BranchNode, isWhole bool) {
	w.enter(b.Line)
	s := w.site
	w.open(b.Line)
	w.write(keyword + " " + w.pipe(b.Pipe, isWhole) + "}}")
	w.node(b.List)
	if b.ElseList != nil {
		w.write("{{else}}")
		w.node(b.ElseList)
	}
	w.write("{{end}}")
	if w.caller == nil {
		s.end = max(s.end, w.last)
	}
}

// pipe returns a pipeline whose result is used with all below, or else is kept or looked at.
func (w *rewriter) pipe(p *parse.PipeNode, isWhole bool) string {
	commands := make([]string, len(p.Cmds))
	for i, c := range slices.Backward(p.Cmds) {
		commands[i], isWhole = w.command(c, isWhole)
	}
	declared := make([]string, 0, len(p.Decl))
	for _, v := range p.Decl {
		declared = append(declared, v.String())
		w.variables[v.Ident[0]] = append(w.variables[v.Ident[0]], w.site)
	}
	operator := " := "
	switch {
	case len(declared) == 0:
		operator = ""
	case p.IsAssign:
		operator = " = "
	}
	return strings.Join(declared, ", ") + operator + strings.Join(commands, " | ")
}

// function returns the function of a command, if it calls one.
func function(c *parse.CommandNode) string {
	if name, is := c.Args[0].(*parse.IdentifierNode); is {
		return name.Ident
	}
	return ""
}

// command returns a command, and reports whether it uses its arguments with all below.
func (w *rewriter) command(c *parse.CommandNode, isWhole bool) (command string, usesWhole bool) {
	name := function(c)
	w.note(name)
	if name == "" && len(c.Args) == 1 {
		return w.operand(c.Args[0], isWhole), isWhole
	}
	isPassing := slices.Contains(passing, name)
	isLooking := slices.Contains(looking, name)
	usesWhole = !isLooking && (isWhole || !isPassing)
	command = strings.Join(w.words(c, name, usesWhole), " ")
	switch {
	case name == "include", name == "tpl":
		command += " | gatehouseReturn"
	case !isPassing && !isLooking:
		command += " | gatehouseResult"
	}
	return command, usesWhole
}

// words returns the function, or the method, of a command with its arguments.
func (w *rewriter) words(c *parse.CommandNode, name string, usesWhole bool) (words []string) {
	for i, n := range c.Args {
		if name == "dict" && isValues(n) && i+1 < len(c.Args) && passesValues(c.Args[i+1]) {
			w.passed = n
		}
		switch {
		case i == 0 && name != "":
			words = append(words, name)
		case i == 0:
			w.isHas = asksAPI(c)
			words = append(words, w.operand(n, false))
			w.isHas = false
		case i == 1 && asksAPI(c):
			words = append(words, "(gatehouseAPI "+w.operand(n, false)+")")
		case i == 1 && len(c.Args) > 2 && slices.Contains([]string{"index", "get", "hasKey"}, name):
			words = append(words, w.item(n, c.Args[2:], usesWhole))
		default:
			words = append(words, w.argument(i, n, name, usesWhole))
		}
	}
	return words
}

// asksAPI reports whether a command calls .APIVersions.Has with an argument.
func asksAPI(c *parse.CommandNode) bool {
	return len(c.Args) == 2 && strings.HasSuffix(c.Args[0].String(), ".APIVersions.Has")
}

// argument returns the argument number i of a function.
func (w *rewriter) argument(i int, n parse.Node, function string, isWhole bool) string {
	word := w.operand(n, isWhole)
	switch {
	case i == 1 && function == "include":
		w.call(n)
		return "(gatehouseCall " + word + ")"
	case i == 1 && function == "tpl":
		w.part.evaluates = true
		return "(gatehouseTpl " + word + ")"
	}
	return word
}

// fileOf matches the expression of a template beside the one that Helm executes.
var fileOf = regexp.MustCompile(`^print \$?\.Template\.BasePath "([^"\\]+)"$`)

// call records that the part calls a template by a name.
func (w *rewriter) call(name parse.Node) {
	text, isText := name.(*parse.StringNode)
	file := fileOf.FindStringSubmatch(name.String())
	switch {
	case isText:
		w.part.calls = append(w.part.calls, text.Text)
	case file != nil:
		w.part.callsBeside = append(w.part.callsBeside, file[1])
	default:
		w.part.callsAny = true
	}
}

func (w *rewriter) operand(n parse.Node, isWhole bool) string {
	base, keys := w.split(n, isWhole)
	w.noteText(n)
	w.note(append(slices.Clip(keys), strings.Trim(base, `"`))...)
	if isWhole {
		w.noteWhole(keys)
	}
	return w.read(base, keys, nil, isWhole)
}

// noteText records a text that may be the key of the values in a context.
func (w *rewriter) noteText(n parse.Node) {
	w.makesValues = w.makesValues || isValues(n) && n != w.passed
}

func isValues(n parse.Node) bool {
	text, isText := n.(*parse.StringNode)
	return isText && text.Text == "Values"
}

// passesValues reports whether an argument is the values of a chart.
func passesValues(n parse.Node) bool {
	var names []string
	switch n := n.(type) {
	case *parse.FieldNode:
		names = n.Ident
	case *parse.VariableNode:
		names = n.Ident[1:]
	}
	return len(names) > 0 && names[len(names)-1] == "Values"
}

// split divides an operand into its base and its fields.
func (w *rewriter) split(n parse.Node, isWhole bool) (base string, fields []string) {
	switch n := n.(type) {
	case *parse.FieldNode:
		return ".", n.Ident
	case *parse.VariableNode:
		w.site.sources[n.Ident[0]] = w.variables[n.Ident[0]]
		return n.Ident[0], n.Ident[1:]
	case *parse.ChainNode:
		base, fields = w.split(n.Node, false)
		w.note(append(slices.Clip(fields), n.Field...)...)
		return w.read(base, fields, nil, false), n.Field
	case *parse.PipeNode:
		return "(" + w.pipe(n, isWhole) + ")", nil
	}
	return n.String(), nil
}

// item returns the operand of a function that returns an item of it.
func (w *rewriter) item(n parse.Node, keys []parse.Node, isWhole bool) string {
	var more []string
	for _, key := range keys {
		switch key.(type) {
		case *parse.StringNode, *parse.NumberNode, *parse.VariableNode, *parse.FieldNode, *parse.DotNode:
			w.noteText(key)
			w.note(strings.Trim(key.String(), "\"`"))
			more = append(more, key.String())
		default: // evaluated once
			return w.operand(n, true)
		}
	}
	base, fields := w.split(n, false)
	last := len(w.chains)
	read := w.read(base, fields, more, isWhole)
	if len(w.chains) > last {
		w.chains[len(w.chains)-1].items = constants(keys)
	}
	return read
}

// constants returns the texts that begin a list of keys.
func constants(keys []parse.Node) (texts []string) {
	for _, key := range keys {
		text, isText := key.(*parse.StringNode)
		if !isText {
			break
		}
		texts = append(texts, text.Text)
	}
	return texts
}

// read returns fields of a base, and tells the run that they are read.
func (w *rewriter) read(base string, fields, more []string, isWhole bool) string {
	isValue := base == "." || base[0] == '$' || base[0] == '('
	if len(fields)+len(more) == 0 && !isWhole || !isValue {
		return base
	}
	w.chains = append(w.chains, chain{keys: fields, isWhole: isWhole, part: w.part})
	call := strings.Join(append([]string{"gatehouseRead", strconv.Itoa(len(w.chains) - 1), base}, more...), " ")
	return strings.Join(append([]string{"(" + call + ")"}, fields...), ".")
}
