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
// The error is an InexactError where it would get one otherwise than it is written. FromYAML
// changes the node.
func FromYAML(node *yaml.Node) (Object, error) {
	var inexact *InexactError
	EachScalar(node, nil, func(scalar *yaml.Node, keys []string, isKey bool) {
		reason := Inexact(scalar, isKey)
		switch {
		case reason != "" && inexact == nil:
			inexact = &InexactError{Keys: slices.Clone(keys), Value: scalar.Value, Reason: reason}
		case isKey, scalar.ShortTag() == "!!timestamp":
			// JSON has neither times nor other keys than text: kubectl takes them as they are written.
			scalar.Tag = "!!str"
		}
	})
	if inexact != nil {
		return Object{}, inexact
	}
	var content map[string]any
	if err := node.Decode(&content); err != nil {
		return Object{}, err
	}
	if _, err := jsonValue(content); err != nil {
		return Object{}, err
	}
	u := &unstructured.Unstructured{Object: content}
	return Object{Unstructured: u, Written: u}, nil
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

// InexactError is a value that cannot be kept as it is written. Indexes among its keys are in
// brackets.
type InexactError struct {
	Keys          []string
	Value, Reason string
}

// Error implements error.
func (e *InexactError) Error() string { return e.Problem(ID{}).Message }

// Problem returns the error as the problem of an object, or of a patch without a name.
func (e *InexactError) Problem(id ID) Problem {
	p, shown := Problem{Field: JoinField(e.Keys), Value: Value{Is: e.Value}}, e.Value
	if id.Name != "" {
		p.Object = id.String()
	}
	if mayBeSecret(id.Kind, e.Keys) {
		shown = "..." // problems are no place for secrets
	}
	p.Message = fmt.Sprintf("%s: Invalid value: %s: %s", p.Field, shown, e.Reason)
	return p
}

// mayBeSecret reports whether a value may be that of a Secret. A patch need not have a kind.
func mayBeSecret(kind string, keys []string) bool {
	isData := len(keys) > 0 && (keys[0] == "data" || keys[0] == "stringData")
	return kind == "Secret" || isData && kind != "ConfigMap"
}

// EachScalar calls visit with each scalar in a tree of nodes, as it is written, with the keys that
// lead to it, and with each key. The keys are to be cloned where visit keeps them.
func EachScalar(node *yaml.Node, keys []string, visit func(scalar *yaml.Node, keys []string, isKey bool)) {
	switch node.Kind {
	case yaml.ScalarNode:
		visit(node, keys, false)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			EachScalar(item, append(keys, "["+strconv.Itoa(i)+"]"), visit)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" { // decoding says why the former is no key
				EachScalar(value, keys, visit)
				continue
			}
			visit(key, append(keys, key.Value), true)
			EachScalar(value, append(keys, key.Value), visit)
		}
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

const tooLarge = "does not fit into a signed 64-bit integer and would be rounded: write a smaller number, or text in quotes"

// Inexact returns why the API server would not get a scalar as it is written, "" if it would.
func Inexact(scalar *yaml.Node, isKey bool) string {
	tag := scalar.ShortTag()
	switch {
	case isKey && scalar.Value == "<<":
		return "is a key that YAML tools take for a merge: rename it"
	case isKey && tag != "!!str" && !isTextAnyway(scalar):
		return "is a key, and keys are text: put it in quotes"
	case isKey, tag == "!!str", tag == "!!timestamp":
		return ""
	case tag == "!!int":
		if _, err := strconv.ParseInt(scalar.Value, 0, 64); err == nil {
			return ""
		}
	}
	var value any
	if err := scalar.Decode(&value); err != nil {
		return "is not what its tag says: write it without the tag, or text in quotes"
	}
	switch value := value.(type) {
	case uint64:
		return tooLarge
	case float64:
		return inexactFloat(value, strings.ReplaceAll(scalar.Value, "_", ""))
	case string:
		if !utf8.ValidString(value) {
			return "is binary and no text, which JSON cannot hold: write base64 without the tag"
		}
	}
	return ""
}

func inexactFloat(value float64, literal string) string {
	switch kept := strconv.FormatFloat(value, 'g', -1, 64); {
	case math.IsInf(value, 0) || math.IsNaN(value):
		return "is no number that JSON has: write a number, or text in quotes"
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
