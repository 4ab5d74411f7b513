// Package charts renders Helm charts of the repository as `kustomize build --enable-helm` does.
//
// The invariant: the documents equal the documents of the real helm, and they depend only on files of the
// repository and on the version of Kubernetes.
//
// Helm's own packages load the chart, merge its values, run its templates and sort its manifests. The
// rest holds since no function of a template reaches the world around it (functions.go: a random
// value, a clock or a network is an error, and a map is sorted), and only files within the chart are read
// (load.go). Package test/charts compares the objects of real charts with the real helm and kustomize.
package charts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Files are the files of a repository. Paths are absolute, without links once resolved.
type Files interface {
	Resolve(name string) (resolved string, isDir bool, err error)
	// ReadFile reads a file of YAML, and ReadAny any file.
	ReadFile(name string) ([]byte, error)
	ReadAny(name string) ([]byte, error)
	// List returns the names in a folder, sorted.
	List(folder string) ([]string, error)
	// Fetch gets files that are not in the repository, if it may.
	Fetch(from fetched.Source) (fetched.Files, error)
}

// Entry is an entry of helmCharts of a kustomization.
type Entry struct {
	types.HelmChart
	// Home is the folder of charts, Folder the folder of the kustomization. HomeLine is the line of chartHome, if any.
	Home, Folder string
	HomeLine     int
	// File is the kustomization, and Node the entry in it.
	File string
	Node *yaml.Node
	// Fetched is the archive of a chart that is not in the tree, and NotFetched is the error of fetching it.
	Fetched    string
	NotFetched error
	// Installed is set for a chart that a controller installs: nothing of it is in rendered/.
	Installed *Installed
}

// Installed has the options of a controller that installs a chart.
type Installed struct {
	// Archive is the path of the chart.
	Archive string
	// Values are above the Files, which are in the chart or, with a leading slash, in the repository. A problem of a
	// value has its keys as the field.
	Values map[string]any
	Files  []string
	// IgnoreMissing leaves out Files that are not there.
	IgnoreMissing bool
	// FilesAreDefaults makes the Files take the place of the values of the chart.
	FilesAreDefaults bool
	// SkipSchemas leaves values.schema.json alone.
	SkipSchemas bool
	// IsUpgrade tells the templates that the release was there before.
	IsUpgrade bool
	// HasCluster reports whether the templates of the controller may ask the cluster.
	HasCluster bool
}

// Cluster is the default of kubeVersion and apiVersions.
type Cluster struct {
	Kubernetes  string
	APIVersions []string
	Helm        string // Helm, if empty
	// Others are the clusters that this one may be as well: no file of the repository says which Kubernetes it has.
	Others []Cluster
}

// With returns the cluster with more apiVersions.
func (c Cluster) With(versions []string) Cluster {
	c.APIVersions = slices.Concat(c.APIVersions, versions)
	c.Others = slices.Clone(c.Others)
	for i, other := range c.Others {
		c.Others[i] = other.With(versions)
	}
	return c
}

// Position is a line of a template.
type Position struct {
	File string
	Line int
}

// Rendered are the documents of a chart, with the template line of each of their lines.
type Rendered struct {
	Content  []byte
	Lines    []Position
	Settings *Settings
	// Lacking are the reasons of missing dependencies and of files in Git LFS, without which the chart does not render.
	Lacking []string
	// Asked are the apiVersions of custom kinds in the templates, if these ask which ones the cluster serves.
	Asked []string
	// TakesLast reports whether the last one of a key counts that an object has twice, as for Argo CD and kubectl, and
	// not for kustomize.
	TakesLast bool
}

