package release

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// helmRelease has the fields of a HelmRelease that select its objects. Their names do not depend on case.
type helmRelease struct {
	Chart                        *struct{ Spec chartTemplate }
	ChartRef                     reference
	KubeConfig                   map[string]any
	Suspend                      bool
	ReleaseName, TargetNamespace string
	Values                       map[string]any
	ValuesFrom                   []valuesReference
	PostRenderers                []struct{ Kustomize map[string]any }
	PostRenderStrategy           string
	CommonMetadata               delivery.Metadata
	Install                      struct {
		CRDs                              string
		SkipCRDs, DisableSchemaValidation bool
	}
	Upgrade struct{ CRDs string }
}

type valuesReference struct {
	Kind, Name, ValuesKey, TargetPath string
	Literal, Optional                 bool
}

// chartTemplate is spec.chart.spec of a HelmRelease, and spec of a HelmChart.
type chartTemplate struct {
	Chart, Version string
	SourceRef      reference
	ValuesFiles    []string
	// IgnoreMissingValuesFiles is about ValuesFiles.
	IgnoreMissingValuesFiles bool
}

type reference struct{ Kind, Name, Namespace string }

// ofHelmRelease returns the release of a HelmRelease.
func (in index) ofHelmRelease(o manifest.Object) []Release {
	spec := specOf[helmRelease](o)
	r := Release{
		Source: o, valuesField: "spec.values", filesField: "spec.chart.spec.valuesFiles[0]",
		Values:      map[string]any{},
		Name:        shorten(cmp.Or(spec.ReleaseName, strings.TrimPrefix(spec.TargetNamespace+"-"+o.GetName(), "-"))),
		Namespace:   cmp.Or(spec.TargetNamespace, o.NamespaceOrDefault()),
		SkipCRDs:    spec.Install.CRDs == "Skip" || spec.Install.SkipCRDs,
		SkipSchemas: spec.Install.DisableSchemaValidation, UpgradeCRDs: cmp.Or(spec.Upgrade.CRDs, "Skip"),
	}
	r.Origin = map[string]string{helmGroup + "/name": o.GetName(), helmGroup + "/namespace": o.NamespaceOrDefault()}
	r.Metadata = spec.CommonMetadata
	r.KeepsHooks = spec.PostRenderStrategy == "nohooks"
	r.IsSuspended = spec.Suspend
	if spec.KubeConfig != nil {
		r.Unjudged = "spec.kubeConfig installs it in another cluster"
	}
	ref := spec.ChartRef
	ref.Namespace = cmp.Or(ref.Namespace, o.NamespaceOrDefault())
	switch chart := in[sourceID(ref)]; {
	case spec.Chart != nil:
		spec.Chart.Spec.SourceRef.Namespace = cmp.Or(spec.Chart.Spec.SourceRef.Namespace, o.NamespaceOrDefault())
		in.setChart(&r, spec.Chart.Spec)
	case ref.Kind == "HelmChart" && chart.Unstructured != nil:
		template := specOf[chartTemplate](chart)
		template.SourceRef.Namespace = ref.Namespace
		in.setChart(&r, template)
	case ref.Kind == "OCIRepository" && chart.Unstructured != nil:
		folder, name := path.Split(strings.TrimRight(textAt(chart, "spec", "url"), "/"))
		r.Chart = name
		r.setRepository(folder)
		r.Filter = textAt(chart, "spec", "ref", "semverFilter")
		r.Manifest = textAt(chart, "spec", "ref", "digest")
		r.IsPlain = valueAt(chart, "spec", "insecure") == true
		r.Version = textAt(chart, "spec", "ref", "semver")
		if r.IsTag = r.Version == ""; r.IsTag {
			r.Version = strings.ReplaceAll(textAt(chart, "spec", "ref", "tag"), "_", "+")
		}
	}
	if r.Chart == "" && r.Folder == "" {
		if ref.Name == "" {
			return nil
		}
		r.Unjudged = cmp.Or(r.Unjudged, fmt.Sprintf("spec.chartRef is %s %s/%s, which is not in this environment",
			ref.Kind, ref.Namespace, ref.Name))
	}
	for _, p := range spec.PostRenderers {
		if p.Kustomize != nil {
			r.PostRenderers = append(r.PostRenderers, map[string]any{"patches": p.Kustomize["patches"],
				"images": p.Kustomize["images"]})
		}
	}
	for _, from := range spec.ValuesFrom {
		in.addValues(&r, from)
	}
	r.add(valueSource{object: o, field: r.valuesField, values: spec.Values})
	r.warnings = append(r.warnings, replaced(o, spec)...)
	return []Release{r}
}

// addNulls adds the nulls of spec.values that are unknown. By a null Helm removes a value of the chart. The API server
// keeps it, but kubectl, and Argo CD by default, applies none that is in a mapping.
func (r *Release) addNulls(isByHand bool) {
	o := r.Source
	isMerged := isByHand
	if o.Delivery != nil {
		isMerged = !delivery.AppliesByServer(o.Unstructured, o.Delivery.Object())
	}
	if !isMerged || !isHelmRelease(o) {
		return
	}
	for _, keys := range nullsIn(nil, valueAt(o, "spec", "values")) {
		field := manifest.JoinField(append([]string{"spec", "values"}, keys...))
		r.Unknown = append(r.Unknown, field+", null, which only server-side apply applies")
		r.unknownField = cmp.Or(r.unknownField, field)
	}
}

