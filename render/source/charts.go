package source

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// A kustomization with helmCharts is built with a component in their place, whose files hold the objects
// of the charts: kustomize adds the objects of components right after the objects of generators.

// ChartsFolder is the folder of that component, in the folder of the kustomization. It is never on disk.
const ChartsFolder = ".gatehouse-charts"

// ClusterOf returns the defaults of kubeVersion and apiVersions, given the environment's kustomization and
// CustomResourceDefinitions.
type ClusterOf func(environment *Kustomization, definitions []manifest.Object) charts.Cluster

// Chart is an entry of helmCharts. Settings are nil if it has problems.
type Chart struct {
	charts.Entry
	Settings *charts.Settings

	file string // of its objects
}

// replaceCharts replaces the charts of a kustomization by a component. Charts without a namespace go to the
// namespace of the kustomization, or to the inherited one.
func (w *walk) replaceCharts(k *Kustomization, inherited string, isConfig bool) {
	folder := path.Join(k.Folder, ChartsFolder)
	field := "helmCharts"
	if node.Field(k.root, field) == nil {
		field = "helmChartInflationGenerator" // its old name
	}
	line := node.Line(k.root, field)
	entries := node.Field(k.root, field)
	if isConfig || w.isOverride {
		w.problems.add(k.File, line,
			"helmCharts: neither overrides nor generators have charts: list them in a kustomization of the environment")
		return
	}
	c := &Kustomization{Folder: folder, File: path.Join(folder, konfig.DefaultKustomizationFileName()),
		Paths: map[string]string{}, Documents: map[string][]Document{},
		root: &yaml.Node{Kind: yaml.MappingNode, Line: 1}}
	c.Kind = types.ComponentKind
	c.APIVersion = types.ComponentVersion
	home := types.HelmDefaultHome
	homeLine := 0
	if k.HelmGlobals != nil && k.HelmGlobals.ChartHome != "" {
		home = k.HelmGlobals.ChartHome
		homeLine = node.Line(k.root, "helmGlobals", "chartHome")
	}
	for i, chart := range k.HelmCharts {
		if chart.Namespace == "" && k.Namespace == "" {
			w.inherited[k.Folder] = inherited
		}
		chart.Namespace = cmp.Or(chart.Namespace, k.Namespace, inherited)
		name := fmt.Sprintf("%d.yaml", i)
		c.Resources = append(c.Resources, name)
		c.Paths[name] = path.Join(folder, name)
		l := load{by: c, from: loadFields[0], line: 1, path: c.Paths[name]}
		c.loads = append(c.loads, l)
		w.loads = append(w.loads, l)
		w.Charts = append(w.Charts, Chart{file: l.path, Entry: charts.Entry{
			HelmChart: chart, Home: path.Join(k.Folder, home), HomeLine: homeLine, Folder: k.Folder,
			File: Relative(k.File),
			Node: node.Item(entries, i),
		}})
	}
	k.HelmCharts = nil
	k.HelmGlobals = nil
	k.Components = append([]string{ChartsFolder}, k.Components...)
	k.Paths[ChartsFolder] = folder
	w.loads = append(w.loads, load{by: k, from: loadField{"components", "", loadFolder}, line: line, path: folder,
		isDir: true})
	w.Kustomizations[folder] = c
	w.order = append(w.order, c)
	k.standIn = encode(k.Kustomization)
	c.standIn = encode(c.Kustomization)
}

// checkInherited reports the charts of a folder that another namespace reaches: kustomize renders them
// again for each.
func (w *walk) checkInherited(folder, inherited string) {
	k := w.Kustomizations[folder]
	if first, is := w.inherited[folder]; is && first != inherited {
		w.problems.add(k.File, node.Line(k.root, "helmCharts"),
			"helmCharts: comes into the environment with the namespaces %q and %q: write namespace in its entries, "+
				"or a folder for each", first, inherited)
	}
	key := folder + "\n" + inherited
	if w.isChecked[key] {
		return
	}
	w.isChecked[key] = true
	for _, l := range k.loads {
		if l.isDir && w.Kustomizations[l.path] != nil {
			w.checkInherited(l.path, cmp.Or(k.Namespace, inherited))
		}
	}
}

