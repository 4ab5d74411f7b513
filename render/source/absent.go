package source

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/source/node"
)

// Reasons that --fetch may take away.
const (
	RemoteBase = "remote base"
	RemoteFile = "remote file"
)

// ignoredFile is the reason of a file that is not in git on purpose, such as one of passwords.
const ignoredFile = "file that git ignores"

// Absent is an entry of a kustomization that kustomize would fetch or run, or that git ignores. Rendering has none of
// these, and the sources are built without it.
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

// AbsentProblems returns the errors of an environment that has to be complete, and to be the same for everybody.
func (s *Sources) AbsentProblems() (problems []manifest.Problem) {
	for _, k := range s.sorted() {
		problems = append(problems, k.fetched.problems...)
	}
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

// fetchedEntries are entries of a kustomization that were fetched. Their values are paths in the file system.
type fetchedEntries struct {
	entries  []string
	problems []manifest.Problem // of an environment that has to be complete
}

// addRemote adds a path of a field that kustomize would fetch: as the path of what is fetched or, if nothing is, as one
// that is absent.
func (r folderReader) addRemote(f loadField, name string, entry *yaml.Node, wrong string) (isFetched bool) {
	problem := manifest.Problem{Code: manifest.InvalidKustomization, File: Relative(r.File), Line: entry.Line,
		Message: wrong}
	reason := RemoteFile + ": " + name
	if f.is.mayBeFolder() {
		reason = RemoteBase + ": " + name
	}
	if r.fs.IsFetching() {
		var err error
		if err = r.fetch(f, name, entry); err == nil {
			r.fetched.problems = append(r.fetched.problems, problem)
			return true
		}
		reason = fetched.Reason(name, err)
	}
	r.leaveOut(f, problem, reason, entry)
	return false
}

// leaveOut adds an entry that is absent.
func (r folderReader) leaveOut(f loadField, problem manifest.Problem, reason string, entry *yaml.Node) {
	isOfOne := f.is == loadObjects || f.is == loadAny || f.is == loadEnv
	r.absent = append(r.absent, Absent{Problem: problem, Reason: reason, Alters: !isOfOne || r.isConfig})
	r.remote = append(r.remote, entry.Value)
}

// fetch fetches what an entry names, and replaces its value by the path.
func (r folderReader) fetch(f loadField, name string, entry *yaml.Node) error {
	files, err := r.fs.Fetch(fetched.Source{Repository: name, IsFile: f.is != loadFolder, IsBase: f.is.mayBeFolder()})
	if err != nil {
		return err
	}
	local, err := filepath.Rel(r.Folder, files.Path)
	if err != nil {
		return err
	}
	key, _, hasKey := strings.Cut(entry.Value, "=")
	switch {
	case f.is == loadAny && hasKey && name != entry.Value:
		local = key + "=" + local
	case f.is == loadAny: // kustomize takes the last name of the URL
		local = path.Base(name) + "=" + local
	}
	if wrong := r.addPath(local, f); wrong != "" {
		return errors.New(wrong)
	}
	entry.Value = local
	r.fetched.entries = append(r.fetched.entries, local)
	return nil
}

// loadFetched reads the kustomization again, with the paths of fetched entries.
func (k *Kustomization) loadFetched() {
	k.Kustomization = types.Kustomization{}
	content, err := yaml.Marshal(k.root)
	if err == nil {
		err = k.Unmarshal(content)
	}
	if err != nil {
		k.problems.add(k.File, 0, "%v", err)
	}
	k.standIn = encode(k.Kustomization)
}

// checkFetched reports entries of a kustomization in a fetched repository that lead out of it: no tool reads these. Of
// a base, kustomize reads no file outside the folder of the kustomization either.
func (w *walk) checkFetched(k *Kustomization) {
	top := fetched.Top(k.Folder)
	if top == "" {
		return
	}
	isBase := top != fetched.Top(w.root)
	check := func(entry, at string, isDir bool) {
		within := top
		if isBase && !isDir {
			within = k.Folder
		}
		if IsWithin(at, within) {
			return
		}
		w.problems.add(k.File, k.lineOf(entry), "%s leads out of %s, and kustomize refuses that in a fetched "+
			"repository: copy the folder to this repository, or load another one", entry, Relative(within))
	}
	for _, entry := range slices.Sorted(maps.Keys(k.Paths)) {
		if !slices.Contains(k.fetched.entries, entry) {
			check(entry, k.Paths[entry], w.FS.IsDir(k.Paths[entry]))
		}
	}
	if k.HelmGlobals != nil {
		check(k.HelmGlobals.ChartHome, path.Join(k.Folder, k.HelmGlobals.ChartHome), true)
	}
	for _, c := range k.HelmCharts {
		for _, name := range append([]string{c.ValuesFile}, c.AdditionalValuesFiles...) {
			check(name, path.Join(k.Folder, name), false)
		}
	}
}

// lineOf returns the last line that has a path.
func (k *Kustomization) lineOf(entry string) (line int) {
	for n := range node.All(k.root) {
		if n.Value == entry {
			line = n.Line
		}
	}
	return line
}

// CheckRestricted returns a problem for each kustomization that loads a file outside of its folder: kustomize refuses
// that without --load-restrictor LoadRestrictionsNone.
func (s *Sources) CheckRestricted() (found []manifest.Problem) {
	for _, k := range s.sorted() {
		for _, entry := range slices.Sorted(maps.Keys(k.Paths)) {
			at := k.Paths[entry]
			if IsWithin(at, k.Folder) || s.FS.IsDir(at) || fetched.Top(at) != "" {
				continue
			}
			found = append(found, manifest.Problem{Code: manifest.InvalidKustomization, File: Relative(k.File),
				Line: k.lineOf(entry), Message: fmt.Sprintf("%s leads out of %s, and kustomize refuses that without "+
					"--load-restrictor LoadRestrictionsNone", entry, Relative(k.Folder))})
			break
		}
	}
	return found
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
