package diff

import (
	"bytes"
	"path"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
)

// workTree is what rendered/ has.
type workTree struct{ repository *render.Repository }

func (w workTree) commit() string { return "" }

// environments implements before: whoever selects all environments has those of the work
// tree.
func (w workTree) environments() ([]string, error) { return nil, nil }

func (w workTree) compare(environment string, now []tree.File) (same map[string]bool, others []tree.File, err error) {
	files, err := w.repository.Rendered(environment)
	if err != nil {
		return nil, nil, err
	}
	contents := map[string][]byte{}
	for _, file := range now {
		contents[file.Path] = file.Content
	}
	same = map[string]bool{}
	for _, file := range files {
		if content, ok := contents[file.Path]; ok && bytes.Equal(content, file.Content) {
			same[file.Path] = true
			continue
		}
		others = append(others, file)
	}
	return same, others, nil
}

func (w workTree) name(environment, file string) string {
	return path.Join(tree.Folder, environment, file)
}
