package release

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
)

// Installer renders the charts of releases.
type Installer struct {
	Files *source.FileSystem
	// Cluster returns the cluster that charts are rendered for.
	Cluster func() charts.Cluster
	// Origin tells which sources are in Files.
	Origin application.Origin
	Memo   *memo.Memo
	// PostRender builds objects with a kustomization.
	PostRender func(kustomization map[string]any, objects []manifest.Object) ([]manifest.Object, error)
	// IdlePostRender returns the warnings of entries of such a kustomization that change nothing.
	IdlePostRender func(kustomization map[string]any, objects, built []manifest.Object) []manifest.Problem
	// BlamePostRender returns the keys in a kustomization that set the field of a problem, and the part of a text
	// there; none if others set it.
	BlamePostRender func(kustomization map[string]any, p manifest.Problem) (keys []string, part string)
	Locate          Locate
}

// Installed are the objects of a release, none if its chart is not there, or wrong. The Origin of each is its
// template, with the line.
type Installed struct {
	Release
	Archive string
	Objects []manifest.Object
	// Upgrade has the objects of an upgrade, if a template of the chart of a HelmRelease asks for the step. Objects are
	// those of an installation.
	Upgrade []manifest.Object
	// Settings are the values that the release sets.
	Settings *charts.Settings
	// Noted are the paths that rendering the release looks at.
	Noted *source.Looks

	failed          []string                   // why the chart does not render
	asked           []string                   // apiVersions that the templates may ask the cluster for
	notFetched      error                      // why the chart is not here
	documents       map[string]source.Document // by originOf
	blamePostRender func(kustomization map[string]any, p manifest.Problem) (keys []string, part string)
}

// Install returns the releases with their objects, and warnings of missing charts if the repository has a
// lock of charts.
func (i Installer) Install(releases []Release) (all []*Installed, problems []manifest.Problem) {
	locked, hasLock, problems := i.readLock()
	if manifest.HasErrors(problems) {
		return nil, problems
	}
	i.fetchAhead(releases, locked)
	ofChart := map[string][]string{} // the releases, by the problem of their chart
	for _, one := range i.installAll(releases, locked, hasLock) {
		all = append(all, one.Installed)
		for _, p := range one.problems {
			isOfChart := p.Code == manifest.NotJudged && p.Field == "" && one.Unjudged == "" && one.Folder == ""
			if !isOfChart || len(ofChart[p.Message]) == 0 {
				problems = append(problems, p)
			}
			if isOfChart {
				ofChart[p.Message] = append(ofChart[p.Message], one.Source.GetName())
			}
		}
	}
	for n, p := range problems {
		if others := ofChart[p.Message]; len(others) > 1 {
			problems[n].Message += " (and of " + manifest.FirstOf(3, others[1:]) + ")"
		}
	}
	return all, problems
}

// installation is a release with its objects and problems. It is empty if files of the release are not here.
type installation struct {
	*Installed
	problems []manifest.Problem
}

// installAll installs releases. A cluster serves the definitions that all charts bring, so that the releases of a chart
// that asks for definitions come last, and the first one of them again if there are such definitions.
func (i Installer) installAll(releases []Release, locked []charts.Locked, hasLock bool) []installation {
	made := make([]installation, len(releases))
	isLast := make([]bool, len(releases))
	asks := map[string]bool{} // by chart
	var objects []manifest.Object
	for n, r := range releases {
		chart := fmt.Sprint(r.Repository, " ", r.Chart, " ", r.Version, " ", r.Folder)
		if isLast[n] = asks[chart]; isLast[n] {
			continue
		}
		made[n] = i.open(r, locked, hasLock)
		if made[n].Installed != nil {
			asks[chart] = len(made[n].asked) > 0
			objects = append(objects, made[n].Objects...)
		}
	}
	brought := Served(objects)
	if len(brought) > 0 {
		all := i.Cluster()
		all.APIVersions = slices.Concat(all.APIVersions, brought)
		i.Cluster = func() charts.Cluster { return all }
	}
	isBrought := func(version string) bool { return slices.Contains(brought, version) }
	for n, one := range made {
		if isLast[n] || one.Installed != nil && slices.ContainsFunc(one.asked, isBrought) {
			made[n] = i.open(releases[n], locked, hasLock)
		}
	}
	return slices.DeleteFunc(made, func(one installation) bool { return one.Installed == nil })
}

