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
		return unreadOf(is.Of.ID(), is.Chart.String(), is.Chart.Settings)
	case was.Chart == nil || was.Chart.String() == is.Chart.String() &&
		reflect.DeepEqual(was.Chart.Values, is.Chart.Values) && is.Chart.Settings.IsEqual(was.Chart.Settings):
		return nil
	}
	return newlyUnread(is.Of.ID(), is.Chart.String(), was.Chart.Settings, is.Chart.Settings)
}

// unread returns the values that the charts of helmCharts read no more.
func unread(was, now []source.Chart) (all []Unread) {
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
