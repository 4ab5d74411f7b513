package charts

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/templates"
)

// changing returns the problems of functions whose results change the documents.
func (a *adviser) changing(r *run, documents []document, all []change) (found []manifest.Problem) {
	isStandIn := func(c change) bool { return templates.IsStandIn(c.function) }
	if !slices.ContainsFunc(all, func(c change) bool { return !isStandIn(c) }) {
		everywhere := newRun()
		everywhere.isOtherEverywhere = true
		if a.isSame(a.values, everywhere, documents) {
			return nil // as where a value replaces a random default
		}
	}
	for _, c := range all {
		if isStandIn(c) && a.isSame(a.values, &run{others: c.Position}, documents) {
			continue
		}
		message := fmt.Sprintf("chart %s: %s %s%s", a.Name, c.function, templates.ErrChanging, a.advice(r, c))
		found = append(found, manifest.Problem{Code: manifest.ChartRuleOfRender, File: strings.TrimPrefix(c.File, "/"),
			Line: c.Line, Message: message})
	}
	return slices.CompactFunc(manifest.SortProblems(found), func(a, b manifest.Problem) bool {
		return a.String() == b.String()
	})
}

// maxTrials bounds how often a chart is rendered to advise values.
const maxTrials = 40

// adviser finds the value to set for a chart whose result changes on each run.
type adviser struct {
	Entry
	files   Files
	cluster Cluster
	values  map[string]any
	left    int
	known   map[Position]string
}

// advice returns the correction of a change: the value to set. A chart with that value does without the function.
func (a *adviser) advice(r *run, c change) string {
	if strings.Contains(c.File, "/tests/") {
		return ": write skipTests: true"
	}
	if _, isKnown := a.known[c.Position]; !isKnown {
		a.known[c.Position] = ": set the values by which the chart does without"
		for _, keys := range r.candidates(c) {
			if a.doesWithout(r, c, keys) {
				a.known[c.Position] = ": set the value " + manifest.JoinField(keys) +
					", by which the chart does without"
				break
			}
		}
	}
	return a.known[c.Position]
}

// candidates returns the values that decide about a change: those that its action, the calls of its template, and the
// conditions around them read. A value to give comes before a part to turn off.
func (r *run) candidates(c change) (all [][]string) {
	read := reads{}
	for _, s := range append([]*site{c.site}, c.callers...) {
		read.addAll(s.all())
		read.addAll(r.readAt(s.File, s.Line, s.Line))
	}
	isSwitch := func(keys []string) bool { _, is := valueAt(r.values, keys).(bool); return is }
	var switches [][]string
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(read))) {
		switch keys := splitPath(path); {
		case path == "" || isContainer(valueAt(r.values, keys)):
		case isSwitch(keys):
			switches = append(switches, keys)
		default:
			all = append(all, keys)
		}
	}
	return append(all, switches...)
}

func valueAt(values any, keys []string) any {
	for _, key := range keys {
		values = child(values, key)
	}
	return values
}

// doesWithout reports whether a function changes nothing in a chart with another value at keys.
func (a *adviser) doesWithout(r *run, c change, keys []string) bool {
	var other any = "gatehouse"
	if was, isSwitch := valueAt(r.values, keys).(bool); isSwitch {
		other = !was
	}
	for _, key := range slices.Backward(keys) {
		other = map[string]any{key: other}
	}
	values := loader.MergeMaps(a.values, other.(map[string]any))
	documents, found := a.try(values, newRun())
	return !manifest.HasErrors(found) && a.isSame(values, &run{others: c.Position}, documents)
}

// isSame reports whether a run with values makes the same documents.
func (a *adviser) isSame(values map[string]any, r *run, documents []document) bool {
	made, found := a.try(values, r)
	return !manifest.HasErrors(found) && slices.Equal(made, documents)
}

