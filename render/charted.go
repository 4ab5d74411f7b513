package render

import (
	"slices"

	"example.com/gatehouse/render/manifest"
)

// followCharts follows the deliveries among the objects of charts, such as the Applications in a chart, and returns
// their objects. Each delivery is followed once: a chart may install itself.
func (b *built) followCharts(repository *Repository, charts []*Delivery) (all []manifest.Object) {
	seen := map[manifest.ID]bool{}
	isNew := func(o manifest.Object) bool {
		id := o.ID()
		id.Namespace = "" // a chart leaves it to its release
		isSeen := seen[id]
		seen[id] = true
		return !isSeen && Delivers(o)
	}
	for _, o := range slices.Concat(b.root.Applied(), b.root.delivered()) {
		isNew(o)
	}
	for len(charts) > 0 {
		chart := charts[0]
		charts = charts[1:]
		top := &Delivery{input: b.root.input}
		isKnown := func(o manifest.Object) bool { return !isNew(o) }
		top.setBuilt(slices.DeleteFunc(slices.Clone(chart.Chart.Objects), isKnown))
		if len(top.objects) == 0 {
			continue
		}
		b.invalid = append(b.invalid, blameDeliveries(top.follow(repository, b.files))...)
		chart.stays = "a chart makes it"
		for _, d := range top.Children {
			d.Parent = chart
			chart.Children = append(chart.Children, d)
		}
		releases := b.root.findReleases(slices.Concat(top.Applied(), top.delivered()))
		origin := b.root.sourceOrigin(repository, b.root.Applied())
		installed, problems := b.root.install(b.root.sources.FS, b.cluster, origin, releases)
		b.invalid = append(b.invalid, blameDeliveries(problems)...)
		b.releases = append(b.releases, releases...)
		all = append(all, top.delivered()...)
		for _, r := range installed {
			charts = append(charts, b.root.addChart(r))
			all = append(all, r.Objects...)
		}
	}
	return all
}
