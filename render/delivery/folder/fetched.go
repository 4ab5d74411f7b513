package folder

import (
	"cmp"
	"strings"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
)

// SourceOf returns the files that a source of Flux has, or the reason why these are not fetched.
func SourceOf(o manifest.Object) (from fetched.Source, reason string) {
	var spec struct {
		URL, Ignore            string
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
	case spec.Ignore != "" || len(spec.SparseCheckout) > 0:
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

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// GitSourceOf returns the files of a source of an Application in git.
func GitSourceOf(s application.Source) fetched.Source {
	from := fetched.Source{Repository: s.RepoURL, IsGit: true, Version: s.TargetRevision}
	switch {
	case s.TargetRevision == "HEAD":
		from.Version = ""
	case strings.ContainsAny(s.TargetRevision, "^~*<>= "):
		from.Range = s.TargetRevision
		from.Version = ""
	}
	return from
}