// nullsIn returns the keys of the nulls in the mappings of a value, in order, without mappings in lists.
func nullsIn(keys []string, value any) (all [][]string) {
	mapping, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(mapping)) {
		at := append(slices.Clip(keys), key)
		if mapping[key] == nil {
			all = append(all, at)
			continue
		}
		all = append(all, nullsIn(at, mapping[key])...)
	}
	return all
}

// replaced returns warnings of target paths into a list that spec.values sets: Helm merges no lists, and spec.values
// comes last.
func replaced(o manifest.Object, spec helmRelease) (warnings []manifest.Problem) {
	for i, from := range spec.ValuesFrom {
		values := map[string]any{}
		_ = setPath(values, from.TargetPath, "", false) // an error where the value is set
		list := listIn(values)
		if _, isList := decoding.At(spec.Values, list).([]any); list == nil || !isList {
			continue
		}
		p := manifest.NewProblem(o, fmt.Sprintf("spec.valuesFrom[%d].targetPath", i), manifest.Value{},
			fmt.Sprintf("%s has no effect: spec.values sets the list %s, which replaces the whole list: set all of it "+
				"in one place", from.TargetPath, manifest.JoinField(list))).As(manifest.NothingChanged)
		p.Warning = true
		warnings = append(warnings, p)
	}
	return warnings
}

// listIn returns the keys of the first list in values with a single leaf, or nothing.
func listIn(values map[string]any) (keys []string) {
	for len(values) > 0 {
		var value any
		for key := range values {
			keys = append(keys, key)
			value = values[key]
		}
		if _, isList := value.([]any); isList {
			return keys
		}
		values, _ = value.(map[string]any)
	}
	return nil
}

// addValues adds the values that a reference names.
func (in index) addValues(r *Release, from valuesReference) {
	id := manifest.ID{Kind: from.Kind, Namespace: r.Source.NamespaceOrDefault(), Name: from.Name}
	key := cmp.Or(from.ValuesKey, "values.yaml")
	data := textAt(in[id], "data", key)
	source := valueSource{object: in[id], field: manifest.JoinField([]string{"data", key})}
	switch isThere := valueAt(in[id], "data", key) != nil; {
	case from.Kind != "ConfigMap" || !isThere && !from.Optional:
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s of %s", key, id))
	case !isThere:
	case from.TargetPath != "":
		r.addScalar(source, func(values map[string]any) error {
			return setPath(values, from.TargetPath, data, from.Literal)
		})
	default:
		r.addText(source, data)
	}
}

// sourceID returns the ID of the source that a reference names.
func sourceID(ref reference) manifest.ID {
	return manifest.ID{Group: "source.toolkit.fluxcd.io", Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// setChart sets the chart by a template whose source has a namespace. source-controller merges its files of values, and
// they take the place of values.yaml of the chart (internal/helm/chart/builder.go).
func (in index) setChart(r *Release, t chartTemplate) {
	r.FilesAreDefaults = len(t.ValuesFiles) > 0
	r.IgnoreMissing = t.IgnoreMissingValuesFiles
	switch t.SourceRef.Kind {
	case "HelmRepository":
	case "GitRepository", "Bucket":
		r.setFolder(t.Chart)
		r.source = in[sourceID(t.SourceRef)]
		for _, file := range t.ValuesFiles { // from the top of the source
			r.Files = append(r.Files, path.Join("/", file))
		}
		return
	default:
		r.Chart = t.Chart
		r.Unjudged = fmt.Sprintf("source-controller takes no chart from %s %s", t.SourceRef.Kind, t.SourceRef.Name)
		return
	}
	r.Chart = t.Chart
	r.Version = t.Version
	r.Files = t.ValuesFiles
	r.RepositoryID = sourceID(t.SourceRef)
	r.IsPlain = valueAt(in[r.RepositoryID], "spec", "insecure") == true
	r.setRepository(textAt(in[r.RepositoryID], "spec", "url"))
	if within, name := path.Split(t.Chart); within != "" && strings.HasPrefix(r.Repository, "oci://") {
		r.Chart = name
		r.setRepository(r.Repository + "/" + within)
	}
}

// setPath sets the value at a path, as helm-controller does.
func setPath(values map[string]any, path, value string, isLiteral bool) error {
	if isLiteral {
		return strvals.ParseLiteralInto(path+"="+value, values)
	}
	for _, quote := range []string{`'`, `"`} {
		if strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return strvals.ParseIntoString(path+"="+strings.Trim(value, `'"`), values)
		}
	}
	return strvals.ParseInto(path+"="+value, values)
}

// shorten shortens the name of a release, as helm-controller does.
func shorten(name string) string {
	if len(name) <= 53 {
		return name
	}
	return name[:40] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:12]
}

// valueAt returns the value of a field of an object, or nil: also without an object.
func valueAt(o manifest.Object, keys ...string) any {
	if o.Unstructured == nil {
		return nil
	}
	return decoding.At(o.Object, keys)
}

func textAt(o manifest.Object, keys ...string) string {
	text, _ := valueAt(o, keys...).(string)
	return text
}
