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

// planPage plans to write the page or, if it is nil, to remove it. It reports whether a page that
// render did not write is in the way.
func (p *Plan) planPage(page []byte) (isOther bool, err error) {
	isOther, err = p.isOtherPage()
	switch {
	case err != nil || isOther:
		return isOther && page != nil, err
	case page == nil:
		return false, p.planRemoval(pageFile)
	}
	return false, p.compare([]File{{pageFile, page}}, map[string]bool{pageFile: true})[0]
}

// isOtherPage reports whether there is a page, or anything else in its place, that render did not
// write.
func (p *Plan) isOtherPage() (bool, error) {
	dir, err := p.folder.open(pageFile)
	if dir == nil {
		return false, err
	}
	info, err := dir.Lstat(pageFile)
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
