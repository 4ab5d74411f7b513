package warn

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
)

// project has the fields of an AppProject that admit Applications and their objects.
type project struct {
	SourceRepos      []string
	SourceNamespaces []string
	Destinations     []destination

	ClusterResourceWhitelist, ClusterResourceBlacklist     []admittedKind
	NamespaceResourceWhitelist, NamespaceResourceBlacklist []admittedKind
}

// admittedKind has patterns of objects.
type admittedKind struct{ Group, Kind, Name string }

// destination is where an Application goes, or the patterns of it in an AppProject.
type destination struct{ Name, Server, Namespace string }

// refusedApplications warns of Applications whose AppProject does not admit their destination or repository:
// Argo CD syncs nothing of them. See ValidatePermissions in util/argo/argo.go of Argo CD.
func refusedApplications(in Input) (warnings []manifest.Problem) {
	projects := in.projects()
	for _, o := range in.Objects {
		warnings = append(warnings, in.missingProject(o)...)
		p, of, isKnown := projects(o)
		if !isKnown {
			continue
		}
		say := func(at []string, field, what, list string) {
			if field != "" {
				warnings = append(warnings, warningAt(o, append(at, field),
					"%s does not admit this %s, so Argo CD does not sync it: add it to spec.%s there, or correct it",
					of, what, list))
			}
		}
		references.Visit(o.Object, []string{"spec", "destination"}, nil, func(to map[string]any, at []string) {
			say(at, p.refusesDestination(to), "destination", "destinations")
		})
		admitSource := func(s map[string]any, at []string) {
			say(at, p.refusesSource(s), "repository", "sourceRepos")
		}
		references.Visit(o.Object, []string{"spec", "source|sources"}, nil, admitSource)
		references.Visit(o.Object, []string{"spec", "sourceHydrator", "drySource"}, nil, admitSource)
		if namespace := o.GetNamespace(); namespace != of.GetNamespace() && !p.admitsNamespace(namespace) {
			say([]string{"metadata"}, "namespace", "namespace of an Application", "sourceNamespaces")
		}
		options, _ := decoding.At(o.Object, []string{"spec", "syncPolicy", "syncOptions"}).([]any)
		_, isMissing := p.refusesKind(schema.GroupKind{Kind: "Namespace"}, "", false)
		if slices.Contains(options, any("CreateNamespace=true")) && isMissing {
			warnings = append(warnings, warning(o, "spec.syncPolicy.syncOptions", "%s does not admit a Namespace, so "+
				"Argo CD does not create one by CreateNamespace=true: add it to spec.clusterResourceWhitelist there",
				of))
		}
	}
	return append(warnings, in.refusedObjects(projects)...)
}

// missingProject warns of an Application whose AppProject is not here while others are. Another rule warns of a similar
// name.
func (in Input) missingProject(o manifest.Object) []manifest.Problem {
	id := manifest.ID{Group: "argoproj.io", Kind: "AppProject", Namespace: o.GetNamespace()}
	id.Name, _ = decoding.At(o.Object, []string{"spec", "project"}).(string)
	isProject := func(o manifest.Object) bool {
		return o.GetKind() == id.Kind && manifest.Group(o.GetAPIVersion()) == id.Group
	}
	if !delivery.IsApplication(o) || id.Name == "" || hasVariable(id.Name) || len(in.projectsOf(o)) > 0 ||
		in.index.Has(id) || in.Elsewhere.Has(id) || in.index.Similar(id) != "" ||
		!slices.ContainsFunc(in.Objects, isProject) {
		return nil
	}
	return []manifest.Problem{warning(o, "spec.project", "there is no %s here, while other projects are, and without "+
		"it Argo CD syncs nothing of the Application: add it, %s", id, in.orAnnotate(id))}
}

// projectsOf returns the AppProjects that may be the one of an Application: in its namespace, or else in any, as Argo
// CD may have Applications in other namespaces than its own.
func (in Input) projectsOf(o manifest.Object) (found []manifest.Object) {
	id := manifest.ID{Group: "argoproj.io", Kind: "AppProject", Namespace: o.GetNamespace()}
	id.Name, _ = decoding.At(o.Object, []string{"spec", "project"}).(string)
	if found = in.index.Find(id); len(found) > 0 {
		return found
	}
	id.Namespace = ""
	return in.index.Find(id)
}

// projectOf finds the AppProject of an Application, if it is known.
type projectOf func(o manifest.Object) (p project, of manifest.Object, isKnown bool)

func (in Input) projects() projectOf {
	hasGlobalProjects := sync.OnceValue(in.hasGlobalProjects)
	return func(o manifest.Object) (p project, of manifest.Object, isKnown bool) {
		if !delivery.IsApplication(o) {
			return p, of, false
		}
		found := in.projectsOf(o)
		if len(found) != 1 || manifest.Decode(found[0].Object["spec"], &p) != nil || hasGlobalProjects() {
			return p, of, false
		}
		return p, found[0], true
	}
}