// Served returns the apiVersions, and the kinds of each, of the CustomResourceDefinitions among objects, as charts ask
// for them.
func Served(objects []manifest.Object) (versions []string) {
	for _, o := range objects {
		if !crd.Is(o.Unstructured) {
			continue
		}
		kind := crd.Kind(o.Unstructured)
		for _, v := range crd.Versions(o.Unstructured) {
			if v.Served {
				gv := kind.Group + "/" + v.Name
				versions = append(versions, gv, gv+"/"+kind.Kind)
			}
		}
	}
	return versions
}

// open installs a release.
func (i Installer) open(r Release, locked []charts.Locked, hasLock bool) installation {
	r.locate = i.Locate
	files, noted := i.Files.Noting()
	i.Files = files
	if r.application != nil {
		var err error
		if r, err = r.withFiles(files, i.Origin, i.top); err != nil {
			return installation{}
		}
	}
	installed, problems := i.install(i.inSource(r), locked, hasLock)
	installed.Noted = noted
	return installation{installed, problems}
}

// install returns a release with its objects.
func (i Installer) install(r Release, locked []charts.Locked,
	hasLock bool) (result *Installed, problems []manifest.Problem) {
	result = &Installed{Release: r, blamePostRender: i.BlamePostRender}
	defer fault.Keep(&problems, fault.In(r.Source))
	for _, name := range r.Files {
		if path.IsAbs(name) {
			_, _, _ = i.Files.Resolve(name) // to note it, also without the chart
		}
	}
	at, found := i.find(r, locked, hasLock)
	result.notFetched = at.notFetched
	if found != nil {
		problems = append(problems, *found)
	}
	if at.archive == "" {
		return result, append(problems, r.valuesProblem()...)
	}
	problems = append(problems, r.warnings...)
	if len(r.Unknown) > 0 {
		unknown := r.Warning("unknown values, so its chart is judged without them: " + manifest.FirstOf(3, r.Unknown))
		unknown.Field = r.unknownField
		problems = append(problems, unknown)
	}
	if r.Err != nil {
		return result, append(problems, r.valuesProblem()...)
	}
	problems = append(problems, r.repeated()...)
	rendered := i.renderOnce(r, at.archive, at.digest)
	for _, p := range rendered.problems {
		if r.assumed == "" || len(rendered.failed) == 0 { // the installation has other values
			problems = append(problems, r.renderProblem(p))
		}
	}
	result.Archive = strings.TrimPrefix(at.archive, "/")
	result.failed = rendered.failed
	result.asked = rendered.asked
	if len(result.failed) == 0 {
		result.Objects = append([]manifest.Object{}, rendered.objects...) // known, if none
	}
	result.Settings = rendered.settings
	result.documents = rendered.documents
	if isOfHelm := r.UpgradeCRDs != ""; result.Objects != nil && isOfHelm && rendered.settings.AsksStep() {
		r.IsUpgrade = true
		result.Upgrade = slices.Clone(i.renderOnce(r, at.archive, at.digest).objects) // none after an error
	}
	for _, objects := range [][]manifest.Object{result.Objects, result.Upgrade} {
		for i := range objects {
			objects[i].Delivery = result
		}
	}
	return result, problems
}

// valuesProblem returns the problem of values that no chart can have, if any.
func (r Release) valuesProblem() []manifest.Problem {
	if r.Err == nil {
		return nil
	}
	of := r.problemIn(r.errSource, nil, "values: "+r.Err.Error())
	of.Warning = r.isUnsure()
	return []manifest.Problem{of}
}

// renderProblem returns a problem of rendering the chart as one of the release: at the field that causes it.
func (r Release) renderProblem(p manifest.Problem) manifest.Problem {
	of := r.problem(manifest.SplitField(p.Field), p.Message)
	switch p.Code {
	case manifest.ValuesFile:
		of = manifest.NewProblem(r.Source, r.filesField, p.Value, p.Message)
	case manifest.NothingChanged:
		of = manifest.NewProblem(r.Source, p.Field, p.Value, p.Message)
	}
	of.Code = p.Code
	of.Warning = r.isUnsure() || p.Warning
	return of
}