// fetch fetches the chart of an entry that is not in the tree, by its lock if there is one.
func (w *walk) fetch(e *charts.Entry) {
	if e.Repo == "" || !w.FS.IsFetching() || charts.IsThere(w.FS, *e) {
		return
	}
	from := e.From()
	content, _ := w.FS.ReadAny(path.Join(e.Home, charts.LockFile)) // without one there is no digest
	locked, _ := charts.ParseLock(charts.LockFile, content)
	files, err := w.FS.Fetch(charts.LockedOf(locked, from).Pin(from))
	e.Fetched = files.Path
	e.NotFetched = err
}

// nameRelease names the release of an entry without a name, which helm then makes of the time.
func (w *walk) nameRelease(e *charts.Entry) {
	if e.Name == "" || e.ReleaseName != "" || e.NameTemplate != "" {
		return
	}
	w.Absent = append(w.Absent, Absent{Problem: e.Check()[0],
		Reason: "release without a name, so that each build makes another: " + e.Name})
	e.ReleaseName = "release-name" // of helm template
}

// addChanging returns the problems without the ones of values that change on each run, which only a written environment
// must not have.
func (w *walk) addChanging(c Chart, problems []manifest.Problem) (others []manifest.Problem) {
	for _, p := range problems {
		if p.Code != manifest.ChartRuleOfRender {
			others = append(others, p)
			continue
		}
		w.Absent = append(w.Absent, Absent{Problem: p, Reason: "values that change on each run: chart " + c.Name})
	}
	return others
}

// readCharts renders the charts of a walk and reads their objects. It adds them to the file system.
func (w *walk) readCharts(m *memo.Memo, manifests []*Manifest, clusterOf ClusterOf) ([]*Manifest, []manifest.Problem) {
	if len(w.Charts) == 0 {
		return nil, nil
	}
	cluster := clusterOf(w.Kustomizations[w.root], definitionsIn(manifests))
	var read []*Manifest
	var found problems
	files := map[string][]byte{}
	for i := range w.Charts {
		w.fetch(&w.Charts[i].Entry)
		w.nameRelease(&w.Charts[i].Entry)
	}
	for i, c := range w.Charts {
		if w.addAbsentChart(c) {
			files[c.file] = nil
			continue
		}
		rendered, problems := charts.Render(w.FS, c.Entry, cluster)
		w.Charts[i].Settings = rendered.Settings
		if len(rendered.Content) > 0 {
			problems = w.addChanging(c, problems)
		}
		found = append(found, problems...)
		if manifest.HasErrors(problems) {
			continue
		}
		key := chartKey{c.file, sha256.Sum256(fmt.Append(rendered.Content, rendered.Lines))}
		parsed := memo.Get(m, key, func() []parsedText { return markObjects(parseChart(c.file, rendered)) })
		read = append(read, &Manifest{File: c.file})
		var contents [][]byte
		for _, p := range parsed {
			if p.err != nil {
				p.problems = append(p.problems, malformed(c.file, p.err))
			}
			for _, problem := range p.problems {
				found = append(found, locateInTemplate(problem, c.file, rendered.Lines))
			}
			if p.err == nil && len(p.Objects) > 0 {
				read[len(read)-1].Texts = append(read[len(read)-1].Texts, p.Text)
				contents = append(contents, p.Content)
			}
		}
		files[c.file] = text.Join(contents)
	}
	w.FS = w.FS.With(files)
	return read, found
}

