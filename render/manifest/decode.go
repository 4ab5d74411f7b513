package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Decode decodes a field of an object into a Go value, as JSON.
func Decode(value, into any) error {
	content, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	return err
}

// FromYAML decodes an object from a YAML mapping, with the values that the API server receives. It
// returns an InexactError if the API server would receive another value. FromYAML changes the node.
func FromYAML(node *yaml.Node) (Object, error) {
	var inexact *InexactError
	EachScalar(node, nil, func(scalar *yaml.Node, keys []string, isKey bool) {
		reason := Inexact(scalar, isKey)
		switch {
		case reason != "" && inexact == nil:
			inexact = &InexactError{Keys: slices.Clone(keys), Value: scalar.Value, Reason: reason}
		case isKey, scalar.ShortTag() == "!!timestamp":
			// JSON has neither times nor keys other than text: kubectl keeps their literal text.
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

// oldBooleans are words of YAML 1.1, which sigs.k8s.io/yaml reads, that YAML 1.2 reads as text.
var oldBooleans = map[string]string{
	"y": "true", "Y": "true", "yes": "true", "Yes": "true", "YES": "true", "on": "true", "On": "true", "ON": "true",
	"n": "false", "N": "false", "no": "false", "No": "false", "NO": "false", "off": "false", "Off": "false",
	"OFF": "false",
}

// FromYAML11 is FromYAML for kubectl and Argo CD, which read booleans in plain words that kustomize reads as text, and
// then writes in quotes. A key keeps the word, so that messages name it as in git.
func FromYAML11(node *yaml.Node) (Object, error) {
	EachScalar(node, nil, func(scalar *yaml.Node, _ []string, isKey bool) {
		if boolean := OldBoolean(scalar); boolean != "" && !isKey {
			scalar.Value = boolean
			scalar.Tag = "!!bool"
		}
	})
	return FromYAML(node)
}

// OldBoolean returns the boolean, true or false, that YAML 1.1 reads in a plain word; nothing for any other scalar.
func OldBoolean(scalar *yaml.Node) string {
	if scalar.Style != 0 {
		return ""
	}
	return oldBooleans[scalar.Value]
}

// jsonValue converts a decoded value to the types of a round trip through JSON: whole numbers that
// fit become int64, all other numbers float64.
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
		return nil, fmt.Errorf("%T has no JSON form", value)
	}
	return value, nil
}

// InexactError is the error of a value that would change on its way to the API server. Indexes among
// its keys are in brackets.
type InexactError struct {
	Keys          []string
	Value, Reason string
}

func (e *InexactError) Error() string { return e.Problem(ID{}).Message }

// Problem returns the error as a problem of an object, or of a patch, which may have no name.
func (e *InexactError) Problem(id ID) Problem {
	p := Problem{Code: InexactValue, Field: JoinField(e.Keys), Value: Value{Is: e.Value}}
	shown := e.Value
	if id.Name != "" {
		p.Object = id.String()
	}
	if mayBeSecret(id.Kind, e.Keys) {
		shown = "..." // problems are no place for secrets
	}
	p.Message = fmt.Sprintf("%s: Invalid value: %s: %s", p.Field, shown, e.Reason)
	return p
}

// mayBeSecret reports whether a value may be secret. A patch may have no kind.
func mayBeSecret(kind string, keys []string) bool {
	isData := len(keys) > 0 && (keys[0] == "data" || keys[0] == "stringData")
	return kind == "Secret" || isData && kind != "ConfigMap"
}

// EachScalar calls visit with each scalar and each key in a tree of nodes, and with its path. visit
// has to clone keys to keep them.
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
			key := node.Content[i]
			value := node.Content[i+1]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" { // decoding reports the former
				EachScalar(value, keys, visit)
				continue
			}
			visit(key, append(keys, key.Value), true)
			EachScalar(value, append(keys, key.Value), visit)
		}
	}
}

// keepsText reports whether a key of another type becomes its literal text: 1 does, 0x1 does not.
func keepsText(key *yaml.Node) bool {
	var value any
	err := key.Decode(&value)
	switch value.(type) {
	case int, int64, uint64, bool:
		return err == nil && fmt.Sprint(value) == key.Value
	}
	return key.ShortTag() == "!!timestamp"
}

const tooLarge = "does not fit into a signed 64-bit integer and would be rounded: write a smaller number, or text " +
	"in quotes"

// Inexact returns the reason why the API server would receive another value than the literal one, or
// "" if it would not.
func Inexact(scalar *yaml.Node, isKey bool) string {
	tag := scalar.ShortTag()
	switch {
	case isKey && scalar.Value == "<<":
		return "is a key that YAML tools treat as a merge: rename it"
	case isKey && tag != "!!str" && !keepsText(scalar):
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
		return "does not match its tag: write it without the tag, or text in quotes"
	}
	switch value := value.(type) {
	case uint64:
		return tooLarge
	case float64:
		return inexactFloat(value, strings.ReplaceAll(scalar.Value, "_", ""))
	case string:
		if !utf8.ValidString(value) {
			return "is binary, and JSON has only text: write base64 without the tag"
		}
	}
	return ""
}

func inexactFloat(value float64, literal string) string {
	switch kept := strconv.FormatFloat(value, 'g', -1, 64); {
	case math.IsInf(value, 0) || math.IsNaN(value):
		return "is not a JSON number: write a number, or text in quotes"
	case isInteger(literal) && (value <= math.MinInt64 || value >= math.MaxInt64):
		return tooLarge
	case significantDigits(literal) != significantDigits(kept): // kept is so close that no other difference is possible
		return "has more digits than a 64-bit float and would be " + kept + ": write that, or text in quotes"
	}
	return ""
}

func isInteger(literal string) bool { return !strings.ContainsAny(literal, ".eExX") }

// significantDigits returns the digits of a decimal literal without zeros at either end.
func significantDigits(literal string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	return strings.Trim(strings.NewReplacer("-", "", "+", "", ".", "").Replace(mantissa), "0")
}
