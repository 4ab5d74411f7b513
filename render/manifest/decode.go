package manifest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FromYAML decodes an object from a YAML mapping, with the values that the API server would get.
// Values that it would get otherwise than they are written are in Inexact. FromYAML changes the
// node.
func FromYAML(node *yaml.Node) (Object, error) {
	d := &decoder{}
	d.visit(node, nil)
	var content map[string]any
	if err := node.Decode(&content); err != nil {
		return Object{}, err
	}
	if _, err := jsonValue(content); err != nil {
		return Object{}, err
	}
	u := &unstructured.Unstructured{Object: content}
	o := Object{Unstructured: u, Written: u}
	for _, wrong := range d.inexact {
		p := InexactProblem(o.ID(), wrong.keys, wrong.value, wrong.reason)
		p.Subject = o
		o.Inexact = append(o.Inexact, p)
	}
	return o, nil
}

// jsonValue returns a decoded value as unstructured objects have it after a round trip through
// JSON: whole numbers are int64 where they fit, all others float64.
func jsonValue(value any) (_ any, err error) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			if value[key], err = jsonValue(item); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range value {
			if value[i], err = jsonValue(item); err != nil {
				return nil, err
			}
		}
	case int:
		return int64(value), nil
	case uint64:
		return float64(value), nil
	case float64:
		if value == math.Trunc(value) && value >= math.MinInt64 && value < math.MaxInt64 {
			return int64(value), nil
		}
	case nil, bool, int64, string:
	default:
		return nil, fmt.Errorf("%T is no value of JSON", value)
	}
	return value, nil
}

// decoder reports the values in a tree of nodes that JSON cannot hold, and replaces them by some
// that can be decoded.
type decoder struct{ inexact []inexact }

// inexact is a value that cannot be kept as it is written.
type inexact struct {
	keys          []string
	value, reason string
}

func (d *decoder) report(node *yaml.Node, path []string, reason string) {
	d.inexact = append(d.inexact, inexact{slices.Clone(path), node.Value, reason})
}

// InexactProblem returns the problem of a value of an object that cannot be kept as it is
// written. Indexes among the keys of its field are in brackets.
func InexactProblem(id ID, keys []string, value, reason string) Problem {
	p := Problem{Field: JoinField(keys), Value: Value{Is: value}}
	if id.Name != "" {
		p.Object = id.String()
	}
	if mayBeSecret(id.Kind, keys) {
		value = "..." // problems are no place for secrets
	}
	p.Message = fmt.Sprintf("%s: Invalid value: %s: %s", p.Field, value, reason)
	return p
}

// mayBeSecret reports whether a value may be that of a Secret. A patch need not have a kind.
func mayBeSecret(kind string, keys []string) bool {
	isData := len(keys) > 0 && (keys[0] == "data" || keys[0] == "stringData")
	return kind == "Secret" || isData && kind != "ConfigMap"
}

func (d *decoder) visit(node *yaml.Node, path []string) {
	switch node.Kind {
	case yaml.AliasNode:
		d.visit(node.Alias, path)
	case yaml.ScalarNode:
		d.scalar(node, path)
	case yaml.MappingNode:
		d.mapping(node, path)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			d.visit(item, append(path, "["+strconv.Itoa(i)+"]"))
		}
	}
}

func (d *decoder) mapping(node *yaml.Node, path []string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		path := append(path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode: // decoding says why it is no key
		case key.ShortTag() == "!!merge":
			path = path[:len(path)-1]
		case key.Value == "<<":
			d.report(key, path, "is a key that YAML tools take for a merge: rename it")
		case key.ShortTag() != "!!str":
			if !isTextAnyway(key) {
				d.report(key, path, "is a key, and keys are text: put it in quotes")
			}
			key.Tag = "!!str"
		}
		d.visit(node.Content[i+1], path)
	}
}

// isTextAnyway reports whether a key that is not text becomes the text that is written: 1 does,
// 0x1 does not.
func isTextAnyway(key *yaml.Node) bool {
	var value any
	err := key.Decode(&value)
	switch value.(type) {
	case int, int64, uint64, bool:
		return err == nil && fmt.Sprint(value) == key.Value
	}
	return key.ShortTag() == "!!timestamp"
}

func (d *decoder) scalar(node *yaml.Node, path []string) {
	if node.ShortTag() == "!!timestamp" {
		// JSON has no times: kubectl takes them for text, as they are written.
		node.Tag = "!!str"
		return
	}
	reason := Inexact(node)
	if reason != "" {
		d.report(node, path, reason)
	}
	if reason == noNumber || reason == notDecoded || reason == noText {
		node.SetString("")
	}
}

const (
	tooLarge   = "does not fit into a signed 64-bit integer and would be rounded: write a smaller number, or text in quotes"
	noNumber   = "is no number that JSON has: write a number, or text in quotes"
	notDecoded = "is not what its tag says: write it without the tag, or text in quotes"
	noText     = "is binary and no text, which JSON cannot hold: write base64 without the tag"
)

// Inexact returns why the API server would not get a scalar as it is written, "" if it would.
func Inexact(scalar *yaml.Node) string {
	var value any
	switch scalar.ShortTag() {
	case "!!str", "!!timestamp":
		return ""
	case "!!int":
		if _, err := strconv.ParseInt(scalar.Value, 0, 64); err == nil {
			return ""
		}
	}
	if err := scalar.Decode(&value); err != nil {
		return notDecoded
	}
	switch value := value.(type) {
	case uint64:
		return tooLarge
	case float64:
		return inexactFloat(value, strings.ReplaceAll(scalar.Value, "_", ""))
	case string:
		if !utf8.ValidString(value) {
			return noText
		}
	}
	return ""
}

func inexactFloat(value float64, literal string) string {
	switch kept := strconv.FormatFloat(value, 'g', -1, 64); {
	case math.IsInf(value, 0) || math.IsNaN(value):
		return noNumber
	case isInteger(literal) && (value <= math.MinInt64 || value >= math.MaxInt64):
		return tooLarge
	case decimalOf(literal) != decimalOf(kept):
		return "has more digits than a 64-bit float and would be " + kept + ": write that, or text in quotes"
	}
	return ""
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
