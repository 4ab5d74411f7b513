package application

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
)

// Expanded is a text with the variables of the build environment.
type Expanded struct {
	Text string
	// Unset are the variables that Argo CD does not set, and takes out of the text.
	Unset []string
	// Unknown reports whether a variable has the commit, which is not known before the sync.
	Unknown bool
}

// Expand replaces the variables of a text as Envsubst in pkg/apis/application/v1alpha1/types.go does, with the
// environment of newEnv in reposerver/repository/repository.go. An Application is taken for one in the namespace of
// Argo CD.
func (s Source) Expand(text string) (e Expanded) {
	known := map[string]string{
		"ARGOCD_APP_NAME":                   s.of.Of.GetName(),
		"ARGOCD_APP_NAMESPACE":              s.of.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           cmp.Or(s.of.Project, "default"),
		"ARGOCD_APP_SOURCE_REPO_URL":        s.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            s.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": s.TargetRevision,
	}
	e.Text = os.Expand(text, func(name string) string {
		value, isKnown := known[name]
		switch {
		case name == "$": // an escaped one
			return name
		case strings.HasPrefix(name, "ARGOCD_APP_REVISION"):
			e.Unknown = true
		case !isKnown && !slices.Contains(e.Unset, name):
			e.Unset = append(e.Unset, name)
		}
		return value
	})
	return e
}

// substituted returns the source with the variables in the fields of kustomize that Argo CD expands: see Build in
// util/kustomize/kustomize.go. An image whose name or tag has the commit is left out.
func (s Source) substituted() Source {
	if s.Kustomize == nil {
		return s
	}
	k := *s.Kustomize
	k.Images = nil
	for _, image := range s.Kustomize.Images {
		isUnknown := false
		for _, text := range []*string{&image.Name, &image.NewName, &image.NewTag, &image.Digest} {
			expanded := s.Expand(*text)
			*text = expanded.Text
			isUnknown = isUnknown || expanded.Unknown
		}
		if isUnknown {
			s.Unknown = append(s.Unknown, image.Name)
			continue
		}
		k.Images = append(k.Images, image)
	}
	k.CommonLabels = maps.Clone(k.CommonLabels)
	for name, value := range k.CommonLabels {
		k.CommonLabels[name] = s.Expand(value).Text
	}
	if k.CommonAnnotationsEnvsubst {
		k.CommonAnnotations = maps.Clone(k.CommonAnnotations)
		for name, value := range k.CommonAnnotations {
			k.CommonAnnotations[name] = s.Expand(value).Text
		}
	}
	s.Kustomize = &k
	return s
}
