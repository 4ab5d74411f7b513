package render

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"
)

// file is one file of what is rendered.
type file struct {
	path    string // relative to the folder of the environment, with slashes
	content []byte
}

// arrange gives each object a file, <namespace or _cluster>/<kind>-<name>.yaml, in
// the order in which kustomize applies kinds.
func arrange(objects []object, scopes customKinds) ([]file, []Problem) {
	slices.SortFunc(objects, compareObjects)
	shared := sharedKinds(objects)
	owners := map[string]object{}
	var files []file
	var problems []Problem
	for _, o := range objects {
		name := path.Join(folderOf(o, scopes), baseName(o, shared[strings.ToLower(o.kind())]))
		if !isOwnable(name) { // the names of a valid object make no other path
			problems = append(problems, Problem{File: relative(o.origin), Object: o.String(), Message: "its kind, namespace or name make no file name: " + name})
			continue
		}
		if other, ok := owners[name]; ok {
			problems = append(problems, Problem{File: relative(o.origin), Object: o.String(),
				Message: fmt.Sprintf("duplicate object: %s in %s would be the same file, %s; remove or rename one", other, relative(other.origin), name)})
			continue
		}
		owners[name] = o
		content, err := marshal(o.Unstructured)
		if err != nil {
			problems = append(problems, Problem{File: relative(o.origin), Object: o.String(), Message: err.Error()})
			continue
		}
		files = append(files, file{name, content})
	}
	return files, problems
}

func compareObjects(a, b object) int {
	first := resid.Gvk{Group: a.group(), Kind: a.kind()}
	second := resid.Gvk{Group: b.group(), Kind: b.kind()}
	switch {
	case first.IsLessThan(second):
		return -1
	case second.IsLessThan(first):
		return 1
	}
	return cmp.Or(cmp.Compare(a.namespace(), b.namespace()), cmp.Compare(a.name(), b.name()))
}

// sharedKinds are the kinds, in lower case, that objects of two groups have.
func sharedKinds(objects []object) map[string]bool {
	groups := map[string]string{}
	shared := map[string]bool{}
	for _, o := range objects {
		kind := strings.ToLower(o.kind())
		if group, ok := groups[kind]; ok && group != o.group() {
			shared[kind] = true
		}
		groups[kind] = o.group()
	}
	return shared
}

// clusterFolder is the folder of objects that are in no namespace. No namespace
// can have its name.
const clusterFolder = "_cluster"

func folderOf(o object, scopes customKinds) string {
	namespaced, known := isNamespaced(o.Unstructured)
	if kind, ok := scopes[o.GroupVersionKind()]; ok {
		namespaced, known = kind.namespaced, true
	}
	switch {
	case known && !namespaced:
		return clusterFolder
	case o.namespace() != "":
		return escape(o.namespace())
	case known:
		return "default"
	}
	return clusterFolder
}

// maxBaseName keeps the name of a file, and of the temporary file that it is
// first, within the 255 bytes that file systems allow.
const maxBaseName = 220

func baseName(o object, withGroup bool) string {
	kind := strings.ToLower(o.kind())
	if withGroup && o.group() != "" {
		kind += "." + o.group()
	}
	name := escape(kind + "-" + o.name())
	if len(name) > maxBaseName {
		name = fmt.Sprintf("%s-%x", name[:maxBaseName], sha256.Sum256([]byte(name)))[:maxBaseName+11]
	}
	return name + ".yaml"
}

// escape writes what is not a lower-case letter, a digit, '-' or '.' as %xx: a
// ClusterRole may be named system:View, and no two names may meet on a file
// system that folds case.
func escape(name string) string {
	var escaped strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
			escaped.WriteByte(c)
		default:
			fmt.Fprintf(&escaped, "%%%02x", c)
		}
	}
	return escaped.String()
}
