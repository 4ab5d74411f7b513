package tree

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the plan as a unified diff for `git apply`.
func (p *Plan) Diff() string {
	var b strings.Builder
	for _, f := range p.files {
		if f.isWritten() || f.isPruned() {
			name := p.folder.full(f.name)
			b.WriteString(UnifiedDiff("a/"+name, "b/"+name, f.before, f.after))
		}
	}
	return b.String()
}

// UnifiedDiff returns a unified diff of a file. Without a file, its content is nil.
func UnifiedDiff(from, to string, before, after []byte) string {
	const noFile = "/dev/null" // to diff and git, on every system
	if before == nil {
		from = noFile
	}
	if after == nil {
		to = noFile
	}
	return udiff.Unified(from, to, string(before), string(after))
}
