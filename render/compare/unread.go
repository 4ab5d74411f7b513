package compare

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
)

// Unread are the values that users set for a chart, and that no template of it reads, or none that runs. Before the
// change one did, or the value or the chart was not there.
type Unread struct {
	// Object is the HelmRelease or Application, or has the kind Chart and the name of the release.
	Object manifest.ID
	// Chart is the chart after the change, with its version.
	Chart  string
	Values []string
	// Idle are values of templates that do not run.
	Idle []string
}

// newlyUnread returns the values that a chart reads no more.
func newlyUnread(object manifest.ID, chart string, was, is *charts.Settings) []Unread {
	if was == nil || is == nil { // a chart with problems
		return nil
	}
	all := unreadOf(object, chart, is)
	if len(all) > 0 { // or else the chart before does not matter
		never, idle := was.Unread()
		all[0].Values = Without(all[0].Values, never)
		all[0].Idle = Without(all[0].Idle, slices.Concat(never, idle))
	}
	return slices.DeleteFunc(all, func(u Unread) bool { return len(u.Values)+len(u.Idle) == 0 })
}

// unreadOf returns the values that a chart does not read.
func unreadOf(object manifest.ID, chart string, is *charts.Settings) []Unread {
	if is == nil { // a chart with problems
		return nil
	}
	never, idle := is.Unread()
	if len(never)+len(idle) == 0 {
		return nil
	}
	return []Unread{{object, chart, never, idle}}
}

// unreadOfDelivery returns the values that the chart of a delivery reads no more.
func unreadOfDelivery(was, is *render.Delivery) []Unread {
	switch {
	case is.Chart == nil:
		return nil
	case was == nil:
		return unreadOf(is.By(), is.Chart.String(), is.Chart.Settings)
	case was.Chart == nil || was.Chart.String() == is.Chart.String() &&
		reflect.DeepEqual(was.Chart.Values, is.Chart.Values) && is.Chart.Settings.IsEqual(was.Chart.Settings):
		return nil
	}
	return newlyUnread(is.By(), is.Chart.String(), was.Chart.Settings, is.Chart.Settings)
}

// unread returns the values that the charts of helmCharts read no more.
func unread(was, now []source.Chart) (all []Unread) {
	for _, c := range now {
		chart := strings.TrimSpace(c.Name + " " + c.Version)
		if old := sameEntry(was, c); old != nil {
			all = append(all, newlyUnread(idOfChart(c), chart, old.Settings, c.Settings)...)
		} else {
			all = append(all, unreadOf(idOfChart(c), chart, c.Settings)...)
		}
	}
	return all
}

// sameEntry returns the chart of the same entry of helmCharts, or nil.
func sameEntry(all []source.Chart, as source.Chart) *source.Chart {
	i := slices.IndexFunc(all, func(c source.Chart) bool {
		return c.File == as.File && c.Name == as.Name && c.ReleaseName == as.ReleaseName
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

func idOfChart(c source.Chart) manifest.ID {
	return manifest.ID{Kind: "Chart", Namespace: c.Namespace, Name: cmp.Or(c.ReleaseName, c.Name)}
}

// addUnprovenCharts adds the changed files of the charts of helmCharts whose change no row shows as a whole.
func (d *Differences) addUnprovenCharts() {
	for _, c := range d.Charts {
		old := sameEntry(d.OldCharts, c)
		if old == nil {
			continue
		}
		if files := c.Settings.Unproven(old.Settings); len(files) > 0 {
			d.Unproven[idOfChart(c)] = files
		}
	}
}