// Render renders the chart of an entry. Beside problems of values that change on each run, it has stand-ins for these.
func Render(files Files, e Entry, cluster Cluster) (rendered Rendered, problems []manifest.Problem) {
	r := newRun()
	defer fault.Part(&problems, func() manifest.Problem { return e.current(r) })()
	if p := e.Check(); p != nil {
		return Rendered{}, p
	}
	c, err := load(files, e)
	if _, _, homeErr := files.Resolve(e.Home); err != nil && homeErr != nil && e.HomeLine > 0 {
		message := fmt.Sprintf("helmGlobals.chartHome: %s is not in this repository: write a folder with charts, "+
			"relative to this file", strings.TrimPrefix(e.Home, "/"))
		return Rendered{}, []manifest.Problem{{Code: manifest.InvalidChart,
			File: e.File, Line: e.HomeLine, Message: message}}
	}
	if lacking := (lackingError{}); errors.As(err, &lacking) {
		rendered.Lacking = lacking.reasons()
	}
	if of := pointerError(""); errors.As(err, &of) {
		rendered.Lacking = []string{"pointer of Git LFS: " + string(of)}
	}
	if err != nil {
		return rendered, e.problems(nil, err)
	}
	asked := c.asked()
	values, layers, found := e.values(files, c)
	if manifest.HasErrors(found) {
		return Rendered{}, found
	}
	documents, kept, wrong := e.template(layers, c, r, values, cluster)
	var changing []manifest.Problem
	if e.Installed == nil && len(kept) > 0 {
		a := adviser{e, files, cluster, values, maxTrials, map[Position]string{}}
		changing = a.changing(r, documents, kept)
	}
	if found = append(found, wrong...); manifest.HasErrors(found) {
		return Rendered{Asked: asked}, append(found, changing...)
	}
	rendered = c.join(r, documents)
	rendered.Settings = newSettings(layers, r)
	rendered.Settings.trial = trial{e, files, values, cluster}
	rendered.Settings.made = digestOf(documents)
	rendered.Asked = asked
	return rendered, append(found, changing...)
}

// current returns the line of the template that a run executes, or the line of the entry.
func (e Entry) current(r *run) manifest.Problem {
	p := e.problem("chart "+e.Name, "name")[0]
	if at := r.at.Load(); at != nil {
		p.File, p.Line = strings.TrimPrefix(at.File, "/"), at.Line
	}
	return p
}

// problem returns a problem at the line of a field of the entry.
func (e Entry) problem(message string, keys ...string) []manifest.Problem {
	return []manifest.Problem{{Code: manifest.InvalidChart,
		File: e.File, Line: node.Line(e.Node, keys...), Message: message}}
}

// Check returns the first problem of the entry itself, or nil.
func (e Entry) Check() []manifest.Problem {
	switch {
	case e.Name == "":
		return e.problem("helmCharts: needs a name: write the name of the chart's folder")
	case strings.HasPrefix(e.Name, "-"), strings.HasPrefix(e.ReleaseName, "-"):
		return e.problem("helmCharts: neither name nor releaseName may begin with -")
	case e.ReleaseName == "" && e.NameTemplate == "":
		return e.problem("helmCharts: "+e.Name+
			" needs a releaseName: without it each run would make another name", "name")
	case e.ReleaseName != "" && e.NameTemplate != "":
		return e.problem("nameTemplate: helm takes it only without releaseName: remove one", "nameTemplate")
	case !slices.Contains([]string{"", "override", "merge", "replace"}, e.ValuesMerge):
		return e.problem("valuesMerge: has to be override, merge or replace", "valuesMerge")
	}
	return nil
}

func (e Entry) releaseName() (name string, err error) {
	if name = e.ReleaseName; name == "" {
		name, err = executeName(e.NameTemplate)
	}
	if err == nil {
		err = chartutil.ValidateReleaseName(name)
	}
	return name, err
}

// document is a manifest that a template makes, or a file of a CustomResourceDefinition.
type document struct {
	template, content string
}

// template runs the templates of a chart as `helm template` does. It returns the documents in the order
// of helm, and the calls of changing functions in their files.
func (e Entry) template(layers []layer, c *loaded, r *run, values map[string]any,
	cluster Cluster) (documents []document, kept []change, found []manifest.Problem) {
	name, err := e.releaseName()
	if err != nil {
		return nil, nil, e.problem("helmCharts: "+err.Error(), "releaseName")
	}
	capabilities, err := e.capabilities(cluster)
	if err != nil {
		return nil, nil, e.problem("kubeVersion: "+err.Error(), "kubeVersion")
	}
	if required := c.Metadata.KubeVersion; required != "" &&
		!chartutil.IsCompatibleRange(required, capabilities.KubeVersion.String()) {
		return nil, nil,
			e.problems(c, fmt.Errorf("the chart requires kubeVersion %s, and this environment has Kubernetes %s",
				required, capabilities.KubeVersion.Version))
	}
	r.addresses = append(r.addresses, fmt.Sprintf("%p", capabilities))
	r.readDependencies(c.Chart, []string{})
	c.nameTemplates()
	r.rewriteAll(c) // each template once: aliases share them
	found = e.checkValues(layers, c, values)
	if err = chartutil.ProcessDependencies(c.Chart, values); err != nil {
		return nil, nil, e.problems(c, err)
	}
	options := common.ReleaseOptions{Name: name, Namespace: cmp.Or(e.Namespace, "default"), Revision: 1,
		IsInstall: true}
	if e.Installed != nil && e.Installed.IsUpgrade {
		options.Revision = 2 // or later
		options.IsInstall = false
		options.IsUpgrade = true
	}
	top, err := util.ToRenderValuesWithSchemaValidation(c.Chart, values, options, capabilities, true)
	if err != nil {
		return nil, nil, e.problems(c, err)
	}
	if e.Installed == nil || !e.Installed.SkipSchemas {
		found = append(found, e.checkSchemas(layers, c.Chart, top["Values"], nil)...)
		if manifest.HasErrors(found) {
			return nil, nil, found
		}
	}
	documents, kept, problems := e.execute(layers, c, r, top)
	return documents, kept, append(found, problems...)
}

