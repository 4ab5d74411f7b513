package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/fetched"
)

// Coverage counts the judged objects of some environments, and lists the rest.
type Coverage struct {
	// Clusters is the number of environments, without the Folders beside clusters that nothing delivers.
	Clusters int `json:"clusters"`
	Folders  int `json:"folders,omitempty"`
	// Kubernetes are the versions of clusters that files say, and not annotations: "1.36 by talos/talconfig.yaml".
	Kubernetes []string `json:"kubernetes,omitempty"`
	// Objects is the number of judged objects.
	Objects   int         `json:"objects"`
	NotJudged []NotJudged `json:"notJudged"`
	// Messages is the number of problems, and Entries are the folders with the reasons, that .gatehouse.yaml leaves
	// out.
	Messages int      `json:"messagesLeftOut,omitempty"`
	Entries  []string `json:"entriesLeftOut,omitempty"`
	// Fetched are the files that were fetched, with the versions that ranges and tags stand for.
	Fetched []fetched.Files `json:"fetched,omitempty"`
}

// NotJudged is a delivery, or a kind, whose objects are not all judged as the cluster has them.
type NotJudged struct {
	Environment string `json:"environment"`
	// What is "release", "kind", "cluster" or "folder" for a whole environment, "folder" or "file" for objects that no
	// environment has, or the kind of another object that delivers.
	What string `json:"what"`
	// Name is the object that delivers, or the kind.
	Name string `json:"name,omitempty"`
	// Reason is in a few words that others share, and Detail the rest of it.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// Reasons that many share.
const (
	noDefinition    = "without a definition"
	otherRepository = "other repository"
	undelivered     = "without a delivery"
)

// fetchable are the reasons of a run without --fetch that it may take away.
var fetchable = append([]string{charts.NotHere, otherRepository, source.RemoteBase, source.RemoteFile},
	application.Fetchable...)

// Coverage returns the coverage of the environment.
func (e *Environment) Coverage() (c Coverage) {
	if !e.IsThere() {
		return c
	}
	whole := "cluster"
	if e.isBeside {
		c.Folders = 1
		whole = "folder"
	} else {
		c.Clusters = 1
	}
	c.Messages = e.LeftOut
	if e.installed != "" {
		c.Kubernetes = []string{e.kubernetes.String() + " by " + e.installed}
	}
	add := func(what string, at manifest.Problem, reason string) {
		n := NotJudged{Environment: e.Name, What: what, Name: at.Object, File: at.File, Line: at.Line}
		n.Reason, n.Detail, _ = strings.Cut(reason, ": ")
		c.NotJudged = append(c.NotJudged, n)
	}
	for _, d := range e.root.all() {
		at := manifest.Problem{File: strings.TrimPrefix(folderOf(e.Name), "/")}
		what := whole
		if !d.isEntry() {
			at = e.locate(manifest.NewProblem(d.Of.Committed(), "", manifest.Value{}, ""))
			what = d.InCluster.GetKind()
			at.Object = d.InCluster.ID().String() // which a set may make
		}
		if d.Chart != nil {
			what = "release"
			at.Object = d.Chart.ID.String()
		}
		if e.isForEntry(d) {
			continue
		}
		for _, reason := range d.Unknown {
			add(what, at, reason)
		}
	}
	if !e.IsBuilt() {
		return c
	}
	all := e.Judged()
	c.Objects = len(all)
	for _, u := range e.unchecked(all) {
		c.Objects -= u.Objects
		u.First.Object = u.GroupKind().String()
		reason := noDefinition
		if len(u.Differing) > 0 {
			reason += ": the definitions in " + manifest.FirstOf(3, u.Differing) + " differ, so none is used"
		}
		add("kind", u.First, reason)
	}
	return c
}

// Add adds the coverage of another environment.
func (c *Coverage) Add(other Coverage) {
	c.Clusters += other.Clusters
	c.Folders += other.Folders
	c.Kubernetes = append(c.Kubernetes, other.Kubernetes...)
	slices.Sort(c.Kubernetes)
	c.Kubernetes = slices.Compact(c.Kubernetes)
	c.Objects += other.Objects
	c.NotJudged = append(c.NotJudged, other.NotJudged...)
	c.Messages += other.Messages
	c.Entries = append(c.Entries, other.Entries...)
}

// String returns one line, with the number of deliveries by reason.
func (c Coverage) String() string {
	line := string(kind.Count(int64(c.Clusters), "cluster"))
	folders := string(kind.Count(int64(c.Folders), "folder"))
	switch {
	case c.Folders > 0 && c.Clusters > 0:
		line += " and " + folders
	case c.Folders > 0:
		line = folders
	}
	line += fmt.Sprintf(", %s judged", kind.Count(int64(c.Objects), "object"))
	if len(c.Kubernetes) > 0 {
		line += ", for Kubernetes " + manifest.FirstOf(2, c.Kubernetes)
	}
	byWhat := map[string]map[string]map[string]bool{} // the names or, of missing charts, the charts, by reason
	names := map[string]map[string]bool{}
	for _, n := range c.NotJudged {
		name := n.Name
		if n.What != "kind" { // a kind of several clusters counts once
			name = n.Environment + " " + n.Name
		}
		if byWhat[n.What] == nil {
			byWhat[n.What], names[n.What] = map[string]map[string]bool{}, map[string]bool{}
		}
		if byWhat[n.What][n.Reason] == nil {
			byWhat[n.What][n.Reason] = map[string]bool{}
		}
		names[n.What][name] = true
		if n.Reason == charts.NotHere {
			name = n.Detail
		}
		byWhat[n.What][n.Reason][name] = true
	}
	var parts []string
	most := func(a, b string) int { return cmp.Or(len(names[b])-len(names[a]), strings.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(byWhat), func(a, b string) int { return most(a, b) }) {
		part := string(kind.Count(int64(len(names[what])), what))
		if what == "kind" {
			parts = append(parts, part+" "+noDefinition)
			continue
		}
		parts = append(parts, part+" ("+reasonsOf(byWhat[what], len(names[what]))+")")
	}
	if len(parts) > 0 {
		line += ". Not judged: " + strings.Join(parts, ", ")
	}
	parts = nil
	if n := len(c.Entries); n > 0 {
		parts = append(parts, string(kind.Count(int64(n), "folder")))
	}
	if c.Messages > 0 {
		parts = append(parts, string(kind.Count(int64(c.Messages), "message")))
	}
	if len(parts) > 0 {
		line += ". Left out by " + settings.File + ": " + strings.Join(parts, ", ")
	}
	return line
}

// reasonsOf counts the names of some deliveries by reason.
func reasonsOf(byReason map[string]map[string]bool, count int) string {
	reasons := make([]string, 0, len(byReason))
	for _, name := range slices.Sorted(maps.Keys(byReason)) {
		n := len(byReason[name])
		reason := name
		switch {
		case name == charts.NotHere:
			reason = string(kind.Count(int64(n), "chart")) + " not here"
		case n < count || len(byReason) > 1:
			reason = fmt.Sprintf("%d %s", n, reason)
		}
		if slices.Contains(fetchable, name) {
			reason += ": add --fetch"
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, ", ")
}
