package render

import (
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
)

// NeededChart is an archive of a chart that an environment names.
type NeededChart struct {
	// Folder is relative to the root, with slashes.
	Folder string
	// Locked is without digest, and IsThere reports whether the chart is there, perhaps as a folder.
	charts.Locked
	IsThere bool
}

// Charts returns the charts of the kustomizations of an environment, without its problems.
func (r *Repository) Charts(environment string) []source.Chart {
	in, _ := readInput(r, environment)
	if in.sources == nil {
		return nil
	}
	return in.sources.Charts
}

// NeededCharts returns the charts that an environment names, in its kustomizations and, if it builds, in its
// releases. The problems include warnings of charts without an exact version or a repository.
func (r *Repository) NeededCharts(environment string, progress func(step string)) (all []NeededChart, problems []manifest.Problem) {
	progress("reading")
	in, problems := readInput(r, environment)
	p := &pipeline{input: in}
	if in.sources != nil {
		for _, e := range in.sources.Charts {
			if e.Repo != "" && e.Version != "" {
				l := charts.Locked{Name: e.Name, Version: e.Version, Repository: strings.TrimRight(e.Repo, "/")}
				all = append(all, NeededChart{strings.TrimPrefix(e.Home, "/"), l, charts.IsThere(in.sources.FS.Charts(), e.Entry)})
			}
		}
	}
	if p.addProblems(problems) {
		return all, manifest.SortProblems(p.problems)
	}
	progress("building")
	b, problems := in.build()
	p.addProblems(problems)
	for _, needed := range b.releases {
		switch {
		case needed.Chart == "" || needed.Unjudged != "":
		case !needed.IsExact():
			p.addProblems([]manifest.Problem{needed.Warning("chart " + needed.String() + " has no exact version: write one")})
		case needed.Repository == "":
			p.addProblems([]manifest.Problem{needed.Warning("chart " + needed.String() + ": its repository is not in this environment: run helm pull -d " + charts.Folder)})
		default:
			all = append(all, NeededChart{Folder: charts.Folder, Locked: charts.Locked{Name: needed.Chart, Version: needed.Version, Repository: needed.Repository}})
		}
	}
	return all, manifest.SortProblems(p.problems)
}
