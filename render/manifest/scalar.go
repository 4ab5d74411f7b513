package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// LineEnds are the characters that end a line for some readers of YAML, unless they are escaped.
const LineEnds = "\u0085\u2028\u2029"

// Scalar returns text as YAML on one line, in quotes where a reader of YAML might take it for
// anything else.
func Scalar(text string) string {
	content, err := yaml.Marshal(text)
	scalar := strings.TrimSuffix(string(content), "\n")
	if err != nil || strings.ContainsAny(scalar, "\n"+LineEnds) {
		return strconv.QuoteToASCII(text)
	}
	return scalar
}
