package review

import (
	"fmt"
	"strings"

	"example.com/gatehouse/render/object"
)

// Failure is a comment, of at most limit bytes, on a change with which environments cannot be
// rendered: what happens to clusters is not known then.
func Failure(problems []object.Problem, limit int, rest string) string {
	var lines strings.Builder
	for _, p := range problems {
		lines.WriteString(visible(p.String()) + "\n")
	}
	text := &block{text: lines.String()}
	fence := fenceOf([]*block{text})
	head := fmt.Sprintf("%s\n### ❌ Does not render: %s\n\n%s\n", Marker, count(int64(len(problems)), "error"), fence)
	text.cutTo(limit - len(head) - len(fence) - len(rest) - 2)
	comment := head + text.text + fence + "\n"
	if text.isCut {
		comment += rest + "\n"
	}
	return comment
}
