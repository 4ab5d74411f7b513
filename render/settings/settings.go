// Package settings reads .gatehouse.yaml, the file at the root of a repository that says what no other file can: which
// folders are entries, which are not, and facts about a cluster beside its files.
package settings

import (
	"cmp"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/delivery/applicationset"
	"example.com/gatehouse/render/manifest"
)

// File is the name of the file, from the root.
const File = ".gatehouse.yaml"

// Settings is the content of the file. Without one it is empty.
type Settings struct {
	// All holds for all entries and environments.
	All Cluster `json:"all"`
	// Entries hold for some of them: of two, the later one wins.
	Entries []Entry `json:"entries"`
	// NotEntries are folders that no cluster gets.
	NotEntries []Folder `json:"notEntries"`

	// Problems are the errors of the file. With any, the settings are empty.
	Problems []manifest.Problem `json:"-"`
}

// Folder is a folder, or a pattern of folders, with the reason to leave it out.
type Folder struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Entry is what is known of the clusters of some entries.
type Entry struct {
	// Name is a folder, the name of an environment, or a pattern of these.
	Name string `json:"name"`
	// ValueFiles are of a chart, from the root, as its installation has them.
	ValueFiles []string `json:"valueFiles"`
	Cluster
}

// Cluster is what is known of a cluster beside its files.
type Cluster struct {
	Kubernetes    string `json:"kubernetes"`
	RuntimeConfig string `json:"runtimeConfig"`
	// Elsewhere are objects that the cluster has from elsewhere, as in an annotation of a kustomization.
	Elsewhere []string  `json:"elsewhere"`
	LeaveOut  []Message `json:"leaveOut"`
	// Values are of ConfigMaps and Secrets by their IDs.
	Values     map[string]map[string]string `json:"values"`
	Clusters   []Registered                 `json:"clusters"`
	Generators []Generator                  `json:"generators"`
}

