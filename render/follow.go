package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
)

// followed is a folder of the repository that a tool builds and applies for an object of an environment: Flux for a
// Kustomization, Argo CD for an Application. Its objects are judged and compared as its own. They are
// written if that is a cluster.
type followed struct {
	*input
	place
	paths *kustomize.Paths
	built []manifest.Object
	// ineffective are the warnings of entries that change nothing.
	ineffective []manifest.Problem
	// whole are the objects as the tool applies them, with those that the environment has already.
	whole []manifest.Object
	// committed are all objects of the folder, with their variables.
	committed []manifest.Object
	// applied are the objects of built as the tool applies them, with the variables of unknown values.
	applied []manifest.Object
	// postBuild has the values of the variables in built, if Flux substitutes any.
	postBuild *flux.PostBuild
	// outer has the values of the variables in the object itself, if Flux substitutes any.
	outer *flux.PostBuild
	// overlay is the kustomization with the fields of the object, from the root, if it has such fields or if the tool
	// lists the files. It begins with the lines of the file.
	overlay string
	lines   int
	// original is the file without the fields of the object, if it exists; own and merged are the fields before and
	// after.
	original    *yamlv3.Node
	own, merged map[string]any
}

// maxFollowed bounds the folders of an environment that are followed.
const maxFollowed = 2000

// isOwn reports whether a folder is the environment itself, before or after the cluster moves in.
func (in *input) isOwn(folder string) bool {
	return folder == in.folder || folder == in.entry || folder == in.renderedFolder()
}

// renderedFolder returns the folder of the rendered files, from the root.
func (in *input) renderedFolder() string { return path.Join("/", tree.Folder, in.name) }

// follow follows the deliveries among applied objects, and among the objects that these deliver, to the folders of the
// repository, whose files are files. A folder below rendered/ or in environments/ is an environment of its own. Untold
// are the paths that deliveries look at that are not followed.
func (in *input) follow(repository *Repository, files *source.FileSystem, objects []manifest.Object) (all []*followed,
	untold []*source.Looks, problems []manifest.Problem) {
	w, have := newWorld(objects, in), map[manifest.ID]manifest.Object{}
	ignore := ""
	for _, o := range objects {
		have[o.IDInNamespace()] = o
		if w.own != "" && sourceName(o.GetKind(), o.GetNamespace(), o.GetName()) == w.own {
			ignore, _, _ = unstructured.NestedString(o.Object, "spec", "ignore")
		}
	}
	artifact := files.InArtifact(ignore)
	var foreign []place
	for next := objects; slices.ContainsFunc(next, isFollowed); {
		first := len(all)
		own := w.own
		for _, o := range next {
			if isApplicationSet(o) {
				within, noted := files.Noting()
				if f, err := in.setOf(repository, within, o, w.clusters); err == nil {
					all = append(all, f)
					w.add(f.built, in)
					problems = append(problems, f.unsetParameters()...)
				} else {
					untold = append(untold, noted)
					problems = append(problems, warning(o, fmt.Sprintf("is not judged, for its %v: commit the "+
						"Applications that argocd appset generate prints", err))...)
				}
			}
			for _, p := range placesOf(o) {
				if len(all) == maxFollowed {
					found := warning(o, fmt.Sprintf("is not followed: the environment delivers more than %d folders",
						maxFollowed))
					return all, untold, append(problems, found...)
				}
				if p = in.resolve(files, p); p.isForeign(own, w, files) {
					foreign = append(foreign, p)
					continue
				}
				within := files
				if p.isFlux {
					within = artifact
				}
				within, noted := within.Noting()
				f, found := in.open(within, p, own)
				if f != nil {
					found = append(found, f.build()...)
					all = append(all, f)
					w.add(f.built, in)
				}
				if isUnknown(f, found) {
					untold = append(untold, noted)
				}
				problems = append(problems, found...)
			}
		}
		next = nil
		for _, f := range all[first:] {
			problems = append(problems, f.setPostBuild(w)...)
			problems = append(problems, in.dropRepeated(f, have, w)...)
			next = append(next, f.applied...)
		}
	}
	return all, untold, append(problems, notFollowed(foreign)...)
}

