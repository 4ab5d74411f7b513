package compare

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// Unread are the values that users set for a chart, and that no template of it reads. Before the change one did, or
// the value or the chart was not there.
type Unread struct {
	// Object is the HelmRelease or Application, or has the kind Chart and the name of the release.
	Object manifest.ID
	// Chart is the chart after the change, with its version.
	Chart  string
	Values []string
}

// newlyUnread returns the values that a chart reads no more.
func newlyUnread(object manifest.ID, chart string, was, is *charts.Settings) []Unread {
	if was == nil || is == nil { // a chart with problems
		return nil
	}
	all := unreadOf(object, chart, is)
	if len(all) > 0 { // or else the chart before does not matter
		all[0].Values = Without(all[0].Values, was.Unread())
	}
	return slices.DeleteFunc(all, func(u Unread) bool { return len(u.Values) == 0 })
}

// unreadOf returns the values that a chart does not read.
func unreadOf(object manifest.ID, chart string, is *charts.Settings) []Unread {
	if is == nil { // a chart with problems
		return nil
	}
	values := is.Unread()
	if len(values) == 0 {
		return nil
	}
	return []Unread{{object, chart, values}}
}

// unreadOfRelease returns the values that a release reads no more.
func unreadOfRelease(was, is *release.Installed) []Unread {
	if was.String() == is.String() && reflect.DeepEqual(was.Values, is.Values) {
		return nil
	}
	return newlyUnread(is.Source.ID(), is.String(), was.Settings, is.Settings)
}

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

// unread returns the values that the charts of helmCharts read no more.
func (b *previousRendering) unread(was, now []source.Chart) (all []Unread) {
	key := func(c source.Chart) string { return strings.Join([]string{c.File, c.Name, c.ReleaseName}, "\n") }
	old := map[string]source.Chart{}
	for _, c := range was {
		old[key(c)] = c
	}
	for _, c := range now {
		id := manifest.ID{Kind: "Chart", Namespace: c.Namespace, Name: cmp.Or(c.ReleaseName, c.Name)}
		chart := strings.TrimSpace(c.Name + " " + c.Version)
		if was, isOld := old[key(c)]; isOld {
			all = append(all, newlyUnread(id, chart, was.Settings, c.Settings)...)
		} else {
			all = append(all, unreadOf(id, chart, c.Settings)...)
		}
	}
	return all
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