// execute runs the templates with their values.
func (e Entry) execute(layers []layer, c *loaded, r *run, top common.Values) (documents []document, kept []change,
	found []manifest.Problem) {
	c.nameTemplates()
	r.values, _ = top["Values"].(common.Values)
	r.locate()
	files, err := engine.Engine{CustomTemplateFuncs: r.functions()}.RenderWithContext(context.Background(),
		c.Chart, top)
	r.files = files
	if err == nil {
		documents, err = e.sort(c, r, files)
	}
	isKept := func(file string) bool {
		if err != nil {
			return !strings.HasSuffix(file, "NOTES.txt") && (!e.SkipTests || !strings.Contains(file, "/tests/"))
		}
		return slices.ContainsFunc(documents, func(d document) bool { return d.template == file })
	}
	kept = slices.DeleteFunc(slices.Clone(r.changing), func(c change) bool { return !isKept(c.file) })
	switch {
	case err == nil:
		return documents, kept, nil
	case errors.As(err, &malformedFile{}):
		found = e.malformed(layers, c, r, err)
	default:
		found = e.problems(c, r.describe(err))
	}
	if e.Installed != nil && r.hasAsked {
		found[0].Code = manifest.ChartRuleOfRender
		found[0].Message += "; the chart asks the cluster by lookup, and rendering has no cluster"
	}
	return nil, kept, found
}

// sort returns the documents of the rendered files in the order of helm.
func (e Entry) sort(c *loaded, r *run, files map[string]string) (documents []document, err error) {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if match := parseError.FindStringSubmatch(fmt.Sprint(err)); match != nil {
		return nil, malformedFile{err, match[1]}
	}
	if err != nil {
		return nil, err
	}
	if e.IncludeCRDs {
		for _, crd := range c.CRDObjects() {
			documents = append(documents, document{crd.Filename, string(crd.File.Data)})
		}
	}
	for _, m := range manifests {
		documents = append(documents, document{m.Name, m.Content})
	}
	if last := len(documents) - 1; last >= 0 {
		documents[last].content = strings.TrimSpace(documents[last].content) // as helm does, before the hooks
	}
	for _, hook := range hooks {
		if !e.SkipHooks && (!e.SkipTests || !slices.Contains(hook.Events, release.HookTest)) {
			documents = append(documents, document{hook.Path, hook.Manifest})
		} else if p := r.parts[hook.Path]; p != nil {
			p.isIdle = true
		}
	}
	return documents, nil
}

// capabilities returns .Capabilities of the templates.
func (e Entry) capabilities(cluster Cluster) (*common.Capabilities, error) {
	version, err := common.ParseKubeVersion(cmp.Or(e.KubeVersion, cluster.Kubernetes))
	if err != nil {
		return nil, err
	}
	c := common.DefaultCapabilities.Copy()
	c.KubeVersion, c.HelmVersion.Version = *version, cmp.Or(cluster.Helm, Helm)
	c.HelmVersion.KubeClientVersion = "v" + version.Major + "." + version.Minor
	c.APIVersions = slices.Concat(cluster.APIVersions, e.ApiVersions)
	return c, nil
}

// Helm is the version of Helm that charts are rendered with.
const Helm = "v4.3.1"

