package warn

import (
	"slices"
	"strings"
	"sync"

	"github.com/gobwas/glob"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
)

// project has the fields of an AppProject that admit Applications.
type project struct {
	SourceRepos  []string
	Destinations []destination
}

// destination is where an Application goes, or the patterns of it in an AppProject.
type destination struct{ Name, Server, Namespace string }

// refusedApplications warns of Applications whose AppProject does not admit their destination or repository:
// Argo CD syncs nothing of them. See ValidatePermissions in util/argo/argo.go of Argo CD.
func refusedApplications(in Input) (warnings []manifest.Problem) {
	hasGlobalProjects := sync.OnceValue(in.hasGlobalProjects)
	for _, o := range in.Objects {
		if !delivery.IsApplication(o) {
			continue
		}
		name, _ := decoding.At(o.Object, []string{"spec", "project"}).(string)
		found := in.index.Find(manifest.ID{Group: "argoproj.io", Kind: "AppProject", Namespace: o.GetNamespace(),
			Name: name})
		var p project
		if len(found) != 1 || manifest.Decode(found[0].Object["spec"], &p) != nil || hasGlobalProjects() {
			continue
		}
		say := func(at []string, field, what, list string) {
			if field != "" {
				warnings = append(warnings, warningAt(o, append(at, field),
					"%s does not admit this %s, so Argo CD does not sync it: add it to spec.%s there, or correct it",
					found[0], what, list))
			}
		}
		references.Visit(o.Object, []string{"spec", "destination"}, nil, func(to map[string]any, at []string) {
			say(at, p.refusesDestination(to), "destination", "destinations")
		})
		references.Visit(o.Object, []string{"spec", "source|sources"}, nil, func(s map[string]any, at []string) {
			say(at, p.refusesSource(s), "repository", "sourceRepos")
		})
	}
	return warnings
}

// hasGlobalProjects reports whether the settings of Argo CD may extend projects by others.
func (in Input) hasGlobalProjects() bool {
	return slices.ContainsFunc(in.Objects, func(o manifest.Object) bool {
		return manifest.Contains(o.Object, func(key string, _ any) bool { return key == "globalProjects" })
	})
}

// hasVariable reports whether a tool replaces a part of a text.
func hasVariable(text string) bool {
	return strings.Contains(text, "$") || strings.Contains(text, "{{")
}

// refusesDestination returns the field of a destination that a project surely does not admit, or "". See
// isDestinationMatched in pkg/apis/application/v1alpha1/app_project_types.go of Argo CD. A Secret tells the name of a
// server.
func (p project) refusesDestination(mapping map[string]any) (field string) {
	var d destination
	if manifest.Decode(mapping, &d) != nil || hasVariable(d.Name+d.Server+d.Namespace) {
		return ""
	}
	field = "server"
	if d.Server == "" {
		field = "name"
	}
	if delivery.IsInCluster(d.Name, d.Server) {
		d.Server = delivery.InCluster
	}
	return p.refusedField(d, field)
}

// refusedField returns the field of a destination that the project does not admit, by default the given one.
func (p project) refusedField(d destination, field string) string {
	isAdmitted := false
	for _, item := range p.Destinations {
		isServer, isCluster := item.admitsCluster(d)
		isNamespace := matches(item.Namespace, d.Namespace)
		if isCluster && !isNamespace {
			field = "namespace"
		}
		if d.Server != "" && item.denies(isServer, isNamespace) {
			return field
		}
		isAdmitted = isAdmitted || isCluster && isNamespace
	}
	if isAdmitted {
		return ""
	}
	return field
}

// admitsCluster reports whether patterns match the server of a destination, and whether they match its cluster, or may
// match it.
func (d destination) admitsCluster(to destination) (isServer, isCluster bool) {
	isServer = to.Server != "" && matches(d.Server, to.Server)
	isUnknown := to.Name == "" && d.Name != "" || to.Server == "" && d.Server != ""
	return isServer, isServer || isUnknown || to.Name != "" && matches(d.Name, to.Name)
}

// denies reports whether a pattern with ! excludes a destination.
func (d destination) denies(isServer, isNamespace bool) bool {
	return isServer && !isNamespace && strings.HasPrefix(d.Namespace, "!") ||
		!isServer && isNamespace && strings.HasPrefix(d.Server, "!")
}

// refusesSource returns the field of a source with a repository that a project does not admit, or "". See
// IsSourcePermitted there.
func (p project) refusesSource(mapping map[string]any) string {
	repository, _ := mapping["repoURL"].(string)
	isAdmitted := false
	for _, pattern := range p.SourceRepos {
		rest, isDenied := strings.CutPrefix(pattern, "!")
		pattern = application.NormalizeURL(rest)
		if isDenied {
			pattern = "!" + pattern
		}
		isMatched := matches(pattern, application.NormalizeURL(repository), '/')
		if isDenied && !isMatched {
			return "repoURL"
		}
		isAdmitted = isAdmitted || isMatched
	}
	if isAdmitted || repository == "" || hasVariable(repository) {
		return ""
	}
	return "repoURL"
}

// matches is globMatch of Argo CD.
func matches(pattern, text string, separators ...rune) bool {
	pattern, isDenied := strings.CutPrefix(pattern, "!")
	if pattern == "*" {
		return !isDenied
	}
	compiled, err := glob.Compile(pattern, separators...)
	return (err == nil && compiled.Match(text)) != isDenied
}