// definitionsIn returns the CustomResourceDefinitions in manifests.
func definitionsIn(manifests []*Manifest) (definitions []manifest.Object) {
	for _, m := range manifests {
		for _, d := range m.objects() {
			if d.Kind != "CustomResourceDefinition" || d.Group != "apiextensions.k8s.io" {
				continue
			}
			if o, err := manifest.FromYAML(d.Node()); err == nil {
				definitions = append(definitions, o)
			}
		}
	}
	return definitions
}

// chartKey is the memo key of the objects of a chart.
type chartKey struct {
	file string
	hash [sha256.Size]byte
}

// locateInTemplate returns a problem in the objects of a chart with the line of their template.
func locateInTemplate(p manifest.Problem, file string, lines []charts.Position) manifest.Problem {
	if p.File == Relative(file) && 0 < p.Line && p.Line <= len(lines) {
		p.File = Relative(lines[p.Line-1].File)
		p.Line = lines[p.Line-1].Line
	}
	return p
}

// parseChart parses the objects of a chart and gives them the lines of their templates.
func parseChart(file string, r charts.Rendered) []parsedText {
	unite := joinAnnotations
	if r.TakesLast {
		unite = node.TakeLast
	}
	parsed := parseManifest(file, r.Content, unite, true)
	for i, p := range parsed {
		for j := range p.numberProblems {
			p.numberProblems[j] = locateInTemplate(p.numberProblems[j], file, r.Lines)
		}
		var wrong text.Error
		if errors.As(p.err, &wrong) && 0 < wrong.Other && wrong.Other <= len(r.Lines) {
			wrong.Other = r.Lines[wrong.Other-1].Line
			parsed[i].err = wrong
		}
		if p.root == nil {
			continue
		}
		for j, problem := range p.problems {
			p.problems[j] = locateInTemplate(problem, file, r.Lines)
		}
		for j := range p.Objects {
			o := &p.Objects[j]
			o.File = r.Lines[o.Line()-1].File
			o.FromChart = true
		}
		for n := range node.All(p.root) {
			if 0 < n.Line && n.Line <= len(r.Lines) {
				n.Line = r.Lines[n.Line-1].Line
			}
		}
	}
	return parsed
}

// ChartObjects returns the objects of a chart, with the lines of their templates.
func ChartObjects(r charts.Rendered) (objects []Document, err error) {
	for _, p := range parseChart("", r) {
		if p.err != nil {
			return nil, errors.New(locateInTemplate(malformed("", p.err), "", r.Lines).String())
		}
		objects = append(objects, p.Objects...)
	}
	return objects, nil
}

