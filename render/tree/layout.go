package tree

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
)

// Scope reports whether objects of a kind have a namespace, and whether the kind is known.
type Scope func(schema.GroupVersionKind) (namespaced, known bool)

// Placed is an object and its file, <namespace or _cluster>/<kind>-<name>.yaml.
type Placed struct {
	manifest.Object
	Path string // relative to the folder of the environment, with slashes
	// Taken, if not nil, is another object with the same path: the two are one object in a
	// cluster, or would be one file on some file systems.
	Taken *manifest.Object

	id  manifest.ID
	gvk schema.GroupVersionKind
}

// Layout assigns a file to each object, and sorts the objects in kustomize's apply order.
func Layout(objects []manifest.Object, scope Scope) []Placed {
	placed := make([]Placed, len(objects))
	sorted := make([]*Placed, len(objects))
	parallel.For(len(objects), func(i int) {
		placed[i] = Placed{Object: objects[i], id: objects[i].ID(), gvk: objects[i].GroupVersionKind()}
		sorted[i] = &placed[i]
	})
	shared := sharedKinds(placed)
	parallel.For(len(placed), func(i int) {
		p := &placed[i]
		p.Path = path.Join(folderOf(p, scope), baseName(p.id, shared[strings.ToLower(p.id.Kind)]))
	})
	slices.SortStableFunc(sorted, comparePlaced)
	owners := make(map[string]*manifest.Object, len(objects))
	inOrder := make([]Placed, len(objects))
	for i, p := range sorted {
		inOrder[i] = *p
		if inOrder[i].Taken = owners[p.Path]; inOrder[i].Taken == nil {
			owners[p.Path] = &p.Object
		}
	}
	return inOrder
}

func comparePlaced(a, b *Placed) int {
	if a.id.Kind != b.id.Kind || a.id.Group != b.id.Group {
		first := resid.Gvk{Group: a.id.Group, Kind: a.id.Kind}
		second := resid.Gvk{Group: b.id.Group, Kind: b.id.Kind}
		switch {
		case first.IsLessThan(second):
			return -1
		case second.IsLessThan(first):
			return 1
		}
	}
	return cmp.Or(cmp.Compare(a.id.Namespace, b.id.Namespace), cmp.Compare(a.id.Name, b.id.Name))
}

// sharedKinds returns the kinds, in lower case, that occur in several groups.
func sharedKinds(placed []Placed) map[string]bool {
	groups := map[string]string{}
	shared := map[string]bool{}
	for _, p := range placed {
		kind := strings.ToLower(p.id.Kind)
		if group, ok := groups[kind]; ok && group != p.id.Group {
			shared[kind] = true
		}
		groups[kind] = p.id.Group
	}
	return shared
}

// ClusterFolder is the folder of objects without a namespace. Its name is not a valid namespace.
const ClusterFolder = "_cluster"

func folderOf(p *Placed, scope Scope) string {
	namespaced, known := scope(p.gvk)
	switch {
	case known && !namespaced:
		return ClusterFolder
	case p.id.Namespace != "":
		return escape(p.id.Namespace)
	case known:
		return "default"
	}
	return ClusterFolder
}

// DeliveryFolder returns the folder of the files of a delivery, relative to the folder of the environment: beside the
// file of the delivery.
func DeliveryFolder(o manifest.Object, scope Scope) string {
	folder := folderOf(&Placed{id: o.ID(), gvk: o.GroupVersionKind()}, scope)
	return path.Join(folder, strings.TrimSuffix(baseName(o.ID(), false), ".yaml"))
}

// maxBaseName keeps the names of files within the 255 bytes that file systems allow.
const maxBaseName = 220

func baseName(id manifest.ID, withGroup bool) string {
	kind := strings.ToLower(id.Kind)
	if withGroup && id.Group != "" {
		kind += "." + id.Group
	}
	name := escape(kind + "-" + id.Name)
	if len(name) > maxBaseName {
		name = fmt.Sprintf("%s-%x", name[:maxBaseName], sha256.Sum256([]byte(name)))[:maxBaseName+11]
	}
	return name + ".yaml"
}

// escape replaces all characters but lower-case letters, digits, '-' and '.' by %xx: a ClusterRole may
// be named system:View, and some file systems ignore case. It also escapes the first letter of a device
// name, which Windows refuses as a file name, with or without an extension.
func escape(name string) string {
	var escaped strings.Builder
	device := devices.MatchString(name)
	for i := range len(name) {
		switch c := name[i]; {
		case device && i == 0:
			fmt.Fprintf(&escaped, "%%%02x", c)
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.':
			escaped.WriteByte(c)
		default:
			fmt.Fprintf(&escaped, "%%%02x", c)
		}
	}
	return escaped.String()
}

// devices matches device names of Windows.
// https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file
var devices = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
