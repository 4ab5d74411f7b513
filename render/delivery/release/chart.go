package release

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
)

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
			IsUpgrade: r.IsUpgrade, HasCluster: r.UpgradeCRDs != ""},
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
	made.TakesLast = r.application != nil // otherwise helm-controller adds labels to all objects, by kustomize
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
	objectOf := manifest.FromYAML
	if made.TakesLast {
		objectOf = manifest.FromYAML11
	}
	for _, d := range documents {
		o, err := objectOf(d.Node())
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
	if r.application == nil {
		if err := refusal(others); err != nil {
			return err
		}
	}
	for n, p := range r.PostRenderers {
		built, err := kustomize.PostRender(i.Sources, p, others)
		if err != nil {
			return fmt.Errorf("postRenderers: %w", err)
		}
		for _, idle := range kustomize.IdlePostRender(i.Sources, p, others, built) {
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

// refusal returns the reason why helm-controller installs none of some objects: its post-renderers, such as the one for
// its labels, read them as kustomize does (internal/postrender/transformer.go).
func refusal(objects []manifest.Object) error {
	first := map[kustomize.NamedID]manifest.Object{}
	for _, o := range objects {
		id := kustomize.IDOf(o)
		other, isRepeated := first[id]
		switch {
		case isRepeated:
			return fmt.Errorf("%s: makes %s twice, also at %s, and helm-controller installs nothing of it: remove "+
				"one", o.Origin, o, other.Origin)
		case o.GetName() == "":
			return fmt.Errorf("%s: makes a %s without metadata.name, and helm-controller installs nothing of it: "+
				"write one or, for a hook, spec.postRenderStrategy: nohooks in the HelmRelease", o.Origin, o.GetKind())
		}
		first[id] = o
	}
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
