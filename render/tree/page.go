package tree

import (
	"fmt"
	"path"

	"example.com/gatehouse/render/manifest"
)

// The page about a rendered environment is beside its index, which cannot list it, as kustomize
// does not build it. Its first line tells it from a page that a person wrote. Render leaves
// such a page and goes on, as nobody deploys it.

// pageFile is the path of the page in the folder of an environment.
const pageFile = "README.md"

// PageHeader is the first line of a page.
const PageHeader = "<!-- Written by gatehouse render: do not edit. -->\n"

// isOtherPage reports whether there is a page, or anything else in its place, that render did not
// write.
func (p *Plan) isOtherPage() (bool, error) {
	if p.folder.dir == nil {
		return false, nil
	}
	info, err := p.folder.dir.Lstat(pageFile)
	if err == nil && !info.Mode().IsRegular() {
		return true, nil
	}
	content, err := p.folder.read(pageFile)
	return content != nil && !startsWith(content, PageHeader), err
}

// otherPage returns the warning about a page that render did not write.
func (p *Plan) otherPage() manifest.Problem {
	return manifest.Problem{
		File:    p.folder.full(pageFile),
		Message: fmt.Sprintf("render did not write it, and leaves it: rename it, or move it to environments/%s, to have an overview of the environment there", path.Base(p.folder.path)),
		Warning: true,
	}
}