// isUnknown reports whether a folder has problems that hide its objects.
func isUnknown(f *followed, found []manifest.Problem) bool {
	return f == nil && len(found) > 0 || manifest.HasErrors(found)
}

// notFollowed returns one warning about the places in other sources.
func notFollowed(foreign []place) []manifest.Problem {
	if len(foreign) == 0 {
		return nil
	}
	var names []string
	for _, p := range foreign {
		names = append(names, p.object.GetName()+" in "+p.source)
	}
	return warning(foreign[0].object, "is not followed, as its objects are in another source than this repository: "+
		manifest.FirstOf(3, names))
}

// resolve sets the folder of a place in the repository.
func (in *input) resolve(files *source.FileSystem, p place) place {
	if p.isFlux {
		at := in.locate(manifest.NewProblem(p.object, "", manifest.Value{}, ""))
		folder := resolveSource(files, p.sourceKind(), path.Dir(at.File), source.Relative(p.folder))
		p.isPart = folder != source.Relative(p.folder)
		p.folder = path.Join("/", folder)
	}
	return p
}

// dropRepeated drops the objects of a folder that the environment has already, and warns where they differ.
func (in *input) dropRepeated(f *followed, have map[manifest.ID]manifest.Object,
	w *world) (warnings []manifest.Problem) {
	var built, applied []manifest.Object
	f.whole = f.postBuild.Applied(f.built)
	for i, o := range f.whole {
		id := o.IDInNamespace()
		if o.GetNamespace() == "" && in.isNamespaced(o, w) {
			id.Namespace = cmp.Or(f.namespace, id.Namespace)
		}
		other, isRepeated := have[id]
		if !isRepeated || flux.HasVariables(id.Name+id.Namespace) { // unknown values may make another name
			have[id] = o
			built, applied = append(built, f.built[i]), append(applied, o)
			continue
		}
		if !reflect.DeepEqual(o.Object, other.Object) {
			where := in.locate(manifest.NewProblem(other, "", manifest.Value{}, "")).Position()
			p := f.Blame(manifest.NewProblem(o, "", manifest.Value{}, fmt.Sprintf("is in %s as well, with other "+
				"content: the tool applies one over the other, again and again; remove or rename one", where)))
			p.Warning = true
			warnings = append(warnings, p)
		}
	}
	f.built, f.applied = built, applied
	return warnings
}

// open reads the folder of a place. It returns nothing if the folder is of another repository, or if another cluster
// or nobody gets its objects.
func (in *input) open(files *source.FileSystem, p place, own string) (*followed, []manifest.Problem) {
	top, _, _ := strings.Cut(source.Relative(p.folder), "/")
	above := strings.TrimSuffix(p.folder, "/")
	isOwn := in.isOwn(p.folder) || isBelow(in.folder, above) || isBelow(in.entry, above)
	isRendered := top == tree.Folder && !isBelow(p.folder, in.renderedFolder()) // below, it is a delivery
	switch {
	case isRendered, top == tree.EnvironmentsFolder, isOwn, p.isElsewhere:
		return nil, nil
	case !files.IsDir(p.folder) && p.isFlux && (own != "" || IsFolder(in.name)):
		return nil, warning(p.object, fmt.Sprintf("spec.path: no folder %s in this repository",
			source.Relative(p.folder)))
	case !files.IsDir(p.folder), !p.isFlux && files.Exists(path.Join(p.folder, chartutil.ChartfileName)):
		return nil, nil
	}
	return in.openFolder(files, p)
}

