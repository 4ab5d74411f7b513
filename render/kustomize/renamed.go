package kustomize

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/source"
)

// renamed is a built object with another name than its source object has.
type renamed struct {
	path *Path
	now  manifest.ID
}

// Renames returns a function that finds the object that had an ID before a kustomization renamed it, if that
// kustomization builds the object from as well: kustomize follows in the references that it knows.
func Renames(paths *Paths, built []manifest.Object) func(from manifest.Object, was manifest.ID) (manifest.ID, bool) {
	byName := map[manifest.ID][]renamed{}
	for _, o := range built {
		path := paths.Find(o)
		if path == nil {
			continue
		}
		names := []string{}
		for _, id := range path.Identities(len(path.Folders)) {
			if !slices.Contains(names, id.Name) {
				names = append(names, id.Name)
				key := manifest.ID{Group: path.GVK.Group, Kind: path.GVK.Kind, Name: id.Name}
				byName[key] = append(byName[key], renamed{path, o.ID()})
			}
		}
	}
	return func(from manifest.Object, was manifest.ID) (now manifest.ID, ok bool) {
		of := paths.Find(from)
		if of == nil {
			return now, false
		}
		for _, r := range byName[manifest.ID{Group: was.Group, Kind: was.Kind, Name: was.Name}] {
			if !r.isFor(of, was) {
				continue
			}
			if ok && now != r.now {
				return now, false
			}
			now = r.now
			ok = true
		}
		return now, ok
	}
}

// Configured returns the fields that the configurations of kustomizations know to name objects.
func Configured(s *source.Sources) (all []references.Configured) {
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		for _, entry := range k.Configurations {
			c, _ := s.ReadConfiguration(k.Paths[entry]) // kustomize reports the error
			for _, r := range c.NameReference {
				for _, from := range r.FieldSpecs {
					all = append(all, references.Configured{From: from.Gvk, To: r.Gvk, Path: keysOf(from)})
				}
			}
		}
	}
	return all
}

// keysOf returns the keys of a field, without marks of lists.
func keysOf(spec types.FieldSpec) []string {
	return utils.PathSplitter(strings.ReplaceAll(strings.Trim(spec.Path, "/"), "[]", ""), "/")
}

// isFor reports whether a kustomization on the build path of another object renamed the object, or adds the hash to
// its name, and whether a reference by its former ID means it: within its namespace, or its former one.
// A generated object without a namespace is in none that others name.
func (r renamed) isFor(of *Path, was manifest.ID) bool {
	namespace := cmp.Or(r.now.Namespace, metav1.NamespaceDefault)
	isHashed := r.path.IsGenerated && r.now.Name != r.path.Last().Name
	switch {
	case namespace == cmp.Or(was.Namespace, namespace):
	case was.Namespace == r.path.Document.Namespace:
	case r.now.Namespace == "" && isHashed:
	default:
		return false
	}
	if isHashed {
		return true
	}
	for i, folder := range r.path.Folders {
		before := r.path.Steps[i]
		after := r.path.Steps[i+1]
		if before[len(before)-1] != after[len(after)-1] && slices.Contains(of.Folders, folder) {
			return true
		}
	}
	return false
}
