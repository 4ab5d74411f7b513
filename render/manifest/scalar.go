package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// LineEnds are characters that end a line for some YAML readers, unless they are escaped.
const LineEnds = "\u0085\u2028\u2029"

// Scalar returns text as YAML on one line, quoted if a YAML reader might read another type.
func Scalar(text string) string {
	content, err := yaml.Marshal(text)
	scalar := strings.TrimSuffix(string(content), "\n")
	if err != nil || strings.ContainsAny(scalar, "\n"+LineEnds) {
		return strconv.QuoteToASCII(text)
	}
	return scalar
}
