package review

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// use is a use of a ConfigMap or Secret: the object with the Pods, and the way.
type use struct {
	user manifest.ID
	way  kind.Sentence
}

// allUses are the uses of a ConfigMap or Secret by Pods, in the order of a review.
var allUses = []kind.Sentence{mounted, mountedOnce, inEnv, forImages}

const (
	mounted     = "mount it and see changes without a restart"
	mountedOnce = "mount it by subPath and see changes only after a restart"
	inEnv       = "read it into their environment and see changes only after a restart"
	forImages   = "pull images with it"
)

// uses has the uses of ConfigMaps and Secrets. The value is true if the Pods do not start without it.
type uses map[manifest.ID]map[use]bool

// usesOf returns the uses of ConfigMaps and Secrets by the objects of an environment.
func (w *world) usesOf(s side) uses {
	all := uses{}
	for _, o := range s.objects {
		user := idOf(o)
		if owner, ok := diff.OwnerOf(w.Kinds, o); ok && w.Kinds.IsImmutable(o) {
			user = owner
		}
		add := func(way kind.Sentence, content any) {
			visitReferences(content, func(kind, name string, isRequired bool) {
				id := manifest.ID{Kind: kind, Namespace: namespaceOf(o), Name: name}
				if all[id] == nil {
					all[id] = map[use]bool{}
				}
				all[id][use{user, way}] = all[id][use{user, way}] || isRequired && way != forImages
			})
		}
		for _, t := range w.templates(o) {
			visitUses(t, add)
		}
	}
	return all
}

// visitUses visits the parts of a template that may refer to ConfigMaps and Secrets.
func visitUses(t podsecurity.Template, visit func(way kind.Sentence, content any)) {
	isWhole := map[string]bool{} // volumes, if they are mounted as a whole
	for _, c := range containers(&t.Spec) {
		for _, mount := range c.VolumeMounts {
			isWhole[mount.Name] = isWhole[mount.Name] || mount.SubPath == "" && mount.SubPathExpr == ""
		}
	}
	for field, content := range t.Written {
		listed, _ := content.([]any)
		for _, item := range listed {
			fields, _ := item.(map[string]any)
			name, _ := fields["name"].(string)
			switch whole, isMounted := isWhole[name]; {
			case field == "imagePullSecrets":
				visit(forImages, map[string]any{"secret": item})
			case field != "volumes":
				visit(inEnv, item)
			case isMounted && !whole:
				visit(mountedOnce, item)
			default:
				visit(mounted, item)
			}
		}
	}
}

// visitReferences visits the references to ConfigMaps and Secrets in a part of a Pod spec: configMapRef,
// secretKeyRef, a projected configMap.
func visitReferences(content any, visit func(kind, name string, isRequired bool)) {
	switch content := content.(type) {
	case []any:
		for _, item := range content {
			visitReferences(item, visit)
		}
	case map[string]any:
		for key, value := range content {
			fields, _ := value.(map[string]any)
			name, _ := fields["name"].(string)
			secretName, _ := fields["secretName"].(string)
			isOptional, _ := fields["optional"].(bool)
			switch name = cmp.Or(name, secretName); {
			case name != "" && strings.HasPrefix(key, "configMap"):
				visit("ConfigMap", name, !isOptional)
			case name != "" && strings.Contains(strings.ToLower(key), "secret"):
				visit("Secret", name, !isOptional)
			default:
				visitReferences(value, visit)
			}
		}
	}
}

// reviewConfig reviews ConfigMaps and Secrets that Pods use. A changed content is a risk: mounted, it
// reaches all running Pods at once, and no rollout stops at the first failure; in the environment, old and
// new content run side by side. A new object is a risk if Pods referred to it before.
func reviewConfig(w *world, c diff.Change) []kind.Effect {
	before, after := w.uses()
	was, is := before[c.Object().IDInNamespace()], after[c.Object().IDInNamespace()]
	if len(is) == 0 || !slices.ContainsFunc(w.fieldsOf(c), func(f diff.FieldChange) bool { return !f.IsIn("metadata") }) {
		return nil
	}
	users := map[kind.Sentence][]string{} // by way
	isNeeded, isLive := false, false
	for _, u := range slices.SortedFunc(maps.Keys(is), func(a, b use) int { return compareObjects(a.user, b.user) }) {
		users[u.way] = append(users[u.way], u.user.String())
		_, isOld := was[u]
		isNeeded, isLive = isNeeded || is[u], isLive || isOld && u.way != forImages
	}
	var said []string
	for _, way := range allUses {
		if len(users[way]) > 0 {
			said = append(said, string("Pods of "+quoteAll(users[way])+" "+way))
		}
	}
	e := kind.Effect{Type: ConfigChanged, What: "changes", Risk: "Pods of different content run side by side until all have restarted"}
	switch {
	case c.After == nil:
		e.Type, e.What, e.Risk = ConfigRemoved, "is removed", "Pods do not start without it"
	case c.Before == nil:
		e.What = "is added"
	}
	switch {
	case c.After == nil && !isNeeded, c.After != nil && !isLive:
		e.Risk = ""
	case c.After != nil && len(users[mounted]) > 0:
		e.Risk = "running Pods get it without a rollout that stops at the first failure"
	}
	e.What += ": " + kind.Sentence(strings.Join(said, "; "))
	return []kind.Effect{e}
}