// AsksForDefinitions reports whether templates of the chart ask which custom kinds the cluster serves.
func (r *Installed) AsksForDefinitions() bool { return len(r.asked) > 0 }

// UnknownReasons are the reasons why the objects are not all known as the cluster gets them; none if they are.
func (r *Installed) UnknownReasons() (reasons []string) {
	switch {
	case r.Unjudged != "":
		reasons = append(reasons, r.Unjudged)
	case r.Err != nil:
		reasons = append(reasons, "wrong values: "+r.Err.Error())
	case r.notFetched != nil, r.Archive == "":
		reasons = append(reasons, charts.Reason(r.String(), r.notFetched))
	}
	reasons = append(reasons, r.failed...)
	for _, value := range r.Unknown {
		reasons = append(reasons, "values not here: "+value)
	}
	if r.assumed != "" {
		reasons = append(reasons, r.assumed)
	}
	if r.IsSuspended {
		reasons = append(reasons, "suspended: the cluster may have older objects")
	}
	return reasons
}

// Blame turns a problem of an installed object into a problem of its release: at the value that causes it, as far as
// that is known.
func (r *Installed) Blame(p manifest.Problem) manifest.Problem {
	verb := "installs an invalid"
	if p.Warning {
		verb = "installs"
	}
	origin := manifest.Problem{File: p.Subject.Origin}.Position()
	of := manifest.NewProblem(r.Source, "", manifest.Value{}, "")
	d, is := r.documents[originOf(p.Subject)]
	if keys, part := r.setter(p); keys != nil {
		of.Field, of.Value = manifest.JoinField(keys), manifest.Value{Contains: part}
	} else if is && p.Field != "" {
		at, cause, ok := source.FindCause(r.Settings, d, manifest.SplitField(p.Field), p.Value)
		if at.Line > 0 {
			origin = manifest.Problem{File: source.Relative(at.File), Line: at.Line}.Position()
		}
		if ok {
			p.Message += "; set by the value " + cause.String()
			of = r.problem(cause.Keys, "")
			if cause.File != "" {
				of.File, of.Line = source.Relative(cause.File), cause.Line
			}
		}
	}
	of.Code = p.Code
	of.Cause = cmp.Or(p.Cause, causeOf(of, origin, p.Field))
	of.Message = fmt.Sprintf("%s %s (%s): %s", verb, p.Object, origin, p.Message)
	of.Warning = p.Warning || r.isUnsure()
	return of
}

// causeOf returns the cause of problems with a field of the objects of a chart: the field of the release that sets it
// or, if of names none, the line of the template, for all items of lists and all releases of the chart.
func causeOf(of manifest.Problem, origin, field string) string {
	if of.Field != "" || of.Line > 0 {
		origin = fmt.Sprintf("%s %s %s", of.Object, of.Position(), of.Field)
	}
	return origin + " " + manifest.FieldOfItems(field)
}

// setter returns the field of the release, other than of its values, that sets the field of a problem, and the part of
// a text there.
func (r *Installed) setter(p manifest.Problem) (keys []string, part string) {
	if p.Field == "" || p.Subject.Unstructured == nil {
		return nil, ""
	}
	if keys := r.Metadata.Setter(p); keys != nil {
		return keys, ""
	}
	for i, k := range slices.Backward(r.PostRenderers) {
		if keys, part = r.blamePostRender(k, p); keys != nil {
			return append([]string{"spec", "postRenderers", strconv.Itoa(i), "kustomize"}, keys...), part
		}
	}
	return nil, ""
}

// originOf names the document of an object.
func originOf(o manifest.Object) string { return o.Origin + " " + o.GetKind() + " " + o.GetName() }

// Warning returns a warning about the release.
func (r Release) Warning(message string) manifest.Problem {
	p := manifest.NewProblem(r.Source, "", manifest.Value{}, message).As(manifest.NotJudged)
	p.Warning = true
	return p
}

func (i Installer) readLock() (locked []charts.Locked, hasLock bool, problems []manifest.Problem) {
	file := path.Join(charts.Folder, charts.LockFile)
	content, err := i.Files.ReadAny("/" + file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, []manifest.Problem{{Code: manifest.InvalidChart, File: file, Message: err.Error()}}
	}
	locked, problems = charts.ParseLock(file, content)
	return locked, true, problems
}

