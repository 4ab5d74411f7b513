package source

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/charts"
)

// Absent is an entry of a kustomization that kustomize would fetch or run. Rendering does neither, and the sources are
// built without it.
type Absent struct {
	// Problem is the error of an environment that has to be complete.
	Problem manifest.Problem
	// Reason names the unknown part: "remote base: https://example.com/base", "plugin: …" or "chart not here: …".
	Reason string
	// Alters reports whether it may change objects of other entries, so that none is known.
	Alters bool
}

// AbsentReasons returns the reasons, each once, and whether no object is known.
func (s *Sources) AbsentReasons() (reasons []string, isNoneKnown bool) {
	for _, a := range s.Absent {
		reasons = append(reasons, a.Reason)
		isNoneKnown = isNoneKnown || a.Alters
	}
	slices.Sort(reasons)
	return slices.Compact(reasons), isNoneKnown
}

// AbsentProblems returns the errors of an environment that has to be complete.
func (s *Sources) AbsentProblems() (problems []manifest.Problem) {
	for _, a := range s.Absent {
		problems = append(problems, a.Problem)
	}
	return problems
}

// remoteName returns the path of an entry, and whether kustomize would fetch it.
func remoteName(entry string, f loadField) (name string, is bool) {
	name = entry
	if _, after, ok := strings.Cut(entry, "="); ok && f.is == loadAny {
		name = after
	}
	return name, remote.MatchString(name)
}

// addRemote adds a path of a field that kustomize would fetch.
func (r folderReader) addRemote(f loadField, name string, entry *yaml.Node, wrong string) {
	reason := "remote file: "
	if f.is.mayBeFolder() {
		reason = "remote base: "
	}
	isOfOne := f.is == loadObjects || f.is == loadAny || f.is == loadEnv
	r.absent = append(r.absent, Absent{
		Problem: manifest.Problem{Code: manifest.InvalidKustomization, File: Relative(r.File), Line: entry.Line,
			Message: wrong},
		Reason: reason + name,
		Alters: !isOfOne || r.isConfig,
	})
	r.remote = append(r.remote, entry.Value)
}

// nothing is a file without objects, which is never on disk.
const nothing = ".gatehouse-absent.yaml"

// leaveOutRemote replaces the remote resources of a kustomization, which is not shared, by a file without objects, and
// takes remote files from its generators.
func (w *walk) leaveOutRemote(k *Kustomization) {
	if len(k.remote) == 0 {
		return
	}
	isRemote := func(entry string) bool { return slices.Contains(k.remote, entry) }
	local := func(entries []string) []string { return slices.DeleteFunc(slices.Clone(entries), isRemote) }
	k.Resources = append(local(k.Resources), nothing)
	leaveOut := func(g *types.GeneratorArgs) {
		g.FileSources = local(g.FileSources)
		g.EnvSources = local(g.EnvSources)
		if isRemote(g.EnvSource) {
			g.EnvSource = ""
		}
	}
	for i := range k.ConfigMapGenerator {
		leaveOut(&k.ConfigMapGenerator[i].GeneratorArgs)
	}
	for i := range k.SecretGenerator {
		leaveOut(&k.SecretGenerator[i].GeneratorArgs)
	}
	k.Paths[nothing] = path.Join(k.Folder, nothing)
	k.standIn = encode(k.Kustomization)
	w.FS = w.FS.With(map[string][]byte{k.Paths[nothing]: nil})
}

// addAbsentChart reports whether the chart of an entry is in a repository of charts, and not here.
func (w *walk) addAbsentChart(c Chart) (isAbsent bool) {
	if c.Repo == "" || charts.IsThere(w.FS, c.Entry) {
		return false
	}
	_, problems := charts.Render(w.FS, c.Entry, charts.Cluster{})
	w.Absent = append(w.Absent, Absent{
		Problem: problems[0],
		Reason:  charts.Reason(c.Name+" "+c.Version, c.NotFetched),
	})
	return true
}

// absentPlugin is a plugin or function of kustomize.
func absentPlugin(config Document) Absent {
	var found problems
	found.add(config.File, config.Line(),
		"%s: rendering runs no plugins and no functions: only those that kustomize has built in, of apiVersion "+
			"builtin; commit what it prints, but of a Secret only the manifest that SOPS encrypts, or an "+
			"ExternalSecret", config.ID)
	return Absent{Problem: found[0], Reason: "plugin: " + config.String(), Alters: true}
}
