package warn

import (
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
)

const rbacGroup = "rbac.authorization.k8s.io"

// verbs are the words of rules that Kubernetes knows. Other servers may have more.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "bind",
	"escalate", "impersonate", "approve", "sign", "attest", "*"}

// podParts are the subresources of Pods.
var podParts = []string{"attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy",
	"resize", "status"}

// unknownResources warns of rules of Roles that grant nothing: the API server compares resources with the plurals of
// kinds, and verbs with its own, letter by letter.
func unknownResources(in Input) (warnings []manifest.Problem) {
	var known map[string][]string
	if in.Resources == nil {
		return nil
	}
	for _, o := range in.sources {
		if o.GroupVersionKind().Group != rbacGroup || !strings.HasSuffix(o.GetKind(), "Role") {
			continue
		}
		if known == nil {
			known = in.Resources()
		}
		references.Visit(o.Object, []string{"rules", ""}, nil, func(rule map[string]any, at []string) {
			groups := texts(rule["apiGroups"])
			for i, text := range texts(rule["resources"]) {
				if said := unknownResource(known, groups, text); said != "" {
					field := append(slices.Clip(at), "resources", fmt.Sprintf("[%d]", i))
					warnings = append(warnings, warningAt(o, field, "%s", said))
				}
			}
			for i, verb := range texts(rule["verbs"]) {
				meant := references.Near(verb, verbs)
				if lower := strings.ToLower(verb); slices.Contains(verbs, lower) {
					meant = lower
				}
				if meant != "" && meant != verb && !slices.Contains(verbs, verb) {
					warnings = append(warnings, warningAt(o, append(slices.Clip(at), "verbs", fmt.Sprintf("[%d]", i)),
						"%s is no verb, so it grants nothing: did you mean %s?", verb, meant))
				}
			}
		})
	}
	return warnings
}

func texts(list any) (all []string) {
	items, _ := list.([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

// unknownResource returns the fault of a resource of some groups that surely grants nothing.
func unknownResource(known map[string][]string, groups []string, text string) string {
	name, below, isBelow := strings.Cut(text, "/")
	if name == "*" || name == "" || strings.Contains(text, "$") {
		return ""
	}
	if said := unknownPodPart(below); said != "" && name == "pods" && slices.Contains(groups, "") {
		return said
	}
	for _, group := range groups {
		if len(known[group]) == 0 || slices.Contains(known[group], name) { // or of a kind without a definition
			return ""
		}
	}
	rest := ""
	if isBelow {
		rest = "/" + below
	}
	for _, group := range groups {
		if meant := resourceLike(name, known[group]); meant != "" {
			return fmt.Sprintf("group %q has no resource %s, so it grants nothing: did you mean %s%s?", group, name,
				meant, rest)
		}
	}
	for _, group := range []string{"", "apps", "batch", "networking.k8s.io", "policy", "autoscaling", rbacGroup} {
		if len(groups) > 0 && slices.Contains(known[group], name) {
			return fmt.Sprintf("is in group %q, and not in %q, so it grants nothing: add that to apiGroups", group,
				strings.Join(groups, ", "))
		}
	}
	return ""
}

// unknownPodPart returns the fault of a subresource of Pods that is like a known one.
func unknownPodPart(part string) string {
	meant := references.Near(part, podParts)
	if meant == "" || slices.Contains(podParts, part) {
		return ""
	}
	return fmt.Sprintf("Pods have no %s, so it grants nothing: did you mean pods/%s?", part, meant)
}

// resourceLike returns the first plural that a name may mean: its singular, in other letters or misspelled.
func resourceLike(name string, plurals []string) string {
	lower := strings.ToLower(name)
	for _, plural := range plurals {
		if isSingular(lower, plural) || lower == plural || references.Misspelled(name, []string{plural}) != "" {
			return plural
		}
	}
	return ""
}

// isSingular reports whether a word is the singular of a plural, as Kubernetes names kinds.
func isSingular(word, plural string) bool {
	return word+"s" == plural || word+"es" == plural || strings.TrimSuffix(word, "y")+"ies" == plural
}

// unknownRoles warns of a binding whose role is not here, but one of the same name that it does not mean: in another
// namespace, or of the other kind. A Role that nothing brings is a mistake as well.
func unknownRoles(in Input, o manifest.Object) []manifest.Problem {
	if o.GroupVersionKind().Group != rbacGroup || !strings.HasSuffix(o.GetKind(), "Binding") {
		return nil
	}
	kind, _ := decoding.At(o.Object, []string{"roleRef", "kind"}).(string)
	name, _ := decoding.At(o.Object, []string{"roleRef", "name"}).(string)
	id := manifest.ID{Group: rbacGroup, Kind: kind, Name: name}
	other := manifest.ID{Group: rbacGroup, Kind: "Role", Namespace: o.GetNamespace(), Name: name}
	if kind == "Role" {
		id.Namespace = o.NamespaceOrDefault()
		other.Kind = "ClusterRole"
		other.Namespace = ""
	}
	isInvalid := kind == "" || name == "" || kind == "Role" && o.GetKind() == "ClusterRoleBinding"
	if isInvalid || strings.Contains(name, "$") || in.index.Has(id) || in.Elsewhere.Has(id) ||
		in.index.Similar(id) != "" || in.isRenamed(o, id) {
		return nil
	}
	said := in.missingRole(o, id, other)
	if said == "" {
		return nil
	}
	return []manifest.Problem{warning(o, "roleRef.name", "%s, %s", said, in.orAnnotate(id))}
}

// missingRole returns the fault of a binding whose role is not here; other is the role of the other kind that it may
// mean.
func (in Input) missingRole(binding manifest.Object, role, other manifest.ID) string {
	elsewhere := in.index.Find(manifest.ID{Group: rbacGroup, Kind: "Role", Name: role.Name})
	switch found := in.index.Find(other); {
	case binding.GetKind() == "ClusterRoleBinding" && len(elsewhere) > 0:
		return fmt.Sprintf("there is no %s, and a ClusterRoleBinding takes no %s: write a ClusterRole", role,
			elsewhere[0])
	case len(found) > 0:
		return fmt.Sprintf("there is no %s, but %s: write kind: %s", role, found[0], other.Kind)
	case role.Kind == "Role" && len(elsewhere) > 0:
		return fmt.Sprintf("there is no %s, but %s, and a binding takes a Role of its own namespace: move one", role,
			elsewhere[0])
	case role.Kind == "Role" && !in.IsPartial && !in.index.IsOpen() && !strings.HasPrefix(role.Name, "system:") &&
		role.Name != "extension-apiserver-authentication-reader": // which every cluster has
		return fmt.Sprintf("there is no %s here, so it grants nothing: add it", role)
	}
	return ""
}

// isRenamed reports whether a kustomization renamed the object that had an ID: another rule warns of that.
func (in Input) isRenamed(from manifest.Object, id manifest.ID) bool {
	_, isRenamed := in.Renamed(from, id)
	return isRenamed
}
