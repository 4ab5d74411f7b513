package application

import (
	"fmt"
	"strings"

	"github.com/itchyny/gojq"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// Refused returns the first problem that keeps Argo CD from syncing an Application: see ValidatePermissions and
// GetDestinationServer in util/argo/argo.go.
func (a Application) Refused() []manifest.Problem {
	field, message := a.refusal()
	if field == "" {
		return nil
	}
	return []manifest.Problem{manifest.NewProblem(a.Of, field, manifest.Value{},
		fmt.Sprintf("%s: %s", field, message)).As(manifest.NotFollowed)}
}

// refusal returns the field that Argo CD refuses, and why, or nothing.
func (a Application) refusal() (field, message string) {
	if !a.isRead {
		return "", ""
	}
	for _, s := range a.Sources {
		if s.RepoURL == "" { // its definition refuses that
			return "", ""
		}
		if missing := s.missing(); missing != "" {
			return s.Field, missing
		}
		if field, message = s.unknownRef(); field != "" {
			return field, message
		}
	}
	if field, message = a.unreadable(); field != "" {
		return field, message
	}
	switch {
	case !a.hasDestination: // its definition refuses that
		return "", ""
	case len(a.Sources) == 0:
		return "spec.source", "is missing, and Argo CD refuses an Application without a source: write its " +
			"repoURL and path"
	case a.Name != "" && a.Server != "":
		return "spec.destination.name", fmt.Sprintf("the destination has the name %s and the server %s, and Argo CD "+
			"refuses both: remove one of them", a.Name, a.Server)
	case a.Name == "" && a.Server == "":
		return "spec.destination", "has neither a server nor a name, and Argo CD refuses that: write server: " +
			delivery.InCluster
	}
	return "", ""
}

// missing returns the refusal of a source that lacks a field, or nothing.
func (s Source) missing() string {
	switch {
	case s.Chart != "" && s.TargetRevision == "":
		return "Argo CD refuses a chart without a targetRevision: write its version"
	case s.IsHydrated(), s.Path != "", s.Chart != "":
		return ""
	case s.Nth < 0:
		return "has neither a path nor a chart, and Argo CD refuses that: write one, . for the whole repository"
	case s.Ref == "":
		return "has neither a path nor a chart nor a ref, and Argo CD refuses that: write one"
	}
	return ""
}

// unknownRef returns the field of a file in a source of an Application with several that has no such source, and the
// refusal: see resolveReferencedSources in reposerver/repository/repository.go.
func (s Source) unknownRef() (field, message string) {
	if s.Nth < 0 || s.Helm == nil {
		return "", ""
	}
	check := func(file, in string) {
		ref, _, _ := strings.Cut(file, "/")
		of, isRef := s.Refs[ref]
		switch {
		case field != "" || !strings.HasPrefix(file, "$") || isRef && of.Chart == "":
			return
		case isRef:
			message = fmt.Sprintf("the source with ref %s has a chart, and Argo CD takes no files of one: write a "+
				"repository of git there", of.Ref)
		default:
			message = fmt.Sprintf("no source has ref: %s, and Argo CD refuses that: add it to one", ref[1:])
		}
		field = in
	}
	for i, file := range s.Helm.ValueFiles {
		check(file, fmt.Sprintf("%s.helm.valueFiles[%d]", s.Field, i))
	}
	for i, p := range s.Helm.FileParameters {
		check(p.Path, fmt.Sprintf("%s.helm.fileParameters[%d].path", s.Field, i))
	}
	return field, message
}

// unreadable returns the first expression of jq that Argo CD cannot read, so that it compares no object: see
// NewIgnoreNormalizer in util/argo/normalizers/diff_normalizer.go.
func (a Application) unreadable() (field, message string) {
	for i, expressions := range a.ignored {
		for j, expression := range expressions {
			if _, err := gojq.Parse("del(" + expression + ")"); err != nil {
				return fmt.Sprintf("spec.ignoreDifferences[%d].jqPathExpressions[%d]", i, j), fmt.Sprintf(
					"Argo CD cannot read %s, and compares no object of the Application: %v", expression, err)
			}
		}
	}
	return "", ""
}
