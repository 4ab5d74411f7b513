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

// findJudge finds the judge of an environment before the change, and the changed definitions.
func (b *previousRendering) findJudge(ctx context.Context, now *render.Environment, one compared) (before judge,
	changed []compare.Change, err error) {
	definitions, hasJudge := now.Definitions()
	renderedFor, isRendered, err := b.renderedFor(one.Name)
	if !hasJudge || !isRendered || err != nil {
		return before, changed, err
	}
	newest := slices.Max(render.KubernetesVersions())
	if v := cmp.Or(renderedFor, newest); v != now.Kubernetes() && render.CheckKubernetes(v) == nil {
		before.kubernetes = v
	}
	for _, u := range now.Unchecked() {
		before.unchecked = append(before.unchecked, u.GroupKind())
	}
	current := map[string]manifest.Object{}
	for _, o := range definitions {
		current[o.GetName()] = o
	}
	isListed := map[string]bool{}
	for _, c := range one.Changes {
		if crd.Is(c.Object().Unstructured) {
			isListed[c.Object().GetName()] = true
		}
	}
	was, err := b.definitions(ctx, now, one)
	for _, o := range was {
		c := compare.Change{Before: o.Unstructured, BeforeFile: o.File}
		if is, stays := current[o.GetName()]; stays {
			c.After = render.WithoutStatus(is).Unstructured
			c.AfterFile = cmp.Or(is.File, is.Origin)
			if compare.Equal(c.Before, c.After) {
				continue
			}
			before.definitions = append(before.definitions, o)
		}
		if !isListed[o.GetName()] {
			changed = append(changed, c)
		}
	}
	return before, changed, err
}

// definitions returns the CustomResourceDefinitions of an environment of the commit that may differ from the
// current ones.
func (b *previousRendering) definitions(ctx context.Context, now *render.Environment,
	one compared) (all []manifest.Object, err error) {
	isKnown := map[string]bool{}
	for _, o := range one.Unchanged {
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
	for _, c := range one.Changes {
		if c.Before != nil {
			add([]manifest.Object{{Unstructured: c.Before, File: c.BeforeFile}})
		}
	}
	if one.Checker == nil { // it does not render
		files, _, err := b.readChanged(ctx, one.Name, nil)
		if err != nil {
			return nil, err
		}
		objects, _ := b.parse(one.Name, files)
		installed, _ := b.installed(now, objects)
		add(objects)
		for _, r := range installed {
			add(r.Applied())
		}
	}
	files, err := b.definitionFiles(ctx, one.Name)
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

// judge returns the comparisons, with the verdicts of the judges before and after the change. Objects without a
// definition are judged by a changed definition of another environment.
func (b *previousRendering) judge(all []compared, progress func(environment, step string)) []*compare.Comparison {
	changed := map[schema.GroupKind]compare.Change{}
	for _, one := range all {
		for _, c := range slices.Concat(one.Definitions, one.Changes) {
			if c.Before != nil && c.After != nil && crd.Is(c.After) {
				changed[crd.Kind(c.After)] = c
			}
		}
	}
	judged := make([]*compare.Comparison, len(all))
	for i, one := range all {
		before := one.judge.definitions
		var after []manifest.Object
		for _, kind := range one.judge.unchecked {
			if c, ok := changed[kind]; ok {
				before = append(before, manifest.Object{Unstructured: c.Before})
				after = append(after, manifest.Object{Unstructured: c.After})
			}
		}
		if len(before) > 0 || one.judge.kubernetes != "" {
			options := render.LoadOptions{Memo: &memo.Memo{}, // both verdicts are on the same objects
				Progress: func(step string) { progress(one.Name, step) }}
			options.By = &render.By{Kubernetes: one.judge.kubernetes, Definitions: before}
			was := b.repository.Judge(one.Name, options)
			options.By = &render.By{Definitions: after}
			is := b.repository.Judge(one.Name, options)
			if one.Checker == nil { // it does not render
				for _, o := range is.Judged() {
					one.Unchanged = append(one.Unchanged, o.Unstructured)
				}
			}
			one.Verdicts = compare.OfVerdicts(was, is)
			one.Checker = is.Checker()
		}
		judged[i] = one.With(one.Facts)
	}
	return judged
}
