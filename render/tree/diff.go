package tree

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns a unified diff of what the plan changes, as `git apply` takes it.
func (p *Plan) Diff() string {
	var b strings.Builder
	for _, file := range append(p.write, File{IndexFile, p.index}) {
		if old, ok := p.before[file.Path]; ok {
			b.WriteString(p.fileDiff(file.Path, old, file.Content))
		}
	}
	for _, name := range p.prune {
		b.WriteString(p.fileDiff(name, p.before[name], nil))
	}
	return b.String()
}

// noFile is the name that diff and git give to a missing file, on every system.
const noFile = "/dev/null"

func (p *Plan) fileDiff(name string, before, after []byte) string {
	from, to := "a/"+p.folder.full(name), "b/"+p.folder.full(name)
	if before == nil {
		from = noFile
	}
	if after == nil {
		to = noFile
	}
	return udiff.Unified(from, to, string(before), string(after))
}
