package charts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"example.com/gatehouse/render/manifest"
)

// checkValues returns warnings of values that Helm has in its log alone, without a file.
func (e Entry) checkValues(layers []layer, c *loaded, values map[string]any) (found []manifest.Problem) {
	warn := func(keys []string, message string) {
		if position(layers, keys).File == "" && e.Installed == nil {
			return // the chart itself sets it
		}
		p := e.valueProblem(layers, c.Chart, keys, message)
		p.Warning = true
		found = append(found, p)
	}
	set := mergeLayers(layers)
	for _, keys := range tablesBelow(c.Values, nil) {
		if value := valueAt(set, keys); len(keys) > 1 && value != nil && !isTable(value) {
			warn(keys, "is a mapping in values.yaml of the chart, and another value here")
		}
	}
	for _, keys := range dotted(set, nil) {
		parent, parts := keys[:len(keys)-1], strings.Split(keys[len(keys)-1], ".")
		if valueAt(c.Values, keys) == nil && valueAt(c.Values, slices.Concat(parent, parts)) != nil {
			warn(keys, "is one key with dots, and the chart has a mapping: write "+strings.Join(parts, ": {")+": ..."+
				strings.Repeat("}", len(parts)-1))
		}
	}
	if all, err := util.CoalesceValues(c.Chart, values); err == nil {
		eachSwitch(c.Chart, nil, func(keys []string) {
			_, isSwitch := valueAt(map[string]any(all), keys).(bool)
			if value := valueAt(set, keys); value != nil && !isTable(value) && !isSwitch {
				warn(keys, fmt.Sprintf("has to be true or false, without quotes: Helm ignores %s of a condition or tag",
					manifest.JSON(value)))
			}
		})
	}
	return found
}

func isTable(value any) bool {
	_, is := plainMap(value).(map[string]any)
	return is
}

// dotted returns the keys of the values whose last key has dots.
func dotted(value any, keys []string) (all [][]string) {
	table, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(table)) {
		below := append(slices.Clip(keys), key)
		if strings.Contains(key, ".") {
			all = append(all, below)
		}
		all = append(all, dotted(table[key], below)...)
	}
	return all
}

func tablesBelow(value any, keys []string) (all [][]string) {
	table, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if isTable(table[key]) {
			below := append(slices.Clip(keys), key)
			all = append(append(all, below), tablesBelow(table[key], below)...)
		}
	}
	return all
}

// eachSwitch calls f for the values that turn on the charts that a chart depends on: conditions and tags.
func eachSwitch(c *chart.Chart, keys []string, f func(keys []string)) {
	for _, d := range c.Metadata.Dependencies {
		for condition := range strings.SplitSeq(strings.TrimSpace(d.Condition), ",") {
			if condition != "" {
				f(append(slices.Clip(keys), strings.Split(condition, ".")...))
			}
		}
		for _, tag := range d.Tags {
			f([]string{"tags", tag})
		}
	}
	for _, d := range c.Dependencies() {
		eachSwitch(d, append(slices.Clip(keys), d.Name()), f)
	}
}
