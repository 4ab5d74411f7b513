package release

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
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
	// Sources are the source files of the environment, beside which post-renderers build.
	Sources *source.Sources
	Locate  Locate
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

	failed        []string                   // why the chart does not render
	asked         []string                   // apiVersions that the templates may ask the cluster for
	notFetched    error                      // why the chart is not here
	documents     map[string]source.Document // by originOf
	postRenderers *source.Sources            // see Installer.Sources
}

// Install returns the releases with their objects, and warnings of missing charts if the repository has a
// lock of charts.
func (i Installer) Install(releases []Release) (all []*Installed, problems []manifest.Problem) {
	locked, problems := i.readLock()
	if manifest.HasErrors(problems) {
		return nil, problems
	}
	i.fetchAhead(releases, locked)
	ofChart := map[string][]string{} // the releases, by the problem of their chart
	for _, one := range i.installAll(releases, locked) {
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
func (i Installer) installAll(releases []Release, locked lock) []installation {
	made := make([]installation, len(releases))
	isLast := make([]bool, len(releases))
	asks := map[string]bool{} // by chart
	var objects []manifest.Object
	for n, r := range releases {
		chart := fmt.Sprint(r.Repository, " ", r.Chart, " ", r.Version, " ", r.Folder)
		if isLast[n] = asks[chart]; isLast[n] {
			continue
		}
		made[n] = i.open(r, locked)
		if made[n].Installed != nil {
			asks[chart] = len(made[n].asked) > 0
			objects = append(objects, made[n].Objects...)
		}
	}
	brought := Served(objects)
	if len(brought) > 0 {
		all := i.Cluster()
		all = all.With(brought)
		i.Cluster = func() charts.Cluster { return all }
	}
	isBrought := func(version string) bool { return slices.Contains(brought, version) }
	for n, one := range made {
		if isLast[n] || one.Installed != nil && slices.ContainsFunc(one.asked, isBrought) {
			made[n] = i.open(releases[n], locked)
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
func (i Installer) open(r Release, locked lock) installation {
	r.locate = i.Locate
	files, noted := i.Files.Noting()
	i.Files = files
	if r.application != nil {
		var err error
		if r, err = r.withFiles(files, i.Origin, i.top); err != nil {
			return installation{}
		}
	}
	installed, problems := i.install(i.inSource(r), locked)
	installed.Noted = noted
	return installation{installed, problems}
}

// install returns a release with its objects.
func (i Installer) install(r Release, locked lock) (result *Installed, problems []manifest.Problem) {
	result = &Installed{Release: r, postRenderers: i.Sources}
	defer fault.Keep(&problems, fault.In(r.Source))
	for _, name := range r.Files {
		if path.IsAbs(name) {
			_, _, _ = i.Files.Resolve(name) // to note it, also without the chart
		}
	}
	at, found := i.find(r, locked)
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
	template, _, _ := strings.Cut(p.Subject.Origin, ":")
	ofTemplate := strings.ReplaceAll(p.Cause, p.Subject.String(), template) // for all releases of the chart
	of.Cause = cmp.Or(ofTemplate, causeOf(of, origin, p.Field))
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
		if keys, part = kustomize.BlamePostRender(r.postRenderers, k, p); keys != nil {
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
