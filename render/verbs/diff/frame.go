package diff

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// change is a changed file with its place in a review.
type change struct {
	compare.FrameChange
	rank int
}

// frame finds the changed files that the compared environments do not explain.
type frame struct {
	*previousRendering
	isAll     bool            // all environments are compared
	isChanged map[string]bool // changed files, from the root
	looked    source.Looks    // of all environments
	// isRendered has the files of each compared environment, from the root, and whether a file is what the sources
	// render to. It is nil for an environment that does not render.
	isRendered map[string]map[string]bool
	adding     sync.Mutex // isRendered
	compared   []*compare.Comparison
}

// start sets the base.
func (f *frame) start(base *previousRendering) {
	f.previousRendering = base
	f.isChanged = map[string]bool{}
	f.isRendered = map[string]map[string]bool{}
	for _, file := range base.changed {
		f.isChanged[base.git.InFolder(file.Path)] = true
	}
}

// add adds an environment. It may be called concurrently.
func (f *frame) add(environment string, rendering *render.Rendering) {
	files := f.filesOf(environment, rendering)
	f.adding.Lock()
	defer f.adding.Unlock()
	f.isRendered[environment] = files
}

// filesOf returns the files of an environment in the work tree, see isRendered.
func (f *frame) filesOf(environment string, rendering *render.Rendering) map[string]bool {
	if rendering == nil {
		return nil
	}
	for _, file := range rendering.Sources { // at the ends of links
		f.looked.Add(file)
	}
	_, isRendered, _ := f.repository.RenderedFor(environment) // an unreadable index is a problem of the plan
	if render.IsFolder(environment) || !isRendered && f.isUnrendered(environment) {
		return map[string]bool{}
	}
	plan := f.repository.Plan(rendering)
	defer plan.Close()
	files := map[string]bool{}
	folder := path.Join(tree.Folder, environment)
	for _, name := range plan.Unchanged() {
		files[name] = true
	}
	for _, name := range plan.Pruned() {
		files[name] = false
	}
	for _, file := range slices.Concat(rendering.Files, plan.Files()) { // without an index the plan has no files
		name := path.Join(folder, file.Path)
		isCommitted := !f.isChanged[name] && f.files[name].OID == f.git.Hash(file.Content) // though not checked out
		files[name] = files[name] || isCommitted
	}
	return files
}

// untoldBy returns a part of an environment that reads a file, and has no known objects; nil without such a part. A
// part that a change may have an effect by comes before one at another revision.
func (f *frame) untoldBy(name string) (by *render.Untold) {
	if isOrdinary(name) {
		return nil
	}
	for _, both := range f.compared {
		if part := both.Untold(name, f.isAll); part != nil && (by == nil || by.IsUnaffected) {
			by = part
		}
	}
	return by
}

// mayAffect reports whether the effect of a change by a part, if any, is unknown.
func mayAffect(by *render.Untold) bool { return by != nil && !by.IsUnaffected }

// changes returns the changes of the frame: by rank, and then by file.
func (f *frame) changes(ctx context.Context, environments []*compare.Comparison) ([]compare.FrameChange, error) {
	f.compared = environments
	f.lookAtBase()
	staged, err := f.git.StagedSince(ctx, f.commit)
	if err != nil {
		return nil, err
	}
	isStaged := map[string]bool{}
	for _, file := range staged {
		isStaged[file.Path] = true
	}
	changes := f.withoutOthers(f.untold(isStaged))
	if err := f.readContents(ctx, changes); err != nil {
		return nil, err
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.File, b.File))
	})
	all := make([]compare.FrameChange, len(changes))
	for i, c := range changes {
		all[i] = c.FrameChange
		if c.Risk == maySync {
			all[i].Risk = f.sayUnread(f.git.InFolder(c.File))
		}
		all[i].IsOrdinary = c.Risk == "" && isOrdinary(c.File)
	}
	return all, nil
}

// sayUnread returns the risk of a file that no environment reads, or not both before the change and after it.
func (f *frame) sayUnread(name string) kind.Sentence {
	isRead := func(isAfter bool) bool {
		return slices.ContainsFunc(f.compared, func(both *compare.Comparison) bool { return both.Reads(name, isAfter) })
	}
	switch {
	case isRead(true):
		return maySyncBefore
	case isRead(false):
		return maySyncAfter
	}
	return maySync
}