// openFolder reads the folder of a place, and the fields of its object as a kustomization.
func (in *input) openFolder(files *source.FileSystem, p place) (*followed, []manifest.Problem) {
	f := &followed{place: p, outer: in.postBuild}
	if parent, isDelivered := p.object.Delivery.(*followed); isDelivered {
		f.outer = parent.postBuild
	}
	folder := p.folder
	content, err := f.writeOverlay(files, folder)
	if err != nil {
		return nil, []manifest.Problem{in.locate(manifest.NewProblem(f.object, p.field, manifest.Value{},
			fmt.Sprintf("%s: %v", p.field, err)))}
	}
	if f.overlay != "" {
		files = files.With(map[string][]byte{f.overlay: content})
	}
	child := *in
	child.folder, child.overrides, child.postBuild = folder, "", nil
	child.sources = source.Read(nil, in.shared, files, in.kinds.KustomizeConfig(), clusterOf, nil, folder)
	f.input = &child
	if remote := remoteEntries(child.sources); len(remote) > 0 {
		return nil, warning(p.object, "is not judged: rendering reads only this repository, and its folder takes "+
			manifest.FirstOf(3, remote))
	}
	problems := slices.Concat(child.sources.Problems, child.sources.NumberProblems(), child.timeProblems())
	if kustomize.HasSchema(child.sources) {
		problems = append(problems, manifest.Problem{Code: manifest.InvalidKustomization,
			File:    source.Relative(child.sources.Kustomizations[folder].File),
			Message: "openapi: render takes it only in the kustomization of an environment"})
	}
	problems = f.blame(problems)
	if manifest.HasErrors(problems) {
		return nil, problems
	}
	return f, problems
}

