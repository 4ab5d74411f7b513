package object

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// FromYAML returns the object that a YAML mapping is, with the values that the API
// server would get of it. What it would get otherwise than it is written is in Inexact.
// The node is of no use afterwards.
func FromYAML(node *yaml.Node) (Object, error) {
	d := &decoder{}
	d.visit(node)
	var content map[string]any
	if err := node.Decode(&content); err != nil {
		return Object{}, err
	}
	values, err := jsonValues(content)
	if err != nil {
		return Object{}, err
	}
	u := &unstructured.Unstructured{Object: values}
	o := Object{Unstructured: u, Written: u}
	for _, wrong := range d.inexact {
		o.Inexact = append(o.Inexact, wrong.problem(o))
	}
	return o, nil
}

// jsonValues returns content with the values of JSON as unstructured objects have them.
func jsonValues(content map[string]any) (values map[string]any, err error) {
	b, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(b, &values)
	}
	return values, err
}

// decoder finds in a tree of nodes what JSON cannot say, and makes of it what can be
// decoded.
type decoder struct {
	path    []string
	inexact []inexact
}

// inexact is a value that cannot be kept as it is written.
type inexact struct {
	field, value, reason string
}

func (d *decoder) report(node *yaml.Node, reason string) {
	d.inexact = append(d.inexact, inexact{JoinField(d.path), node.Value, reason})
}

func (i inexact) problem(o Object) Problem {
	message := fmt.Sprintf("%s: Invalid value: %s: %s", i.field, i.value, i.reason)
	if o.GetKind() == "Secret" {
		message = i.field + ": " + i.reason // who reads problems need not know its values
	}
	return NewProblem(o, i.field, Value{Is: i.value}, message)
}

func (d *decoder) visit(node *yaml.Node) {
	switch node.Kind {
	case yaml.AliasNode:
		d.visit(node.Alias)
	case yaml.ScalarNode:
		d.scalar(node)
	case yaml.MappingNode:
		d.mapping(node)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			d.path = append(d.path, "["+strconv.Itoa(i)+"]")
			d.visit(item)
			d.path = d.path[:len(d.path)-1]
		}
	}
}

func (d *decoder) mapping(node *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		d.path = append(d.path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode: // decoding says why it is no key
		case key.ShortTag() == "!!merge":
			d.path = d.path[:len(d.path)-1]
			d.visit(node.Content[i+1])
			continue
		case key.Value == "<<":
			d.report(key, "is a key that YAML tools take for a merge: rename it")
		case key.ShortTag() != "!!str":
			d.report(key, "is a key, and keys are text: put it in quotes")
			key.Tag = "!!str"
		}
		d.visit(node.Content[i+1])
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *decoder) scalar(node *yaml.Node) {
	switch node.ShortTag() {
	case "!!str":
	case "!!timestamp":
		// JSON has no times: kubectl takes them for text, as they are written.
		node.Tag = "!!str"
	case "!!int":
		d.integer(node)
	case "!!float":
		d.float(node)
	case "!!binary":
		d.binary(node)
	default:
		d.decodable(node)
	}
}

const (
	tooLarge   = "does not fit into a signed 64-bit integer and would be rounded: write a smaller number, or text in quotes"
	noNumber   = "is no number that JSON has: write a number, or text in quotes"
	notDecoded = "is not what its tag says: write it without the tag, or text in quotes"
)

func (d *decoder) integer(node *yaml.Node) {
	digits := strings.ReplaceAll(node.Value, "_", "")
	if _, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return
	}
	if _, err := strconv.ParseUint(digits, 0, 64); err == nil {
		d.report(node, tooLarge)
		return
	}
	d.decodable(node)
}

func (d *decoder) float(node *yaml.Node) {
	var value float64
	if err := node.Decode(&value); err != nil {
		d.decodable(node)
		return
	}
	literal := strings.ReplaceAll(node.Value, "_", "")
	switch kept := strconv.FormatFloat(value, 'g', -1, 64); {
	case math.IsInf(value, 0) || math.IsNaN(value):
		d.report(node, noNumber)
		node.SetString("")
	case isInteger(literal) && (value <= math.MinInt64 || value >= math.MaxInt64):
		d.report(node, tooLarge)
	case decimalOf(literal) != decimalOf(kept):
		d.report(node, "has more digits than a 64-bit float and would be "+kept+": write that, or text in quotes")
	}
}

func (d *decoder) binary(node *yaml.Node) {
	var text string
	if err := node.Decode(&text); err == nil && !utf8.ValidString(text) {
		d.report(node, "is binary and no text, which JSON cannot hold: write base64 without the tag")
		node.SetString("")
		return
	}
	d.decodable(node)
}

// decodable reports a value that its tag does not fit.
func (d *decoder) decodable(node *yaml.Node) {
	var value any
	if err := node.Decode(&value); err != nil {
		d.report(node, notDecoded)
		node.SetString("")
	}
}

func isInteger(literal string) bool { return !strings.ContainsAny(literal, ".eExX") }

// decimal is a decimal number: its sign, its digits without zeros at either end, and
// the power of ten of the first.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads a decimal literal.
func decimalOf(literal string) (d decimal) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	d.exponent, _ = strconv.Atoi(exponent) // one too large is not of a finite number
	d.negative = strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	d.digits = strings.TrimLeft(whole+fraction, "0")
	d.exponent += len(d.digits) - len(fraction)
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}