// Message is a code whose messages are left out, with the reason.
type Message struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Registered is a cluster that Argo CD knows.
type Registered struct {
	Name        string            `json:"name"`
	Server      string            `json:"server"`
	Project     string            `json:"project"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Generator has the parameters of a kind of generator of an ApplicationSet.
type Generator struct {
	ApplicationSet string           `json:"applicationSet"`
	Kind           string           `json:"kind"`
	Parameters     []map[string]any `json:"parameters"`
}

// Of returns the facts about the cluster of an entry or environment. The cluster that tools apply an entry from, such
// as clusters/hub of clusters/hub@eu, knows what they make there.
func (s Settings) Of(name string) Cluster {
	of := s.All.with(Cluster{})
	from, _, _ := strings.Cut(name, "@")
	for _, e := range s.Entries {
		switch {
		case matches(e.Name, name):
			of = of.with(e.Cluster)
		case matches(e.Name, from):
			of = of.with(Cluster{Values: e.Values, Clusters: e.Clusters, Generators: e.Generators})
		}
	}
	return of
}

// ValueFiles returns the files of values of an entry that is a chart; nil if the file does not say them.
func (s Settings) ValueFiles(name string) (files []string) {
	for _, e := range s.Entries {
		if e.ValueFiles != nil && matches(e.Name, name) {
			files = e.ValueFiles
		}
	}
	return files
}

// Anywhere returns the facts about any cluster.
func (s Settings) Anywhere() Cluster {
	of := s.All
	for _, e := range s.Entries {
		of = of.with(e.Cluster)
	}
	return of
}

// with returns the facts of both: the later ones win, and lists have the items of both.
func (c Cluster) with(later Cluster) Cluster {
	values := map[string]map[string]string{}
	maps.Copy(values, c.Values)
	maps.Copy(values, later.Values)
	return Cluster{
		Kubernetes:    cmp.Or(later.Kubernetes, c.Kubernetes),
		RuntimeConfig: cmp.Or(later.RuntimeConfig, c.RuntimeConfig),
		Elsewhere:     slices.Concat(c.Elsewhere, later.Elsewhere),
		LeaveOut:      slices.Concat(c.LeaveOut, later.LeaveOut),
		Values:        values,
		Clusters:      slices.Concat(later.Clusters, c.Clusters),
		Generators:    slices.Concat(later.Generators, c.Generators),
	}
}

// matches reports whether a name of the file names an entry, or matches it as a pattern.
func matches(pattern, name string) bool {
	isMatch, err := path.Match(path.Clean(pattern), path.Clean(name))
	return isMatch && err == nil
}

// isPattern reports whether a name stands for several.
func isPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// Named returns the names that are no patterns.
func (s Settings) Named() (names []string) {
	for _, e := range s.Entries {
		if !isPattern(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// WhyNone returns the reason why no cluster gets a folder: of it or of a folder above. It is empty for others.
func (s Settings) WhyNone(name string) string {
	for at := path.Clean(name); ; at = path.Dir(at) {
		for _, f := range s.NotEntries {
			if matches(f.Name, at) {
				return f.Reason
			}
		}
		if at == path.Dir(at) {
			return ""
		}
	}
}

// LeavesOut reports whether messages of a code are left out.
func (c Cluster) LeavesOut(code string) bool {
	return slices.ContainsFunc(c.LeaveOut, func(m Message) bool { return m.Code == code })
}

// secrets returns the Secrets that register the clusters in Argo CD.
func (c Cluster) secrets() (all []manifest.Object) {
	isThere := map[string]bool{}
	for _, r := range c.Clusters {
		if isThere[r.Name] {
			continue
		}
		isThere[r.Name] = true
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret",
			"stringData": map[string]any{"name": r.Name, "server": r.Server, "project": r.Project}}}
		u.SetName(r.Name)
		labels := map[string]string{"argocd.argoproj.io/secret-type": "cluster"}
		maps.Copy(labels, r.Labels)
		u.SetLabels(labels)
		u.SetAnnotations(r.Annotations)
		all = append(all, manifest.Object{Unstructured: u, Written: u})
	}
	return all
}

// Of returns the clusters of an ApplicationSet, and the parameters of its generators.
func (c Cluster) Of(set manifest.Object) applicationset.Known {
	known := applicationset.Known{Clusters: c.secrets(), Parameters: map[string][]map[string]any{}}
	for _, g := range c.Generators {
		if _, isLater := known.Parameters[g.Kind]; g.ApplicationSet == set.GetName() && !isLater {
			known.Parameters[g.Kind] = g.Parameters
		}
	}
	return known
}

// Review tells the decisions of a change of the file, and the messages and folders that it newly leaves out. It is
// empty if nothing but the text changes.
func Review(before, after Settings) kind.Sentence {
	if reflect.DeepEqual(before, after) {
		return ""
	}
	said := []string{"it decides what is judged"}
	was := before.silent()
	for _, s := range after.silent() {
		if !slices.Contains(was, s) {
			said = append(said, string(kind.Say(s.format, s.what, s.of)))
		}
	}
	for _, name := range before.Named() {
		if !slices.Contains(after.Named(), name) {
			said = append(said, string(kind.Say("no longer names %s", name)))
		}
	}
	return kind.Sentence(strings.Join(said, "; "))
}

// silence is one thing that the file keeps from being told, and where.
type silence struct{ format, what, of string }

// silent returns the messages and folders that the file keeps from being told.
func (s Settings) silent() (all []silence) {
	for _, f := range s.NotEntries {
		all = append(all, silence{"leaves out the folder %s: %s", f.Name, f.Reason})
	}
	for _, e := range append([]Entry{{Name: "all entries", Cluster: s.All}}, s.Entries...) {
		for _, m := range e.LeaveOut {
			all = append(all, silence{"leaves out " + m.Code + " of %s: %s", e.Name, m.Reason})
		}
		for _, id := range e.Elsewhere {
			all = append(all, silence{"%s is elsewhere for %s", id, e.Name})
		}
	}
	return all
}
