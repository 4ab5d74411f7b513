package flux

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
)

// Result is an object as Flux applies it.
type Result struct {
	manifest.Object
	// IsSubstituted reports whether Flux substitutes variables in the object.
	IsSubstituted bool
	// Missing are the variables with neither a value nor a default, see Unset.
	Missing []Use
	// Joined are the variables whose values lose the ends of their lines.
	Joined []Use
	// Err prevents a substitution. The object is unchanged. Culprit, if not nil, is the variable whose value does, and
	// Unreadable the first expression that Flux cannot read.
	Err                 error
	Culprit, Unreadable *Use
}

// Use is a variable, or an expression, in a text of an object.
type Use struct {
	Name  string
	Field []string // the path of the text
}

// A few bytes of variables may stand for more than fits into memory.
const (
	// maxObject bounds the size of a substituted object. The API server reads no larger request.
	maxObject = 3 << 20
	// maxGrowth bounds the growth of all objects of an environment.
	maxGrowth = 16 << 20
)

// ErrTooLarge is the error of variables that stand for too much.
var ErrTooLarge = errors.New("write shorter values")

var (
	errObjectTooLarge = fmt.Errorf("the object would have over %d MiB, and the API server refuses that: %w",
		maxObject>>20, ErrTooLarge)
	errTooLarge = fmt.Errorf("the objects of the environment would have over %d MiB more: %w", maxGrowth>>20,
		ErrTooLarge)
)

// Substitute returns objects as Flux applies them, except the objects that skip, if not nil, selects. It changes no
// object if the values are unknown.
func (b *PostBuild) Substitute(objects []manifest.Object, skip func(manifest.Object) bool) []Result {
	results := make([]Result, len(objects))
	templates := make([]string, len(objects))
	sizes := make([]int, len(objects))
	parallel.For(len(objects), func(i int) {
		results[i].Object = objects[i]
		if b.Substitutes(objects[i]) && (skip == nil || !skip(objects[i])) {
			results[i].IsSubstituted = true
			templates[i], sizes[i], results[i].Err = b.template(objects[i])
			if results[i].Err != nil {
				results[i].Unreadable = unreadable(objects[i])
			}
		}
	})
	growth := 0
	for i, size := range sizes {
		if size > maxObject {
			results[i].Err = errObjectTooLarge
		} else if growth += max(size-len(templates[i]), 0); growth > maxGrowth {
			results[i].Err = errTooLarge
		}
	}
	parallel.For(len(objects), func(i int) {
		if r := &results[i]; r.IsSubstituted && r.Err == nil && b.Values != nil {
			var isMissing bool
			r.Joined = b.usesOf(objects[i], func(name string) bool { return b.joined[name] })
			if r.Object, isMissing, r.Err = b.evaluate(objects[i], templates[i]); isMissing {
				r.Missing = b.missing(objects[i])
			} else if r.Err != nil {
				r.Culprit = b.culprit(objects[i], templates[i])
			}
		}
	})
	return results
}

// template returns the text of an object with its variables, and a bound for the number of bytes that
// their substitution takes.
func (b *PostBuild) template(o manifest.Object) (template string, size int, err error) {
	defer fault.Catch(&err)
	content, err := yaml.Marshal(o.Object)
	if err != nil {
		return "", 0, err
	}
	template = string(content)
	const copied = 256 // bytes in the time of one
	if escapes := strings.Count(template, "$$") + strings.Count(template, `\/`) +
		strings.Count(template, `\\`); escapes*len(template)/copied > maxObject {
		return "", 0, errObjectTooLarge // the parser copies the template for each
	}
	tree, err := parse.Parse(template)
	if err != nil {
		return "", 0, err
	}
	inner := 0
	return template, b.size(tree.Root, &inner) + inner, nil
}

