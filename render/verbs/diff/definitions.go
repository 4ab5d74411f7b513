package diff

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// judge is the judge of an environment before a change.
type judge struct {
	kubernetes  string            // empty without a change
	definitions []manifest.Object // that are others after the change
	unchecked   []schema.GroupKind
}

// findJudge finds the judge of an environment before the change, and adds its changed definitions to the comparison.
func (b *previousRendering) findJudge(ctx context.Context, now *render.Environment,
	both *compare.Comparison) (before judge, err error) {
	definitions, hasJudge := now.Definitions()
	renderedFor, isRendered, err := b.renderedFor(both.Name)
	if !hasJudge || !isRendered || err != nil {
		return before, err
	}
	newest := slices.Max(render.KubernetesVersions())
	if v := cmp.Or(renderedFor, newest); v != now.Kubernetes() && render.CheckKubernetes(v) == nil {
		before.kubernetes = v
	}
	for _, u := range now.Unchecked() {
		before.unchecked = append(before.unchecked, u.GroupKind())
	}
	current, isListed := map[string]manifest.Object{}, map[string]bool{}
	for _, o := range definitions {
		current[o.GetName()] = o
	}
	for _, c := range both.Changes {
		if crd.Is(c.Object().Unstructured) {
			isListed[c.Object().GetName()] = true
		}
	}
	was, err := b.definitions(ctx, now, both)
	for _, o := range was {
		c := compare.Change{Before: o.Unstructured, BeforeFile: o.File}
		if is, stays := current[o.GetName()]; stays {
			c.After, c.AfterFile = render.WithoutStatus(is).Unstructured, cmp.Or(is.File, is.Origin)
			if compare.Equal(c.Before, c.After) {
				continue
			}
			before.definitions = append(before.definitions, o)
		}
		if !isListed[o.GetName()] {
			both.Definitions = append(both.Definitions, c)
		}
	}
	return before, err
}

// definitions returns the CustomResourceDefinitions of an environment of the commit that may differ from the
// current ones.
func (b *previousRendering) definitions(ctx context.Context, now *render.Environment,
	e *compare.Comparison) (all []manifest.Object, err error) {
	isKnown := map[string]bool{}
	for _, o := range e.Unchanged {
		isKnown[o.GetName()] = isKnown[o.GetName()] || crd.Is(o)
	}
	add := func(objects []manifest.Object) {
		for _, o := range objects {
			if crd.Is(o.Unstructured) && !isKnown[o.GetName()] {
				isKnown[o.GetName()] = true
				all = append(all, render.WithoutStatus(o))
			}
		}
	}
	for _, c := range e.Changes {
		if c.Before != nil {
			add([]manifest.Object{{Unstructured: c.Before, File: c.BeforeFile}})
		}
	}
	if e.Checker == nil { // it does not render
		files, _, err := b.readChanged(ctx, e.Name, nil)
		if err != nil {
			return nil, err
		}
		objects, _ := b.parse(e.Name, files)
		installed, _ := b.installed(now, objects)
		add(objects)
		for _, r := range installed {
			add(r.Objects)
		}
	}
	files, err := b.definitionFiles(ctx, e.Name)
	add(files)
	return all, err
}

// definitionFiles returns the CustomResourceDefinitions in the folders of definitions for an environment, its own
// first, if the change has a file there.
func (b *previousRendering) definitionFiles(ctx context.Context, environment string) (all []manifest.Object,
	err error) {
	folders := render.DefinitionFolders(environment)
	if !slices.ContainsFunc(b.changed, func(c git.FileChange) bool {
		return slices.ContainsFunc(folders, func(folder string) bool {
			return path.Join(b.git.Prefix(), folder) == path.Dir(c.Path)
		})
	}) {
		return nil, nil
	}
	files := maps.Clone(b.files)
	place := func(name string) int { return slices.Index(folders, path.Dir(name)) }
	maps.DeleteFunc(files, func(name string, _ git.File) bool { return place(name) < 0 })
	contents, err := b.git.ReadFiles(ctx, files)
	inOrder := func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(contents), inOrder) {
		parsed, _ := tree.Objects("", []tree.File{{Path: path.Base(name), Content: contents[name]}})
		for _, o := range parsed {
			list, _ := o.ToList()
			if !o.IsList() {
				list.Items = []unstructured.Unstructured{*o.Unstructured}
			}
			for j := range list.Items {
				all = append(all, manifest.Object{Unstructured: &list.Items[j], File: name})
			}
		}
	}
	return all, err
}

// compareVerdicts adds the verdicts of the judges before and after the change to comparisons. Objects without a
// definition are judged by a changed definition of another environment.
func (b *previousRendering) compareVerdicts(environments []*compare.Comparison, judges []judge,
	progress func(environment, step string)) {
	changed := map[schema.GroupKind]compare.Change{}
	for _, both := range environments {
		for _, c := range slices.Concat(both.Definitions, both.Changes) {
			if c.Before != nil && c.After != nil && crd.Is(c.After) {
				changed[crd.Kind(c.After)] = c
			}
		}
	}
	for i, both := range environments {
		before, after := judges[i].definitions, []manifest.Object(nil)
		for _, kind := range judges[i].unchecked {
			if c, ok := changed[kind]; ok {
				before, after = append(before, manifest.Object{Unstructured: c.Before}),
					append(after, manifest.Object{Unstructured: c.After})
			}
		}
		if len(before) == 0 && judges[i].kubernetes == "" {
			continue
		}
		repository := b.repository.Again(&memo.Memo{}) // both verdicts are on the same objects
		step := func(step string) { progress(both.Name, step) }
		was := repository.Judge(both.Name, &render.By{Kubernetes: judges[i].kubernetes, Definitions: before}, step)
		is := repository.Judge(both.Name, &render.By{Definitions: after}, step)
		isFailed := both.Checker == nil
		both.Verdicts, both.Checker = compare.OfVerdicts(was, is), is.Checker()
		if isFailed {
			for _, o := range is.Judged() {
				both.Unchanged = append(both.Unchanged, o.Unstructured)
			}
		}
	}
}
