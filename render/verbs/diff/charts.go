package diff

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// charts returns the previous entries of helmCharts. It reads the previous sources if the change may be in them:
// without an entry now, only if a kustomization changes.
func (b *previousRendering) charts(rendering *render.Rendering) []source.Chart {
	isKustomization := func(c git.FileChange) bool {
		return b.isBesideRendered(c) && slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(c.Path))
	}
	if b.commit == "" || !b.changesSource(rendering.Sources) ||
		len(rendering.Charts) == 0 && !slices.ContainsFunc(b.changed, isKustomization) {
		return rendering.Charts
	}
	return b.base.Charts(rendering.Environment)
}

// changesSource reports whether one of the current sources is changed, or any file beside rendered/ is removed.
func (b *previousRendering) changesSource(sources []string) bool {
	isRead := sets.New(sources...)
	return slices.ContainsFunc(b.changed, func(c git.FileChange) bool {
		return b.isBesideRendered(c) && (isRead.Has(b.git.InFolder(c.Path)) || c.After == nil)
	})
}

// isBesideRendered reports whether a changed file is in the folder of the repository, and not below rendered/.
func (b *previousRendering) isBesideRendered(c git.FileChange) bool {
	return b.git.Holds(c.Path) && !strings.HasPrefix(b.git.InFolder(c.Path), tree.Folder+"/")
}