// problems returns an error of Helm as a problem of the innermost template line that it names, or of the
// entry.
func (e Entry) problems(c *loaded, err error) []manifest.Problem {
	message := err.Error()
	p := e.problem("chart "+e.Name+": ", "name")[0]
	p.Code = cmp.Or(codeOf(err), p.Code)
	if found := templateLine.FindAllStringSubmatchIndex(message, -1); c != nil && len(found) > 0 {
		last := found[len(found)-1]
		line, _ := strconv.Atoi(message[last[4]:last[5]])
		file := message[last[2]:last[3]]
		if source := c.templates[file]; source != "" {
			p.File, p.Line = source, line
		}
		message = strings.TrimLeft(message[last[1]:], "): \n")
	}
	p.File = strings.TrimPrefix(p.File, "/")
	p.Message += clip(strings.Join(strings.Fields(message), " "))
	return []manifest.Problem{p}
}

// malformedFile is the error of a file that a template wrote, and that is no YAML.
type malformedFile struct {
	error
	file string
}

// parseError matches such an error of Helm.
var parseError = regexp.MustCompile(`^YAML parse error on (\S+): `)

// malformed returns such an error at the line of the template that wrote the malformed line, with the value that is
// written there.
func (e Entry) malformed(layers []layer, c *loaded, r *run, err error) []manifest.Problem {
	var of malformedFile
	errors.As(err, &of)
	lines := r.lines(of.file)
	for _, d := range text.Split([]byte(r.files[of.file])) {
		var at text.Error
		if _, err := d.Parse(); !errors.As(err, &at) || at.Line > len(lines) {
			continue
		}
		content := strings.Split(r.files[of.file], "\n")[at.Line-1]
		if at.Other > 0 && at.Other <= len(lines) {
			at.Other = lines[at.Other-1]
		}
		p := manifest.Problem{Code: manifest.InvalidChart,
			File: strings.TrimPrefix(c.templates[of.file], "/"), Line: lines[at.Line-1],
			Message: "chart " + e.Name + ": " + at.Error()}
		settings := Settings{layers: layers, values: mergeLayers(layers), run: r}
		if cause, ok := settings.writes(Position{c.templates[of.file], p.Line}, content); ok {
			p.Message += "; set by the value " + cause.String()
			if e.Installed != nil {
				p.Field = manifest.JoinField(cause.Keys)
			}
		}
		return []manifest.Problem{p}
	}
	return e.problems(c, err)
}

// templateLine matches the line of a template in an error of Helm.
var templateLine = regexp.MustCompile(`([^\s()"'<>:]+/templates/[^\s()"'<>:]+):(\d+)(?::\d+)?`)

// clip shortens a long message, which may quote a whole document.
func clip(message string) string {
	if len(message) > 600 {
		return strings.ToValidUTF8(message[:600], "") + " ..."
	}
	return message
}

// join returns the documents as one file.
func (c *loaded) join(r *run, documents []document) (joined Rendered) {
	var content bytes.Buffer
	taken := map[Position]bool{} // offsets in the files of templates
	for _, d := range documents {
		content.WriteString("---\n# Source: " + d.template + "\n" + d.content + "\n")
		all := r.lines(d.template)
		first := 0
		if at := offsetOf(d, r.files[d.template], taken); at >= 0 && len(all) > 0 {
			first = strings.Count(r.files[d.template][:at], "\n")
			taken[Position{d.template, at}] = true
		}
		for i := range 3 + strings.Count(d.content, "\n") {
			line := first + max(0, i-2) // after the header
			at := line + 1              // of a file that is no template
			if line < len(all) {
				at = all[line]
			}
			joined.Lines = append(joined.Lines, Position{c.templates[d.template], at})
		}
	}
	joined.Content = content.Bytes()
	return joined
}

// offsetOf returns the offset of a document in the file that its template wrote, or -1: of a whole document that is not
// taken, if possible.
func offsetOf(d document, file string, taken map[Position]bool) (offset int) {
	offset = -1
	for from := 0; from <= len(file); {
		at := strings.Index(file[from:], d.content)
		if at < 0 || d.content == "" {
			break
		}
		at += from
		from = at + 1
		if taken[Position{d.template, at}] {
			continue
		}
		after := strings.TrimSpace(file[at+len(d.content):])
		isWhole := (after == "" || strings.HasPrefix(after, "---")) &&
			(at == 0 || strings.TrimSpace(file[strings.LastIndexByte(file[:at], '\n')+1:at]) == "")
		if isWhole {
			return at
		}
		if offset < 0 {
			offset = at
		}
	}
	return offset
}