// refusedObjects warns of objects that the AppProject of their Application does not admit, once for each kind or
// namespace of an Application: the sync fails. See validateSyncPermissions in controller/sync.go of Argo CD.
func (in Input) refusedObjects(projects projectOf) (all []manifest.Problem) {
	isSaid := map[string]bool{}
	for _, o := range slices.Concat(in.Objects, in.Installed) {
		if o.Delivery == nil {
			continue
		}
		by := o.Delivery.Object()
		isNamespaced, isKind := in.IsNamespaced(o.GroupVersionKind())
		p, of, isKnown := projects(by)
		if !isKnown || !isKind {
			continue
		}
		gk := o.GroupVersionKind().GroupKind()
		to := application.Read(by).Destination
		namespace := o.GetNamespace()
		list, isRefused := p.refusesKind(gk, o.GetName(), isNamespaced)
		what := "kind " + gk.String()
		field := "kind"
		if !isRefused && isNamespaced && namespace != "" && namespace != to.Namespace {
			list = "destinations"
			what = "namespace " + namespace
			field = "metadata.namespace"
			isRefused = p.refusesDestination(map[string]any{"name": to.Name, "server": to.Server,
				"namespace": namespace}) != ""
		}
		if key := by.ID().String() + what; isRefused && !isSaid[key] {
			isSaid[key] = true
			remedy := "add it to"
			if strings.HasSuffix(list, "Blacklist") {
				remedy = "remove it from"
			}
			all = append(all, warning(o, field, "%s does not admit %s, so the sync of %s fails: %s spec.%s there", of,
				what, by, remedy, list).Because(of.String()+" "+list))
		}
	}
	return all
}

// refusesKind reports whether a project does not admit an object of a kind, and the list that decides. Without a name
// it is any object. See IsGroupKindNamePermitted in pkg/apis/application/v1alpha1/app_project_types.go of Argo CD.
func (p project) refusesKind(gk schema.GroupKind, name string, isNamespaced bool) (list string, isRefused bool) {
	has := func(items []admittedKind) bool {
		return slices.ContainsFunc(items, func(item admittedKind) bool {
			matches := func(pattern, text string) bool {
				ok, err := path.Match(pattern, text)
				return ok && err == nil
			}
			return matches(item.Kind, gk.Kind) && matches(item.Group, gk.Group) &&
				(isNamespaced || item.Name == "" || name != "" && matches(item.Name, name))
		})
	}
	switch {
	case isNamespaced && has(p.NamespaceResourceBlacklist):
		return "namespaceResourceBlacklist", true
	case isNamespaced:
		return "namespaceResourceWhitelist", p.NamespaceResourceWhitelist != nil && !has(p.NamespaceResourceWhitelist)
	case has(p.ClusterResourceBlacklist):
		return "clusterResourceBlacklist", true
	}
	return "clusterResourceWhitelist", !has(p.ClusterResourceWhitelist)
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
		name := matchOf(item.Name, d.Name)
		server := matchOf(item.Server, d.Server)
		isNamespace := matches(item.Namespace, d.Namespace)
		isCluster := name != never || server != never
		if isCluster && !isNamespace {
			field = "namespace"
		}
		switch {
		case name == never && isDeny(item.Name), server == never && isDeny(item.Server) && isNamespace,
			server == always && !isNamespace && isDeny(item.Namespace):
			return field
		}
		isAdmitted = isAdmitted || isCluster && isNamespace
	}
	if isAdmitted {
		return ""
	}
	return field
}

// match tells whether a pattern matches the name or the server of a cluster; one of them may be unknown.
type match int

const (
	never match = iota
	perhaps
	always
)

func matchOf(pattern, text string) match {
	switch {
	case text == "" && pattern != "":
		return perhaps
	case text != "" && matches(pattern, text):
		return always
	}
	return never
}

// isDeny reports whether a pattern excludes what it does not match.
func isDeny(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// admitsNamespace reports whether Applications in another namespace than Argo CD's may be in the project. A
// pattern between slashes is a regular expression (IsAppNamespacePermitted there, MatchStringInList in util/glob).
func (p project) admitsNamespace(namespace string) bool {
	return slices.ContainsFunc(p.SourceNamespaces, func(pattern string) bool {
		if len(pattern) > 1 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
			expression, err := regexp.Compile(pattern[1 : len(pattern)-1])
			return err != nil || expression.MatchString(namespace) // Argo CD has a library that knows more
		}
		return matches(pattern, namespace)
	})
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
