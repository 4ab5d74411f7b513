package references

import (
	_ "embed" // the table
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
)

//go:embed table.txt
var table string

// pods are all kinds with a Pod template.
const pods = "pods"

const containers = "containers|initContainers|ephemeralContainers"

// field is a row of the table for one kind: the path of a name, that of the mapping around it, and the kind that it
// names, with its group, or "".
type field struct {
	path, parent []string
	to           string
	parts        []partField
}

// partField is a field with a part of the named object that is needed.
type partField struct {
	Part
	path []string
	// isOfObject reports whether the path is from the object, and not from the mapping around the name.
	isOfObject bool
	otherwise  string
}

// Configured is a field that names objects, by a nameReference of kustomize.
type Configured struct {
	From, To resid.Gvk
	Path     []string
}

func newField(path []string, to string) field {
	return field{path: path, parent: path[:len(path)-1], to: to}
}

// rows are the rows of the table by kind: fields that name objects, and makers, whose fields name objects to make.
type rows struct {
	fields, makers map[string][]field
	groups         map[string]string // by kind
}

var readTable = sync.OnceValue(func() rows {
	all := rows{map[string][]field{}, map[string][]field{}, map[string]string{}}
	section := all.fields
	kinds := ""
	group := ""
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case line[0] != ' ':
			section = all.fields
			if words[0] == "makes" {
				section = all.makers
			}
			kinds, group, _ = strings.Cut(words[len(words)-1], ".")
		default:
			f := newField(manifest.SplitField(words[0]), strings.Trim(words[1], "-"))
			for _, word := range words[2:] {
				f.parts = append(f.parts, newPartField(word))
			}
			kind, groupOfKind, _ := strings.Cut(f.to, ".")
			all.groups[kind] = groupOfKind
			for kind := range strings.SplitSeq(kinds, "|") {
				all.groups[kind] = group
				name := groupKind(manifest.ID{Group: group, Kind: kind})
				section[name] = append(section[name], f)
			}
		}
	}
	return all
})

// newPartField reads a part of a row, as port:port=443.
func newPartField(word string) (p partField) {
	word, p.otherwise, _ = strings.Cut(word, "=")
	part, path, _ := strings.Cut(word, ":")
	path, p.isOfObject = strings.CutPrefix(path, "/")
	p.Part = Part(part)
	p.path = manifest.SplitField(path)
	return p
}