// size bounds the length of the text of a node, and adds the work for functions to inner.
func (b *PostBuild) size(node parse.Node, inner *int) (size int) {
	const enough = 1 << 30
	switch node := node.(type) {
	case *parse.TextNode:
		return len(node.Value)
	case *parse.ListNode:
		for _, n := range node.Nodes {
			size = min(size+b.size(n, inner), enough)
		}
	case *parse.FuncNode:
		value, arguments := weight(b.Values[node.Param]), 0
		for _, n := range node.Args {
			arguments = min(arguments+b.size(n, inner), enough)
		}
		switch {
		case node.Name == "//":
			size = value + (value+1)*arguments
		case strings.HasPrefix(node.Name, "#") || strings.HasPrefix(node.Name, "%"):
			size = value + arguments
			const compared = 64                                                      // bytes in the time of one written
			*inner = min(*inner+value*min(value*arguments/compared, enough), enough) // each prefix is matched
		default:
			size = value + arguments
		}
		size = min(size, enough)
		if len(node.Args) > 0 {
			*inner = min(*inner+arguments, enough)
		}
	}
	return size
}

// weight returns the length of a value, and of the memory for its items if it is YAML.
func weight(value string) int {
	const item = 16
	return len(value) + item*(strings.Count(value, ",")+strings.Count(value, "[")+strings.Count(value, "{"))
}

// evaluate returns an object with the values of its variables.
func (b *PostBuild) evaluate(o manifest.Object, template string) (substituted manifest.Object, isMissing bool,
	err error) {
	evaluated, missing, err := b.execute(template)
	if err != nil {
		return o, missing != nil, err
	}
	substituted, err = decode(o, evaluated)
	return substituted, missing != nil, err
}

// missing returns the variables of an object with neither a value nor a default.
func (b *PostBuild) missing(o manifest.Object) (all []Use) {
	for _, use := range uses(o) {
		parsed, err := envsubst.Parse(use.text)
		if err != nil {
			continue
		}
		assumed := map[string]bool{}
		for range maxUses {
			last := ""
			_, missing := parsed.Execute(func(name string) (string, bool) {
				value, isSet := b.Values[name]
				if !isSet && !assumed[name] {
					last = name
				}
				return value, isSet || assumed[name]
			})
			if missing == nil || last == "" {
				break
			}
			assumed[last] = true
			all = append(all, Use{last, use.Field})
		}
	}
	return all
}

// maxUses bounds the missing variables of a text that are told.
const maxUses = 20

// culprit returns the variable without whose value the object would be YAML, or nil.
func (b *PostBuild) culprit(o manifest.Object, template string) *Use {
	for _, name := range b.Variables(o) {
		if _, isSet := b.Values[name]; !isSet {
			continue
		}
		plain := &PostBuild{Values: maps.Clone(b.Values)}
		plain.Values[name] = "x"
		if _, _, err := plain.evaluate(o, template); err != nil {
			continue
		}
		if found := b.usesOf(o, func(other string) bool { return other == name }); len(found) > 0 {
			return &found[0]
		}
	}
	return nil
}

// usesOf returns the variables of an object whose names match, one for each text.
func (b *PostBuild) usesOf(o manifest.Object, matches func(name string) bool) (found []Use) {
	for _, use := range uses(o) {
		for _, name := range VariablesIn(use.text) {
			if matches(name) {
				found = append(found, Use{name, use.Field})
			}
		}
	}
	return found
}

// unreadable returns the first expression of an object that Flux cannot read, or nil if it can read each of them.
func unreadable(o manifest.Object) *Use {
	for _, use := range uses(o) {
		text := use.text
		for start := indexOfExpression(text); start >= 0; start = indexOfExpression(text) {
			text = text[start:]
			end := endOfExpression(text)
			if end < 0 {
				line, _, _ := strings.Cut(text, "\n")
				if brace := strings.Index(line, "}"); brace > 0 {
					line = line[:brace+1]
				}
				return &Use{line, use.Field}
			}
			text = text[end:]
		}
	}
	return nil
}

// indexOfExpression returns the index of the first expression in a text, or a negative one. $$ stands for a $.
func indexOfExpression(text string) int {
	for i := 0; i+1 < len(text); i++ {
		switch {
		case text[i] != '$':
		case text[i+1] == '{':
			return i
		case text[i+1] == '$':
			i++
		}
	}
	return -1
}

// endOfExpression returns the length of the expression that a text starts with, or a negative one if Flux cannot
// read it.
func endOfExpression(text string) int {
	const longest = 1000 // the parser reads the text once for each brace
	for i := range min(len(text), longest) {
		if text[i] == '}' && reads(text[:i+1]) {
			return i + 1
		}
	}
	return -1
}