// withoutOthers leaves out the files whose content known deliveries of other environments consume, and no unknown one
// of the compared ones: --env is not about the others.
func (f *frame) withoutOthers(changes []change) []change {
	if f.isAll || len(changes) == 0 {
		return changes
	}
	consumed := map[string]bool{}
	for _, r := range []*render.Repository{f.repository, f.base} { // an added file, or a removed one
		names, _ := r.Environments() // an unreadable folder has none
		for _, name := range names {
			if _, isCompared := f.isRendered[name]; !isCompared {
				for _, file := range r.Judge(name, render.LoadOptions{}).Consumed() {
					consumed[file] = true
				}
			}
		}
	}
	return slices.DeleteFunc(changes, func(c change) bool {
		name := f.git.InFolder(c.File)
		return consumed[name] && !mayAffect(f.untoldBy(name))
	})
}

// untold returns the outdated environments, and the changed files that nothing else tells.
func (f *frame) untold(isStaged map[string]bool) []change {
	changes := f.outdated()
	for _, file := range f.changed {
		risk, rank := f.judge(file)
		isUntracked := file.Before == nil && !isStaged[file.Path]
		isLeftover := isUntracked && rank > rankRendered && isBeside(file.Path) // such as the output of a job
		isRemarked := (risk == "" || risk == maySync) && f.isRemarked(file)
		if isRemarked {
			risk = remarked
			rank = rankManifest
		}
		if !isLeftover && (isRemarked || !f.isExplained(file)) {
			said := compare.FrameChange{File: file.Path, Action: actionOf(file), Risk: risk}
			changes = append(changes, change{said, rank})
		}
	}
	return changes
}

func actionOf(file git.FileChange) compare.Action {
	switch {
	case file.Before == nil:
		return compare.Added
	case file.After == nil:
		return compare.Removed
	}
	return compare.Changed
}

// lookAtBase looks at the sources of the base, if a changed or removed file may have been one of them.
func (f *frame) lookAtBase() {
	mayBeSource := func(file git.FileChange) bool {
		isSource := strings.HasPrefix(f.git.InFolder(file.Path), tree.EnvironmentsFolder+"/") || !isOrdinary(file.Path)
		return isSource && file.Before != nil && f.git.Holds(file.Path) && !f.isExplained(file)
	}
	if !slices.ContainsFunc(f.changed, mayBeSource) {
		return
	}
	for environment := range f.isRendered {
		f.base.AddLooks(environment, &f.looked)
	}
}

// isExplained reports whether the rows of environments, their errors or the row of outdated files tell a change, or
// it concerns other environments only.
func (f *frame) isExplained(file git.FileChange) bool {
	name := f.git.InFolder(file.Path)
	folder, within, _ := strings.Cut(name, "/")
	untoldBy := f.untoldBy(name)
	switch {
	case !f.git.Holds(file.Path):
		return false
	case folder == tree.Folder:
		return f.isRenderedChange(file, name, within)
	case isRepository(file), mayAffect(untoldBy), name == settings.File:
		return false
	case folder == tree.EnvironmentsFolder && untoldBy == nil:
		return f.looked.Has(name) || !f.knowsSources(within)
	}
	return f.isConsumed(file, name) && isBeside(file.Path)
}

// isRemarked reports whether a file has other comments by which Flux sets images: no row shows these.
func (f *frame) isRemarked(file git.FileChange) bool {
	name := f.git.InFolder(file.Path)
	return file.Before != nil && file.After != nil && source.IsYAML(name) && f.git.Holds(file.Path) &&
		!slices.Equal(f.base.Markers(name), f.repository.Markers(name))
}

// isConsumed reports whether known parts of environments consume a file, before the change and after it.
func (f *frame) isConsumed(file git.FileChange, name string) bool {
	isBySome := func(isAfter bool) bool {
		return slices.ContainsFunc(f.compared, func(both *compare.Comparison) bool {
			return both.Consumes(name, isAfter)
		})
	}
	return f.looked.Has(name) && (file.Before == nil || isBySome(false)) && (file.After == nil || isBySome(true))
}

// knowsSources reports whether all sources of an environment are known, or of all that may share a file.
func (f *frame) knowsSources(within string) bool {
	environment, _, _ := strings.Cut(within, "/")
	files, isCompared := f.isRendered[environment]
	if isCompared {
		return files != nil
	}
	for _, files := range f.isRendered {
		if files == nil {
			return false
		}
	}
	return f.isAll
}

