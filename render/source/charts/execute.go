package charts

import (
	"slices"
	"strings"
	"text/template/parse"
)

// frame is the execution of a template on paths of values.
type frame struct {
	*reads
	tree *parsed
	vars []variable
}

type variable struct {
	name  string
	value places
}

// walk executes a node, and both branches of a condition.
func (f *frame) walk(dot places, n parse.Node) {
	if f.work++; f.work > maxSteps {
		f.giveUp()
	}
	if f.isGivenUp {
		return
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			f.walk(dot, child)
		}
	case *parse.TextNode:
		f.text(n)
	case *parse.ActionNode:
		f.record(n.Line, func() {
			if v := f.pipe(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
				f.consume(v)
			}
		})
	case *parse.TemplateNode:
		f.record(n.Line, func() { f.include(n.Name, f.pipe(dot, n.Pipe)) })
	case *parse.IfNode:
		f.branch(dot, &n.BranchNode)
	case *parse.WithNode:
		f.branch(dot, &n.BranchNode)
	case *parse.RangeNode:
		f.branch(dot, &n.BranchNode)
	}
}

// text records a text. If it names values, it may be a template for tpl.
func (f *frame) text(n *parse.TextNode) {
	from := f.tree.line(int(n.Pos))
	f.spans = append(f.spans, span{f.tree.file, from, from + strings.Count(string(n.Text), "\n"), slices.Clone(f.within)})
	for _, match := range valueName.FindAllSubmatch(n.Text, -1) {
		f.consume(f.steps(f.vars[0].value, strings.Split("Values"+string(match[1]), ".")))
	}
}

// record records the values that an action at a line reads.
func (f *frame) record(line int, action func()) {
	at := Position{f.tree.file, line}
	read := f.collect(action)
	if f.lines[at] == nil {
		f.lines[at] = placeSet{}
	}
	f.lines[at].add(read)
}

// branch executes if, with or range.
func (f *frame) branch(dot places, b *parse.BranchNode) {
	outer := len(f.vars)
	var value places
	read := f.collect(func() {
		value = f.pipe(dot, b.Pipe)
		f.touch(value)
	})
	inner := dot
	switch b.NodeType {
	case parse.NodeWith:
		inner = value
	case parse.NodeRange:
		inner = f.items(value)
		for i := outer; i < len(f.vars); i++ { // the index, perhaps, and the item
			if f.vars[i].value = nil; i == len(f.vars)-1 {
				f.vars[i].value = inner
			}
		}
	}
	f.within = append(f.within, read)
	pipe := len(f.vars)
	f.walk(inner, b.List)
	f.vars = f.vars[:pipe]
	if b.ElseList != nil {
		f.walk(dot, b.ElseList)
	}
	f.within, f.vars = f.within[:len(f.within)-1], f.vars[:outer]
}

// items returns the items of lists and mappings. A loop over values reads them as a whole.
func (f *frame) items(all places) (items places) {
	for _, p := range all {
		if p.path != nil {
			f.consume(places{p})
			items = append(items, f.step(places{p}, anyKey)...)
			continue
		}
		for _, values := range p.fields {
			items = append(items, values...)
		}
		items = append(items, f.items(p.also)...)
	}
	return unique(items)
}

// pipe returns the result of a pipeline, and declares its variables.
func (f *frame) pipe(dot places, p *parse.PipeNode) (value places) {
	if p == nil {
		return nil
	}
	for i, c := range p.Cmds {
		value = f.command(dot, c, value, i > 0)
	}
	for _, d := range p.Decl {
		if !p.IsAssign {
			f.vars = append(f.vars, variable{d.Ident[0], value})
			continue
		}
		if v := f.variable(d.Ident[0]); v != nil { // also for an earlier line of a loop
			v.value = unique(slices.Concat(v.value, value))
			f.consume(slices.DeleteFunc(slices.Clone(value), func(p *place) bool { return p.path == nil }))
		}
	}
	return value
}

func (f *frame) variable(name string) *variable {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return &f.vars[i]
		}
	}
	return nil
}

// argument is an argument of a function.
type argument struct {
	places
	text    string
	isConst bool
}

// command returns the result of a command, with the result before it in a pipeline.
func (f *frame) command(dot places, c *parse.CommandNode, before places, isPiped bool) places {
	var arguments []argument
	for _, n := range c.Args[1:] {
		a := argument{places: f.value(dot, n)}
		switch n := n.(type) {
		case *parse.StringNode:
			a.text, a.isConst = n.Text, true
		case *parse.NumberNode:
			a.text, a.isConst = n.Text, true
		}
		arguments = append(arguments, a)
	}
	if isPiped {
		arguments = append(arguments, argument{places: before})
	}
	if function, is := c.Args[0].(*parse.IdentifierNode); is {
		return f.call(function.Ident, arguments)
	}
	f.consumeAll(arguments)
	return f.value(dot, c.Args[0])
}