// reads reports whether Flux can read a text.
func reads(text string) bool {
	var err error
	func() {
		defer fault.Catch(&err)
		_, err = parse.Parse(text)
	}()
	return err == nil
}

type use struct {
	Use
	text string
}

// uses returns the texts and keys with variables in an object, in the order of fields.
func uses(o manifest.Object) (all []use) {
	add := func(field []string, text string) {
		if strings.Contains(text, "${") {
			all = append(all, use{Use{Field: field}, text})
		}
	}
	decoding.Walk(o.Object, func(field []string, value any) bool {
		switch value := value.(type) {
		case string:
			add(field, value)
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				add(field, key)
			}
		}
		return true
	})
	return all
}

// decode returns an object with the content of a text.
func decode(o manifest.Object, text string) (manifest.Object, error) {
	var content map[string]any
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(encoded, &content)
	}
	if err != nil {
		return o, err
	}
	decoded := o
	decoded.Unstructured = &unstructured.Unstructured{Object: content}
	if o.Written == o.Unstructured {
		decoded.Written = decoded.Unstructured
	}
	return decoded, nil
}

// known matches a variable, perhaps with a default, or an escaped one.
var known = regexp.MustCompile(`\$?\$\{([_[:alpha:]][_[:alnum:]]*)(?::?[-=][^${}]*)?\}`)

// WithKnown returns an object with some values in place of their variables. It leaves alone other variables, and
// functions of values. A text with such a variable stays a text: only with their values is it the YAML that Flux reads.
func WithKnown(o manifest.Object, values map[string]string) (manifest.Object, error) {
	withKnown := func(text string) string {
		return known.ReplaceAllStringFunc(text, func(variable string) string {
			value, isKnown := values[known.FindStringSubmatch(variable)[1]]
			if !isKnown || strings.HasPrefix(variable, "$$") {
				return variable
			}
			return value
		})
	}
	o = o.Copy()
	mapTexts(o.Object, func(text string) (any, bool) {
		replaced := withKnown(withKnown(text)) // a default may be a variable
		return replaced, strings.Contains(replaced, "${")
	})
	content, err := yaml.Marshal(o.Object)
	if err != nil {
		return o, err
	}
	template := withKnown(string(content))
	if len(template) > maxObject {
		return o, errObjectTooLarge
	}
	return decode(o, template)
}

// WithDefaults returns an object with the defaults of its variables, in each text whose variables all
// have one.
func WithDefaults(o manifest.Object) manifest.Object {
	o = o.Copy()
	mapTexts(o.Object, defaultOf)
	return o
}

// mapTexts replaces the texts in content for which f has a value.
func mapTexts(content any, f func(text string) (value any, ok bool)) any {
	switch content := content.(type) {
	case string:
		if value, ok := f(content); ok {
			return value
		}
	case map[string]any:
		for key, value := range content {
			content[key] = mapTexts(value, f)
		}
	case []any:
		for i, value := range content {
			content[i] = mapTexts(value, f)
		}
	}
	return content
}

// defaultOf returns a text with the defaults of its variables, unless one has none.
func defaultOf(text string) (value any, ok bool) {
	if !strings.Contains(text, "${") {
		return nil, false
	}
	const key = "value"
	o, none := manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{key: text}}},
		&PostBuild{}
	template, _, err := none.template(o)
	if err != nil {
		return nil, false
	}
	o, isMissing, err := none.evaluate(o, template)
	return o.Object[key], !isMissing && err == nil
}

// execute replaces the variables in a template.
func (b *PostBuild) execute(template string) (result string, missing, err error) {
	defer fault.Catch(&err) // envsubst panics for ${A:1:9223372036854775807}
	parsed, err := envsubst.Parse(template)
	if err != nil {
		return "", nil, err
	}
	result, missing = parsed.Execute(func(name string) (string, bool) {
		value, exists := b.Values[name]
		return value, exists
	})
	if missing != nil {
		result, err = parsed.Execute(func(name string) (string, bool) { return b.Values[name], true })
	}
	return result, missing, err
}