// remoteEntries returns the entries of kustomizations that kustomize would fetch.
func remoteEntries(s *source.Sources) (all []string) {
	for _, k := range s.Kustomizations {
		all = append(all, k.Remote...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// blame adds the source files and lines of problems.
func (f *followed) blame(problems []manifest.Problem) []manifest.Problem {
	located := make([]manifest.Problem, len(problems))
	for i, p := range problems {
		located[i] = f.Blame(p)
	}
	return located
}

// warning returns a warning about a delivery.
func warning(o manifest.Object, message string) []manifest.Problem {
	p := manifest.NewProblem(o.Committed(), "", manifest.Value{}, message).As(manifest.NotFollowed)
	p.Warning = true
	return []manifest.Problem{p}
}

// writeOverlay returns the kustomization of a folder as the tool builds it, and sets its path if that is another than
// in git.
func (f *followed) writeOverlay(files *source.FileSystem, folder string) ([]byte, error) {
	file := files.KustomizationFile(folder)
	var original []byte
	var k types.Kustomization
	if file == "" {
		file = path.Join(folder, "kustomization.yaml")
		if k.Resources = f.list(files); len(k.Resources) == 0 {
			return nil, fmt.Errorf("%s has no YAML files", source.Relative(folder))
		}
	} else {
		content, err := files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(content, &k); err != nil {
			return nil, nil //nolint:nilerr // an error where the kustomization is read
		}
		original = content
		var document yamlv3.Node
		if err := yamlv3.Unmarshal(content, &document); err == nil {
			f.original = node.Deref(document.Content[0])
		}
	}
	exists := func(component string) bool { return files.Exists(path.Join(folder, component)) }
	var err error
	if f.merged, err = fieldsOf(f.MergeInto(k, f.isFlux, exists)); err != nil {
		return nil, err
	}
	if f.own, err = fieldsOf(k); err != nil {
		return nil, err
	}
	f.lines = bytes.Count(original, []byte("\n")) + 1
	changed := map[string]any{}
	for name, value := range f.merged {
		if before, isThere := f.own[name]; !isThere || !bytes.Equal(manifest.ToYAML(before), manifest.ToYAML(value)) {
			changed[name] = value
			if isThere && len(original) > 0 { // it no longer has the lines of the file
				f.lines, original = 0, nil
			}
		}
	}
	switch {
	case len(changed) == 0 && len(original) > 0:
		return nil, nil
	case len(original) == 0:
		f.lines, changed = 0, f.merged
	}
	f.overlay = file
	return slices.Concat(original, []byte("\n"), manifest.ToYAML(changed)), nil
}

// fieldsOf returns the fields of a kustomization.
func fieldsOf(k types.Kustomization) (fields map[string]any, err error) {
	content, err := json.Marshal(k)
	if err == nil {
		err = json.Unmarshal(content, &fields)
	}
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	return fields, err
}

// build builds the folder.
func (f *followed) build() []manifest.Problem {
	f.paths = kustomize.FindPaths(f.sources, f.place.folder)
	objects, problems := f.buildObjects(f.paths)
	problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool { return p.Code == manifest.NoObjects })
	f.built = slices.Clone(objects)
	if !manifest.HasErrors(problems) {
		f.ineffective = kustomize.Ineffective(f.paths, "", objects, nil)
	}
	for i := range f.built {
		f.built[i].Delivery, f.built[i].File = f, f.built[i].Origin
	}
	f.committed = slices.Clone(f.built)
	return f.blame(problems)
}

// Object implements manifest.Delivery.
func (f *followed) Object() manifest.Object { return f.object }

// Blame implements manifest.Delivery. It adds the source file and line, or those of the Kustomization if its own
// fields are to blame.
func (f *followed) Blame(p manifest.Problem) manifest.Problem {
	if f.isSet() {
		return f.blameSet(p)
	}
	p.Subject = p.Subject.Committed()
	located := locate(f.input, f.paths, p)
	isOwn := f.overlay != "" && located.File == source.Relative(f.overlay)
	if !isOwn || located.Line > 0 && located.Line <= f.lines {
		return located
	}
	set := f.originOf(located.Line)
	if located.Line = set.line; set.field == "" {
		return located
	}
	message := strings.TrimPrefix(located.Object+": "+located.Message, ": ")
	field := manifest.JoinField(append(manifest.SplitField(set.field), set.below...))
	if rest, ok := strings.CutPrefix(p.Field, set.entry); ok {
		field = set.field + rest
		message = field + strings.TrimPrefix(p.Message, p.Field)
	}
	of := manifest.NewProblem(f.object, field, set.value, message).As(p.Code)
	of.Warning = p.Warning
	if set, isMade := f.object.Delivery.(*followed); isMade && set.isSet() {
		return set.Blame(of)
	}
	return of
}

// setter is what sets a line of the overlay: a line in git of the folder, or a field of the object.
type setter struct {
	line         int
	entry, field string   // of the overlay and of the object; no field for a line in git
	below        []string // the field of the object in the entry
	value        manifest.Value
}

// originOf returns what sets a line of the overlay.
func (f *followed) originOf(at int) setter {
	name, index := f.sources.EntryAt(f.overlay, at)
	keys := []string{name}
	merged, isList := f.merged[name].([]any)
	if isList {
		keys = append(keys, strconv.Itoa(index))
	}
	below, part := f.sources.PartAt(f.overlay, at, keys...)
	s := setter{entry: fmt.Sprintf("%s[%d]", name, index), value: manifest.Value{Contains: part}}
	keys = append(keys, below...)
	if own := decoding.At(f.own, keys); own != nil && reflect.DeepEqual(own, decoding.At(f.merged, keys)) {
		line, ok := node.LineAt(f.original, keys, s.value)
		if s.line = line; !ok {
			s.line = node.Line(f.original, keys...)
		}
		return s
	}
	own, _ := f.own[name].([]any)
	s.field = f.fieldOf(name)
	if len(merged) > 0 && index >= len(own) && s.field != metadataOfFlux {
		s.field += fmt.Sprintf("[%d]", index-len(own)) // the tool appends its items
	}
	s.below = fieldsBelow(name, below, part)
	return s
}

// locateEntry returns an entry of a kustomization with its file and line or, if the object sets it, with the object and
// its field.
func (f *followed) locateEntry(at manifest.Problem) manifest.Problem {
	if at.File != source.Relative(f.overlay) || at.Line <= f.lines {
		return at
	}
	set := f.originOf(at.Line)
	if at.Line = set.line; set.field == "" {
		return at
	}
	return manifest.NewProblem(f.object, set.field, manifest.Value{}, "")
}

// fieldOf returns the field of the object that sets a field of the overlay.
func (p place) fieldOf(name string) string {
	switch {
	case !p.isFlux:
		return strings.TrimSuffix(p.field, "path") + "kustomize." + name
	case name == "namespace":
		return "spec.targetNamespace"
	case name == "buildMetadata": // Flux sets it as well
		return "spec.path"
	case name == "labels", name == "transformers":
		return metadataOfFlux
	}
	return "spec." + name
}

// metadataOfFlux is the field of a Kustomization whose metadata the overlay sets by labels and transformers.
const metadataOfFlux = "spec.commonMetadata"

// fieldsBelow returns the fields of the object for those below an entry of the overlay, which may be a text.
func fieldsBelow(name string, below []string, part string) []string {
	switch key, _, _ := strings.Cut(part, ":"); {
	case name == "transformers":
		return []string{"annotations", key}
	case name == "labels" && len(below) > 0:
		return append([]string{"labels"}, below[1:]...)
	}
	return below
}

// setNamespace gives objects without a namespace that of an Application.
func (f *followed) setNamespace(checker *verdict.Checker) {
	if f.namespace == "" {
		return
	}
	for _, objects := range [][]manifest.Object{f.built, f.committed} {
		for i, o := range objects {
			objects[i] = checker.WithNamespace(o, f.namespace)
		}
	}
	f.applied = f.built // Argo CD substitutes nothing
}

// checker returns the judge of the objects.
func (f *followed) checker(of *verdict.Checker) *verdict.Checker {
	checker := *of
	checker.PostBuild = f.postBuild
	return &checker
}

// followedObjects returns the applied objects of all followed folders.
func (b *built) followedObjects() (all []manifest.Object) {
	for _, f := range b.followed {
		all = append(all, f.applied...)
	}
	return all
}

// judgeFollowed returns the problems of the objects of followed folders.
func (b *built) judgeFollowed() (problems []manifest.Problem) {
	for _, f := range b.followed {
		_, found := f.checker(b.checker).Objects(f.built)
		if f.isSet() { // the API server warns its controller alone
			found = slices.DeleteFunc(found, func(p manifest.Problem) bool { return p.Code == manifest.APIWarning })
		}
		problems = append(problems, f.blame(found)...)
		for _, p := range f.blame(f.ineffective) {
			if p.Subject.Unstructured == nil || b.isWritten(f.object, p.Field) {
				problems = append(problems, p)
			}
		}
	}
	return problems
}

// isWritten reports whether a source file of a delivery has a field. One that a patch adds to many deliveries may be
// for others.
func (b *built) isWritten(o manifest.Object, field string) bool {
	paths := b.paths
	if by, ok := o.Delivery.(*followed); ok {
		paths = by.paths
	}
	if paths == nil || paths.Find(o) == nil {
		return false
	}
	entry := field[:strings.LastIndex(field, "]")+1]
	_, value := node.Walk(paths.Find(o).Document.Node(), manifest.SplitField(entry), nil)
	return value != nil
}

// blameDeliveries turns problems of delivered objects into ones of their deliveries, or locates them in their files.
func blameDeliveries(problems []manifest.Problem) []manifest.Problem {
	blamed := make([]manifest.Problem, 0, len(problems))
	for _, p := range problems {
		for p.Subject.Delivery != nil && p.File == "" {
			p = p.Subject.Delivery.Blame(p)
		}
		blamed = append(blamed, p)
	}
	return blamed
}

// delivered returns the objects of followed folders as of releases.
func (b *built) delivered() (all []*release.Installed) {
	for _, f := range b.followed {
		all = append(all, &release.Installed{Release: release.Release{Source: f.object}, Objects: f.applied})
	}
	return all
}

// filesRead returns the source files of the environment and of followed folders, relative to the root.
func (p *pipeline) filesRead() []string {
	files := p.sources.FS.FilesRead()
	if len(p.followed) > 0 {
		files = append(files, p.files.FilesRead()...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