// value returns the result of an operand.
func (f *frame) value(dot places, n parse.Node) places {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return f.steps(dot, n.Ident)
	case *parse.VariableNode:
		if v := f.variable(n.Ident[0]); v != nil {
			return f.steps(v.value, n.Ident[1:])
		}
	case *parse.ChainNode:
		return f.steps(f.value(dot, n.Node), n.Field)
	case *parse.PipeNode:
		return f.pipe(dot, n)
	case *parse.IdentifierNode:
		return f.call(n.Ident, nil)
	case *parse.StringNode: // perhaps for tpl
		if strings.Contains(n.Text, "{{") && strings.Contains(n.Text, "Values") {
			if t := f.parse("text", "", n.Text); t != nil {
				f.execute(t, f.vars[0].value)
			}
		}
	}
	return nil
}

func (f *frame) consumeAll(arguments []argument) {
	for _, a := range arguments {
		f.consume(a.places)
	}
}

// touchAll reads the arguments themselves, and returns them.
func (f *frame) touchAll(arguments []argument) (all places) {
	for _, a := range arguments {
		f.touch(a.places)
		all = append(all, a.places...)
	}
	return unique(all)
}

// call returns the result of a function. One without a rule reads its arguments as a whole, and makes a new value.
func (f *frame) call(function string, arguments []argument) places {
	count := len(arguments)
	switch function {
	case "and", "or", "default", "required", "coalesce", "ternary", "deepCopy", "mustDeepCopy":
		return f.touchAll(arguments)
	case "not", "empty", "eq", "ne", "lt", "le", "gt", "ge", "kindIs", "kindOf", "typeIs", "typeOf":
		f.touchAll(arguments)
		return nil
	case "dict":
		d := made()
		for i := 0; i+1 < count; i += 2 {
			d.add(arguments[i], arguments[i+1].places)
		}
		return places{d}
	case "list", "tuple":
		l := made()
		for _, a := range arguments {
			l.add(argument{}, a.places)
		}
		return places{l}
	case "index", "get", "hasKey":
		if count > 0 {
			return f.index(function, arguments)
		}
	case "set":
		if count == 3 {
			f.consume(arguments[2].places)
			return arguments[0].places
		}
	case "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite":
		if count > 0 {
			return f.merge(arguments)
		}
	case "include", "tpl":
		if count == 2 {
			return f.includes(function, arguments)
		}
	}
	f.consumeAll(arguments)
	return nil
}

// add adds a value to a mapping that a template makes.
func (p *place) add(key argument, value places) {
	name := anyKey
	if key.isConst {
		name = key.text
	}
	p.fields[name] = unique(append(p.fields[name], value...))
}

// index returns the value at keys. An unknown key may be each.
func (f *frame) index(function string, arguments []argument) places {
	value := arguments[0].places
	for _, a := range arguments[1:] {
		f.consume(a.places)
		key := anyKey
		if a.isConst {
			key = a.text
		}
		if f.touch(value); key == anyKey {
			value = append(f.items(value), f.step(value, key)...)
		} else {
			value = f.step(value, key)
		}
	}
	if function == "hasKey" {
		f.touch(value)
		return nil
	}
	return value
}

// merge returns a mapping with others merged into it. Templates may read it by other variables, too.
func (f *frame) merge(arguments []argument) (all places) {
	for _, a := range arguments {
		all = append(all, a.places...)
	}
	all = unique(all)
	for _, p := range arguments[0].places {
		for _, other := range all {
			switch {
			case other == p:
			case p.path != nil:
				f.consume(places{other})
			case other.path != nil:
				p.also = unique(append(p.also, other))
			default:
				p.also = unique(append(p.also, other.also...))
				for key, values := range other.fields {
					p.add(argument{text: key, isConst: true}, values)
				}
			}
		}
	}
	return all
}

// includes executes include or tpl.
func (f *frame) includes(function string, arguments []argument) places {
	f.consume(arguments[0].places)
	if name := arguments[0]; function == "include" && name.isConst {
		f.include(name.text, arguments[1].places)
		return nil
	}
	texts := f.texts
	if function == "include" { // files are executed anyway
		texts = nil
		for _, trees := range f.trees {
			texts = append(texts, slices.DeleteFunc(slices.Clone(trees), func(t *parsed) bool { return t.isFile })...)
		}
	}
	for _, t := range texts {
		f.execute(t, arguments[1].places)
	}
	return nil
}

// include executes the templates with a name.
func (f *frame) include(name string, dot places) {
	for _, t := range f.trees[name] {
		f.execute(t, dot)
	}
}
