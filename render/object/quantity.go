package object

import (
	"encoding/json"
	"regexp"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// endless is a quantity that takes all time to be read. With a question mark it is none, and any
// other text is as good.
var endless = regexp.MustCompile(`"([+-]?[0-9.]+[eE][+-]?[0-9]{4,})"`)

// WithoutEndless is an object without quantities that take all time to be read.
func WithoutEndless(content map[string]any) map[string]any {
	encoded, err := json.Marshal(content)
	if err != nil || !endless.Match(encoded) {
		return content
	}
	var without map[string]any
	_ = utiljson.Unmarshal(EndQuantities(encoded), &without) // it was JSON
	return without
}

// EndQuantities is JSON in which quantities that take all time to be read are none.
func EndQuantities(encoded []byte) []byte { return endless.ReplaceAll(encoded, []byte(`"$1?"`)) }

// AsWritten is a text without the question mark that ended it.
func AsWritten(text string) string { return endedText.ReplaceAllString(text, "$1") }

var endedText = regexp.MustCompile(`^([+-]?[0-9.]+[eE][+-]?[0-9]{4,})\?$`)
