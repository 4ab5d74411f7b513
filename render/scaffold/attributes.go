package scaffold

import (
	"bytes"
	"fmt"
	"strings"
)

// attributes are those of what is rendered: hosts fold it in a diff, and git changes no line
// ends in it.
var attributes = []string{"linguist-generated=true", "gitlab-generated", "text", "eol=lf"}

// withAttributes is the content of a .gitattributes with what it lacks of the attributes of
// what is rendered below a folder.
func withAttributes(content []byte, prefix string) []byte {
	pattern := attributesPattern(prefix)
	missing := attributes
	newline := "\n"
	for line := range strings.Lines(string(content)) {
		if strings.HasSuffix(line, "\r\n") {
			newline = "\r\n"
		}
		written, ok := strings.CutPrefix(strings.TrimSpace(line), pattern)
		if ok && strings.TrimLeft(written, " \t") != written { // else it is a longer pattern
			missing = without(missing, strings.Fields(written))
		}
	}
	if len(missing) == 0 {
		return content
	}
	line := pattern + " " + strings.Join(missing, " ") + newline
	if len(content) > 0 && !bytes.HasSuffix(content, []byte("\n")) {
		line = newline + line
	}
	return append(bytes.Clone(content), line...)
}

// without are attributes but for those of which something is said.
func without(attributes, said []string) (rest []string) {
	name := func(attribute string) string {
		attribute, _, _ = strings.Cut(strings.TrimLeft(attribute, "-!"), "=")
		return attribute
	}
	names := map[string]bool{}
	for _, attribute := range said {
		names[name(attribute)] = true
	}
	for _, attribute := range attributes {
		if !names[name(attribute)] {
			rest = append(rest, attribute)
		}
	}
	return rest
}

// attributesPattern is the pattern of what is rendered below a folder, in quotes where it
// has to be.
func attributesPattern(prefix string) string {
	pattern := "rendered/**"
	if prefix != "" {
		pattern = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(prefix) + "/" + pattern
	}
	if strings.ContainsAny(pattern, " \t\"") || strings.HasPrefix(pattern, "#") || strings.HasPrefix(pattern, "!") {
		return fmt.Sprintf(`"%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(pattern))
	}
	return pattern
}