// located is the place of a chart.
type located struct {
	archive    string // or its folder; empty if it is not here, or not to be judged
	digest     [sha256.Size]byte
	notFetched error
}

// find returns the chart of a release if it is here, or fetched, and to be judged.
func (i Installer) find(r Release, locked []charts.Locked, hasLock bool) (at located, found *manifest.Problem) {
	warning := func(format string, arguments ...any) *manifest.Problem {
		p := r.Warning(fmt.Sprintf(format, arguments...))
		return &p
	}
	if r.notFetched != nil {
		at.notFetched = r.notFetched
		return at, warning("chart %s is not fetched: %v", r, r.notFetched)
	}
	if r.Folder != "" {
		at.archive, found = i.findFolder(r)
		return at, found
	}
	entry := charts.LockedOf(locked, r.From())
	archive := path.Join("/", charts.Folder, entry.File())
	content, err := i.Files.ReadAny(archive)
	isMissing := errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(entry.File(), `/\`)
	isFetching := isMissing && r.Unjudged == "" && i.Files.IsFetching()
	switch {
	case isFetching:
		if at = i.fetch(r, entry); at.notFetched != nil {
			found = warning("chart %s is not fetched: %v", r, at.notFetched)
		}
		return at, found
	case isMissing && !hasLock:
		return at, nil
	case r.Unjudged != "":
		return at, warning("not judged: %s", r.Unjudged)
	case entry.Line == 0 && !r.IsExact():
		return at, warning("chart %s has no exact version, so its objects are neither judged nor reviewed: write one "+
			"version, or add --fetch", r)
	case isMissing:
		return at, warning("chart %s is not in %s/, so its objects are neither judged nor reviewed: add --fetch, or "+
			"run render fetch --vendor --all", r, charts.Folder)
	case err != nil:
		return at, &manifest.Problem{Code: manifest.InvalidChart, File: strings.TrimPrefix(archive, "/"),
			Message: err.Error()}
	}
	return r.checkLock(archive, sha256.Sum256(content), entry, locked)
}

// checkLock compares an archive that is here with the lock.
func (r Release) checkLock(archive string, digest [sha256.Size]byte, entry charts.Locked,
	locked []charts.Locked) (at located, found *manifest.Problem) {
	switch is := fmt.Sprintf("sha256:%x", digest); {
	case entry.Line == 0:
		for _, l := range locked {
			if l.File() == entry.File() {
				p := r.Warning(fmt.Sprintf("chart %s is here from %s, and not from %s: its objects are neither judged "+
					"nor reviewed", r, l.Repository, r.Repository))
				return at, &p
			}
		}
		p := r.Warning(fmt.Sprintf("%s is not in %s: run render fetch --vendor --all, which adds its digest",
			strings.TrimPrefix(archive, "/"), charts.LockFile))
		found = &p
	case entry.Digest != is:
		return at, &manifest.Problem{Code: manifest.InvalidChart,
			File: path.Join(charts.Folder, charts.LockFile), Line: entry.Line,
			Message: fmt.Sprintf("%s has the digest %s: restore the file, or remove it and this line, and run render "+
				"fetch --vendor --all", entry.File(), is)}
	}
	return located{archive: archive, digest: digest}, found
}

// fetch returns the chart of a release that is not in the tree.
func (i Installer) fetch(r Release, entry charts.Locked) (at located) {
	if r.Repository == "" {
		return located{notFetched: errors.New("its repository is not in this environment")}
	}
	files, err := i.Files.Fetch(entry.Pin(r.From()))
	if err != nil {
		return located{notFetched: err}
	}
	at.archive = files.Path
	_, at.notFetched = hex.Decode(at.digest[:], []byte(strings.TrimPrefix(files.Digest, "sha256:")))
	return at
}

// fetchAhead fetches the missing charts of releases side by side, so that find has them.
func (i Installer) fetchAhead(releases []Release, locked []charts.Locked) {
	if !i.Files.IsFetching() {
		return
	}
	parallel.Some(len(releases), len(releases), func(n int) {
		r := i.inSource(releases[n])
		entry := charts.LockedOf(locked, r.From())
		_, _, err := i.Files.Resolve(path.Join("/", charts.Folder, entry.File()))
		if r.Folder == "" && r.Unjudged == "" && errors.Is(err, fs.ErrNotExist) {
			i.fetch(r, entry)
		}
	})
}

func (i Installer) hasChart(at string) bool {
	_, _, err := i.Files.Resolve(path.Join(at, chartutil.ChartfileName))
	return err == nil
}

// top returns the folder that has the repository of a source of an Application, if it is here or fetched.
func (i Installer) top(s application.Source) (top string, isThere bool) {
	if i.Origin.Elsewhere(s) == "" {
		return "/", true
	}
	got, err := i.Files.Fetch(folder.SourceOfApplication(s))
	if err != nil {
		return "", false
	}
	return folder.Top(i.Files, got), true
}

// inSource returns the release of a chart in a source of Flux with the place of its files. A source that nothing here
// names, or none of git, may be the tree.
func (i Installer) inSource(r Release) Release {
	if r.source.Unstructured == nil || r.source.ID() == i.Origin.Own {
		return r
	}
	from, reason := folder.SourceOf(r.source)
	revision := cmp.Or(from.Version, from.Range)
	if valueAt(r.source, "spec", "ref") == nil {
		revision = "" // its master may be our main
	}
	r.isElsewhere = from.IsGit &&
		i.Origin.Elsewhere(application.Source{RepoURL: from.Repository, TargetRevision: revision}) != ""
	switch {
	case !r.isElsewhere && i.hasChart(r.Folder), !i.Files.MayFetch(from):
		return r
	case reason != "":
		r.notFetched = errors.New(reason)
		return r
	}
	got, err := i.Files.Fetch(from)
	r.notFetched = err
	r.isElsewhere = false
	r.Folder = path.Join(got.Path, r.Folder)
	r.Files = slices.Clone(r.Files)
	for n, file := range r.Files { // from the top of the source
		r.Files[n] = path.Join(got.Path, file)
	}
	return r
}

// findFolder returns the folder of a chart in git if it is here and to be judged.
func (i Installer) findFolder(r Release) (at string, found *manifest.Problem) {
	reason := r.Unjudged
	if r.isElsewhere || !i.hasChart(r.Folder) {
		reason = fmt.Sprintf("its chart %s is in git, and not in this repository", r)
	}
	if reason == "" {
		return r.Folder, nil
	}
	warning := r.Warning("not judged: " + reason)
	return "", &warning
}

// rendered is the result of rendering a chart. The problems have a message, and the keys of a value as their field.
type rendered struct {
	objects   []manifest.Object
	documents map[string]source.Document
	settings  *charts.Settings
	problems  []manifest.Problem
	failed    []string // why there are no objects
	asked     []string // apiVersions that the templates may ask the cluster for
}

// failedBy is a chart that does not render, by its first error.
func failedBy(problems []manifest.Problem) rendered {
	first := slices.IndexFunc(problems, func(p manifest.Problem) bool { return !p.Warning })
	return rendered{problems: problems, failed: []string{"chart does not render: " + problems[max(first, 0)].Message}}
}

// renderOnce is render, by way of the memo for an archive.
func (i Installer) renderOnce(r Release, archive string, digest [sha256.Size]byte) rendered {
	if r.Folder != "" || slices.ContainsFunc(r.Files, path.IsAbs) {
		return i.render(r, archive)
	}
	type key [sha256.Size]byte
	input, err := json.Marshal([]any{r, digest, i.Cluster()})
	if err != nil {
		return failedBy([]manifest.Problem{{Code: manifest.InvalidChart, Message: "values: " + err.Error()}})
	}
	return memo.Get(i.Memo, key(sha256.Sum256(input)), func() rendered { return i.render(r, archive) })
}

func (r Release) entry(archive string) charts.Entry {
	return charts.Entry{
		HelmChart: types.HelmChart{Name: cmp.Or(r.Chart, path.Base(r.Folder)), Version: r.Version, ReleaseName: r.Name,
			Namespace: r.Namespace, IncludeCRDs: !r.SkipCRDs, SkipTests: true, KubeVersion: r.Kubernetes,
			ApiVersions: r.APIVersions},
		Installed: &charts.Installed{Archive: archive, Values: r.Values, Files: r.Files, SkipSchemas: r.SkipSchemas,
			IgnoreMissing: r.IgnoreMissing, FilesAreDefaults: r.FilesAreDefaults,
			IsUpgrade: r.IsUpgrade},
	}
}

func (i Installer) render(r Release, archive string) (result rendered) {
	made, problems := charts.Render(i.Files, r.entry(archive), i.Cluster())
	defer func() { result.asked = made.Asked }()
	if len(made.Lacking) > 0 { // as a chart that is not here
		return rendered{failed: made.Lacking}
	}
	for _, p := range problems {
		own := manifest.Problem{Message: p.Message, Field: p.Field, Code: p.Code, Value: p.Value,
			Warning: p.Warning || p.Code == manifest.ChartRuleOfRender}
		if p.File != "" {
			own.Message = p.Position() + ": " + p.Message
		}
		result.problems = append(result.problems, own)
	}
	if manifest.HasErrors(problems) {
		return failedBy(result.problems)
	}
	result.settings = made.Settings
	var err error
	if err = result.read(made); err == nil {
		err = i.postRender(r, &result)
	}
	if err != nil {
		return failedBy([]manifest.Problem{{Code: manifest.InvalidChart, Message: fmt.Sprintf("chart %s: %v", r, err)}})
	}
	return result
}

func (r *rendered) read(made charts.Rendered) error {
	documents, err := source.ChartObjects(made)
	r.documents = map[string]source.Document{}
	for _, d := range documents {
		o, err := manifest.FromYAML(d.Node())
		if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		file, line := d.Position()
		o.Written, o.Origin = o.Unstructured, fmt.Sprintf("%s:%d", file, line)
		r.documents[originOf(o)] = d
		r.objects = append(r.objects, o)
	}
	return err
}

// postRender builds the objects with the post-renderers of a release, but for files of
// CustomResourceDefinitions, which Helm installs first.
func (i Installer) postRender(r Release, result *rendered) error {
	var crds, hooks, others []manifest.Object
	origins := map[manifest.ID]string{}
	for _, o := range result.objects {
		origins[o.ID()] = o.Origin
		_, isHook := o.GetAnnotations()[release.HookAnnotation]
		switch {
		case IsCRDFile(o):
			crds = append(crds, o)
		case isHook && r.KeepsHooks:
			hooks = append(hooks, o)
		default:
			others = append(others, o)
		}
	}
	for n, p := range r.PostRenderers {
		built, err := i.PostRender(p, others)
		if err != nil {
			return fmt.Errorf("postRenderers: %w", err)
		}
		for _, idle := range i.IdlePostRender(p, others, built) {
			at := fmt.Sprintf("spec.postRenderers[%d].kustomize.", n)
			idle.Message = at + idle.Message
			idle.Field = at + idle.Field
			idle.Code = manifest.NothingChanged
			result.problems = append(result.problems, idle)
		}
		others = built
	}
	for n, o := range others {
		others[n].Origin = cmp.Or(o.Origin, origins[o.ID()], "postRenderers")
		r.addMetadata(o)
	}
	others = append(others, hooks...) // without the metadata, which helm-controller adds as the last post-renderer
	for _, o := range crds {
		delivery.AddEntries(o.GetLabels, o.SetLabels, r.Origin)
	}
	result.objects = slices.Concat(crds, others)
	return nil
}

// addMetadata adds the metadata of the release to an object, and the metadata of Helm unless it is a hook.
func (r Release) addMetadata(o manifest.Object) {
	r.Metadata.SetIn(o)
	delivery.AddEntries(o.GetLabels, o.SetLabels, r.Origin)
	if _, isHook := o.GetAnnotations()[release.HookAnnotation]; r.Origin != nil && !isHook {
		delivery.AddEntries(o.GetLabels, o.SetLabels, map[string]string{"app.kubernetes.io/managed-by": "Helm"})
		delivery.AddEntries(o.GetAnnotations, o.SetAnnotations, map[string]string{"meta.helm.sh/release-name": r.Name,
			"meta.helm.sh/release-namespace": r.Namespace})
	}
}