// markObjects writes the texts of the objects of a chart again, marked as kustomize marks them: it then leaves their
// namespace alone. Comments go, and block scalars become quoted: yaml.v3 does not write all of them as it read them.
func markObjects(parsed []parsedText) []parsedText {
	for i, p := range parsed {
		root, err := p.Parse()
		if err != nil || root == nil {
			continue
		}
		completeItems(root)
		for _, o := range splitList("", root, false) {
			if metadata := node.Field(o.Node(), "metadata"); metadata != nil && metadata.Kind == yaml.MappingNode &&
				len(metadata.Content) > 0 {
				mark(metadata)
			}
		}
		for n := range node.All(root) {
			n.HeadComment = ""
			n.LineComment = ""
			n.FootComment = ""
			if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
		p.Content, parsed[i].err = yaml.Marshal(root)
	}
	return parsed
}

// mark adds the annotation of an object of a chart to metadata.
func mark(metadata *yaml.Node) {
	key := &yaml.Node{Kind: yaml.ScalarNode, Value: "annotations"}
	annotations := node.Field(metadata, key.Value)
	if annotations == nil || node.IsNull(annotations) {
		annotations = &yaml.Node{Kind: yaml.MappingNode}
		node.Remove(metadata, key.Value)
		metadata.Content = append(metadata.Content, key, annotations)
	}
	if annotations.Kind == yaml.MappingNode { // or else kustomize reports it
		node.Remove(annotations, konfig.HelmGeneratedAnnotation)
		annotations.Content = append(annotations.Content,
			&yaml.Node{Kind: yaml.ScalarNode, Value: konfig.HelmGeneratedAnnotation},
			&yaml.Node{Kind: yaml.ScalarNode, Value: "true", Style: yaml.DoubleQuotedStyle})
	}
}

// isOfChart reports whether a file is of the component with charts.
func isOfChart(file string) bool { return path.Base(path.Dir(file)) == ChartsFolder }

// addCharts adds the objects of charts by their template, with the settings of their chart.
func (s *Sources) addCharts(manifests []*Manifest) {
	of := map[string]*charts.Settings{}
	for _, c := range s.Charts {
		of[c.file] = c.Settings
	}
	byTemplate := map[string][]Document{}
	for _, m := range manifests {
		for _, d := range m.objects() {
			byTemplate[d.File] = append(byTemplate[d.File], d)
			s.settings[d.Tree] = of[m.File]
		}
	}
	maps.Copy(s.documents, byTemplate)
}

// ChartOf returns the index in Charts of the chart of an object, or -1.
func (s *Sources) ChartOf(d Document) int {
	of := s.settings[d.Tree]
	return slices.IndexFunc(s.Charts, func(c Chart) bool { return of != nil && c.Settings == of })
}

// Settings returns the settings that the lines of an object of a chart read.
func (s *Sources) Settings(d Document) (names []string) {
	of := s.settings[d.Tree]
	if of == nil {
		return nil
	}
	last := d.Line()
	for n := range node.All(d.Node()) {
		last = max(last, n.Line)
	}
	for _, setting := range of.Read(d.File, d.Line(), last) {
		names = append(names, setting.String())
	}
	return names
}

// explainChart adds to a problem of an object of a chart, at the line of its template, the setting that causes it
// or, for a Secret, the values by which the chart refers to one.
func (s *Sources) explainChart(p manifest.Problem, d Document, keys []string) manifest.Problem {
	of := s.settings[d.Tree]
	if of == nil {
		return p
	}
	if p.IsError() && d.Kind == "Secret" && d.Group == "" &&
		(len(keys) == 0 || keys[0] == "data" || keys[0] == "stringData") {
		if names := of.SecretNames(charts.Position{File: d.File, Line: d.Line()}); len(names) > 0 {
			p.Message += "; the chart refers to a Secret by the value " + manifest.FirstOf(3, names) +
				": set it to the name of one"
		}
	}
	_, cause, ok := FindCause(of, d, keys, p.Value)
	switch {
	case ok && cause.File != "":
		p.Message += fmt.Sprintf("; set by the value %s in %s", manifest.JoinField(cause.Keys), p.Position())
		p.File = Relative(cause.File)
		p.Line = cause.Line
	case ok:
		p.Message += "; set by the value " + cause.String()
	}
	return p
}

// FindCause returns the template line of a field in an object of a chart, and the setting that causes its value.
func FindCause(of *charts.Settings, d Document, keys []string, value manifest.Value) (at charts.Position,
	cause charts.Setting, ok bool) {
	keys = Keys(d.ID, keys)
	key, found := node.Walk(d.Node(), keys, node.TestOf(value))
	for name, entry := range node.Entries(found) {
		if wrong := fmt.Sprint(value.Is); name.Value == wrong || entry.Value == wrong {
			keys = append(keys, name.Value)
			key = name
			found = entry
			break
		}
	}
	text := ""
	switch {
	case found == nil && value.Is == nil: // missing
		key = &yaml.Node{Line: node.Line(d.Node(), keys...)}
		found = key
	case found == nil || found.Kind != yaml.ScalarNode:
		return at, cause, false
	case !node.IsNull(found):
		text = found.Value
	}
	at = charts.Position{File: d.File, Line: key.Line}
	cause, ok = of.Cause(at, max(at.Line, found.Line), keys, text)
	return at, cause, ok
}