// try renders the chart with values, unless that was done too often.
func (a *adviser) try(values map[string]any, r *run) ([]document, []manifest.Problem) {
	if a.left--; a.left < 0 {
		return nil, []manifest.Problem{{Code: manifest.InvalidChart, Message: "not tried"}}
	}
	again := newRun()
	again.others, again.isOtherEverywhere = r.others, r.isOtherEverywhere
	return trial{a.Entry, a.files, values, a.cluster}.render(again)
}

// trial is a rendering of a chart.
type trial struct {
	Entry
	files   Files
	values  map[string]any
	cluster Cluster
}

func (t trial) render(r *run) (documents []document, found []manifest.Problem) {
	defer fault.Part(&found, func() manifest.Problem { return t.current(r) })()
	c, err := load(t.files, t.Entry)
	if err != nil {
		return nil, []manifest.Problem{{Code: manifest.InvalidChart, Message: "not tried"}}
	}
	documents, _, found = t.template(nil, c, r, t.values, t.cluster)
	return documents, found
}

// digestOf returns the digest of documents.
func digestOf(documents []document) (digest [sha256.Size]byte) {
	hash := sha256.New()
	for _, d := range documents {
		fmt.Fprintf(hash, "%q %q\n", d.template, d.content)
	}
	copy(digest[:], hash.Sum(nil))
	return digest
}

// isOpen reports whether another answer to a question may make other documents: of versions, with all custom APIs that
// the chart asks for. Without a controller of Helm, rendering has no cluster either, and always installs.
func (t trial) isOpen(of question, apis sets.Set[string], was [sha256.Size]byte) bool {
	isTemplate := t.Installed == nil || !t.Installed.HasCluster
	switch {
	case isTemplate && (of == ofStep || of == ofCluster):
		return false
	case of == ofVersions:
		return t.isOpenFor(apis, was)
	case of == ofStep:
		installed := *t.Installed
		installed.IsUpgrade = !installed.IsUpgrade
		t.Installed = &installed
	case of != ofChance:
		return true
	}
	r := newRun()
	r.isOtherEverywhere = of == ofChance
	return t.differs(r, was)
}

// isOpenFor reports whether another version of Kubernetes or Helm, or more APIs, may make other documents. With more
// APIs a chart may ask for others.
func (t trial) isOpenFor(apis sets.Set[string], was [sha256.Size]byte) bool {
	own := len(t.cluster.Others)
	for i, c := range append(slices.Clip(t.cluster.Others), t.cluster) {
		isCustom := func(api string) bool { return !isBuiltIn(api, c.APIVersions) }
		t.cluster = c
		if i < own && slices.ContainsFunc(sets.List(apis), isCustom) && t.differs(newRun(), was) {
			return true
		}
		for count := -1; count < len(apis); {
			count = len(apis)
			custom := slices.DeleteFunc(sets.List(apis), func(api string) bool { return !isCustom(api) })
			t.cluster = Cluster{c.Kubernetes, slices.Concat(c.APIVersions, custom), otherHelm, nil}
			r := newRun()
			if t.differs(r, was) {
				return true
			}
			apis = apis.Union(r.apis)
		}
	}
	return false
}

// differs reports whether the chart makes other documents, or none.
func (t trial) differs(r *run, was [sha256.Size]byte) bool {
	made, found := t.render(r)
	return manifest.HasErrors(found) || digestOf(made) != was
}

// isBuiltIn reports whether an API has a group of Kubernetes, so that its version says whether it serves it.
func isBuiltIn(api string, served []string) bool {
	group, _, isGroup := strings.Cut(api, "/")
	isServed := func(other string) bool { return strings.HasPrefix(other, group+"/") }
	return !isGroup || !strings.Contains(group, ".") ||
		strings.HasSuffix(group, ".k8s.io") && slices.ContainsFunc(served, isServed)
}

// otherHelm is a version of Helm that other controllers may have.
const otherHelm = "v3.14.0"