// isRenderedChange reports whether a changed file below rendered/ is what the sources render to, or no longer.
func (f *frame) isRenderedChange(file git.FileChange, name, within string) bool {
	environment, rest, isBelow := strings.Cut(within, "/")
	files, isCompared := f.isRendered[environment]
	if !isBelow || !isCompared {
		return !f.isAll
	}
	isSame, isPlanned := files[name]
	return files == nil || isSame || !isPlanned && file.After == nil && f.wasWritten(environment, rest)
}

// wasWritten reports whether render wrote a file of the base.
func (f *frame) wasWritten(environment, name string) bool {
	return slices.Contains([]string{tree.IndexFile, tree.FormerPage, tree.SchemaFile}, name) ||
		slices.Contains(f.listed[environment], name)
}

// outdated returns a change for each environment with rendered files that differ from its rendering although the
// change leaves them alone, or with changed ones that have no rendering to compare with.
func (f *frame) outdated() (changes []change) {
	for environment, files := range f.isRendered {
		folder := path.Join(tree.Folder, environment)
		var names []string
		for name, isSame := range files {
			if !isSame && !f.isChanged[name] {
				names = append(names, strings.TrimPrefix(name, folder+"/"))
			}
		}
		for name := range f.isChanged {
			if within, isBelow := strings.CutPrefix(name, folder+"/"); files == nil && isBelow {
				names = append(names, within)
			}
		}
		if len(names) == 0 {
			continue
		}
		action := compare.Outdated
		said := compare.SayFiles(names)
		risk := kind.Say("not what the sources render to: %s: run %s", said, "render --env "+environment)
		if files == nil {
			action = compare.Changed
			risk = kind.Say("there is no rendering to compare with: %s", said)
		}
		folder = path.Join(f.git.Prefix(), folder)
		changes = append(changes, change{compare.FrameChange{File: folder, Action: action, Risk: risk}, rankRendered})
	}
	return changes
}

// judge returns the risk and the rank of a change.
func (f *frame) judge(file git.FileChange) (kind.Sentence, int) {
	name := f.git.InFolder(file.Path)
	if name == settings.File && f.git.Holds(file.Path) {
		return settings.Review(f.base.Settings(), f.repository.Settings()), rankSettings
	}
	within, isRendered := strings.CutPrefix(name, tree.Folder+"/")
	if !isRendered || !f.git.Holds(file.Path) {
		risk, rank := judgeName(file)
		by := f.untoldBy(name)
		isPartly := func(both *compare.Comparison) bool { return both.ConsumesUnknown(name) }
		switch isOfName := risk != "" && risk != maySync; {
		case isOfName, by == nil && !slices.ContainsFunc(f.compared, isPartly):
			return risk, rank
		case by == nil:
			return partly, rankManifest
		}
		return riskOf(by), rankManifest
	}
	environment, rest, _ := strings.Cut(within, "/")
	files := f.isRendered[environment]
	if files == nil {
		rest = within
	}
	_, isPlanned := files[name]
	switch {
	case isPlanned && file.After == nil:
		return kind.Say("the sources still render to it: run %s", "render --env "+environment), rankRendered
	case isPlanned:
		return kind.Say("it is not what the sources render to: run %s", "render --env "+environment), rankRendered
	case file.After != nil && tree.IsOrphan(rest, file.After.IsRegular()):
		return "render did not write it: render --check refuses it, and a tool may read or apply it", rankRendered
	}
	return judgeName(file)
}

// riskOf returns the risk of a file that a part with unknown objects reads.
func riskOf(by *render.Untold) kind.Sentence {
	switch {
	case by.Reason != "":
		return kind.Say("%s brings it, and %s", by.Of, kind.Sentence(by.Reason))
	case by.Why == "", by.Of.Unstructured == nil:
		return untold
	}
	return kind.Say("%s reads it, and its objects are unknown (%s): nobody knows its effect", by.Of, by.Why)
}

