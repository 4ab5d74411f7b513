package folder

import (
	"cmp"
	"path"
	"strings"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
)

// SourceOf returns the files that a source of Flux has, or the reason why these are not fetched.
func SourceOf(o manifest.Object) (from fetched.Source, reason string) {
	var spec struct {
		URL                    string
		Ref                    struct{ Branch, Tag, SemVer, SemverFilter, Name, Commit, Digest string }
		Include, LayerSelector any
		RecurseSubmodules      bool
		Insecure               bool
		SparseCheckout         []string
	}
	if o.Unstructured == nil || manifest.Decode(o.Object["spec"], &spec) != nil {
		return from, "its source is not in this environment"
	}
	from = fetched.Source{Repository: spec.URL, Range: spec.Ref.SemVer}
	switch {
	case len(spec.SparseCheckout) > 0:
		return from, "its source leaves out files"
	case spec.Include != nil || spec.RecurseSubmodules:
		return from, "its source has files of several repositories"
	case spec.LayerSelector != nil:
		return from, "its source selects a layer"
	case o.GetKind() == "OCIRepository":
		from.Filter = spec.Ref.SemverFilter
		from.Manifest = spec.Ref.Digest
		from.IsPlain = spec.Insecure
		from.Version = spec.Ref.Tag
	case o.GetKind() == "GitRepository":
		from.IsGit = true
		from.Version = cmp.Or(spec.Ref.Commit, spec.Ref.Name, prefixed("refs/tags/", spec.Ref.Tag),
			"refs/heads/"+cmp.Or(spec.Ref.Branch, "master"))
		if spec.Ref.Commit != "" || spec.Ref.Name != "" {
			from.Range = ""
		}
	default:
		return from, "its source is a " + o.GetKind()
	}
	if from.Range != "" || from.Manifest != "" {
		from.Version = ""
	}
	return from, ""
}

const ociPrefix = "oci://"

// Top returns the folder that the path of an Application is in: of a chart in a registry, that in its archive. See Push
// in util/oci/client.go of Argo CD.
func Top(files *source.FileSystem, got fetched.Files) string {
	if names, _ := files.List(got.Path); len(names) == 1 && strings.HasPrefix(got.Repository, ociPrefix) {
		below := path.Join(got.Path, names[0])
		if files.Exists(path.Join(below, chartutil.ChartfileName)) {
			return below
		}
	}
	return got.Path
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// SourceOfApplication returns the files of a source of an Application: in git, or of an artifact in a registry.
func SourceOfApplication(s application.Source) fetched.Source {
	from := fetched.Source{Repository: s.RepoURL, IsGit: !strings.HasPrefix(s.RepoURL, ociPrefix),
		Version: s.TargetRevision}
	switch {
	case from.IsGit && s.TargetRevision == "HEAD":
		from.Version = ""
	case !from.IsGit && strings.HasPrefix(s.TargetRevision, "sha256:"):
		from.Manifest = s.TargetRevision
		from.Version = ""
	case strings.ContainsAny(s.TargetRevision, "^~*<>= "):
		from.Range = s.TargetRevision
		from.Version = ""
	}
	return from
}
