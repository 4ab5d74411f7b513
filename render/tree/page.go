package tree

import (
	"fmt"
	"path"

	"example.com/gatehouse/render/object"
)

// The page about a rendered environment is beside its index, which cannot list it: it is
// nothing that kustomize builds. Its first line tells it from a page that a person wrote,
// which is left alone: nobody deploys it, so it is no reason not to render.

// pageFile is the path of the page in the folder of an environment.
const pageFile = "README.md"

// PageHeader is the first line of a page.
const PageHeader = "<!-- Written by gatehouse render: do not edit. -->\n"

// planPage notes what has to be done for the page, nil where none is to be left, and says
// whether another one keeps it from being written.
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

// isOtherPage says whether there is a page, or anything else in its place, that render did
// not write.
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

// otherPage is the warning of a page that render did not write.
func (p *Plan) otherPage() object.Problem {
	return object.Problem{
		File:    p.folder.full(pageFile),
		Message: fmt.Sprintf("render did not write it, and leaves it: rename it, or move it to environments/%s, to have an overview of the environment there", path.Base(p.folder.path)),
		Warning: true,
	}
}