// readContents adds the objects of manifests, and the risks of files by contents: of a manifest, and of a file that a
// check names.
func (f *frame) readContents(ctx context.Context, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	files, err := f.git.Top().Files(ctx, f.commit)
	if err != nil {
		return err
	}
	if err := f.readManifests(ctx, changes, files); err != nil {
		return err
	}
	callers := map[string]git.File{}
	for name, file := range files {
		if i := readerOf(name); i >= 0 && readers[i].isCaller {
			callers[name] = file
		}
	}
	texts, err := f.git.ReadFiles(ctx, callers)
	called := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		addCalled(called, name, string(texts[name]))
	}
	for i, c := range changes {
		if caller := called[c.File]; caller != "" && c.Risk == "" && !prose.MatchString(c.File) {
			changes[i].Risk = kind.Say("%s names it: a check may read or run it", caller)
			changes[i].rank = rankMode
		}
	}
	return err
}

// mostRead is the number of bytes of manifests that are compared. The lines of others have no objects.
const mostRead = 16 << 20

// readManifests adds the objects of changed manifests. Files are the files of the base, from the top.
func (f *frame) readManifests(ctx context.Context, changes []change, files map[string]git.File) error {
	before := map[string]git.File{}
	for _, c := range changes {
		if source.IsYAML(c.File) || path.Ext(c.File) == ".json" {
			before[c.File] = files[c.File]
		}
	}
	contents, err := f.git.ReadFiles(ctx, before)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.git.Top().Dir())
	if err != nil {
		return err
	}
	defer root.Close()
	left := mostRead
	for i := range changes {
		c := &changes[i]
		if _, isCandidate := before[c.File]; !isCandidate {
			continue
		}
		after, unreadable := regular.ReadFile(root, c.File)
		left -= len(contents[c.File]) + len(after)
		f.addObjects(c, contents[c.File], after, left >= 0 && (unreadable == nil || c.Action == compare.Removed))
	}
	return nil
}

// isObject matches the fields of an object in a file that is no YAML, such as a template.
var isObject = regexp.MustCompile(`(?m)^[\s{"-]*apiVersion"?\s*:(?s:.*)^[\s{"-]*kind"?\s*:` +
	`|^[\s{"-]*kind"?\s*:(?s:.*)^[\s{"-]*apiVersion"?\s*:`)

// addObjects adds the objects of a manifest, whose changes are a risk.
func (f *frame) addObjects(c *change, before, after []byte, isComparable bool) {
	isManifest := isObject.Match(before) || isObject.Match(after)
	if isComparable {
		was, wasParsed := parseManifest(c.File, before)
		is, isParsed := parseManifest(c.File, after)
		if wasParsed && isParsed {
			c.Objects = compare.New(f.repository.Kinds(), "", compare.Input{Objects: was}, compare.Input{Objects: is})
			isManifest = len(c.Objects.Changes) > 0
		}
	}
	if isManifest && c.rank > rankManifest && isBeside(c.File) {
		c.Risk = maySync
		c.rank = rankManifest
	}
}

// hasNoObject reports whether no document of a file is an object, though fields below may have some, as values of a
// chart do, or configuration of a program.
func hasNoObject(content []byte) bool {
	for _, document := range source.Documents(content) {
		var value any
		if err := yaml.Unmarshal(document, &value); err != nil {
			return !isObject.Match(content)
		}
		fields, _ := value.(map[string]any)
		if fields["apiVersion"] != nil && fields["kind"] != nil {
			return false
		}
	}
	return true
}

// parseManifest returns the objects of a file. It reports false if some are unreadable. Items of a list of one kind,
// such as a SecretList, are of that kind where they have none, as kustomize and kubectl read them.
func parseManifest(name string, content []byte) (objects []manifest.Object, isParsed bool) {
	if !bytes.Contains(content, []byte("apiVersion")) && !bytes.Contains(content, []byte(`\`)) {
		return nil, true // no key is escaped
	}
	parsed, problems := tree.Objects("", []tree.File{{Path: "-", Content: content}})
	if len(problems) > 0 {
		return nil, hasNoObject(content)
	}
	for _, o := range parsed {
		list, _ := o.ToList()
		if !o.IsList() {
			list.Items = append(list.Items, *o.Unstructured)
		}
		for i := range list.Items {
			if item := &list.Items[i]; item.GetKind() == "" {
				item.SetAPIVersion(o.GetAPIVersion())
				item.SetKind(strings.TrimSuffix(o.GetKind(), "List"))
			}
			isParsed = isParsed || list.Items[i].GetAPIVersion() != ""
			objects = append(objects, manifest.Object{Unstructured: &list.Items[i], File: name})
		}
	}
	return objects, isParsed
}
