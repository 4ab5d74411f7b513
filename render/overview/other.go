package overview

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	kindmemcached "example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// section is about the objects of a kind that has no table of its own.
type section struct {
	kind     *kind.Kind
	owners   []placed
	rendered map[owner]map[string][]placed // by the kind of the objects
}

// readOthers are the sections of all kinds but Memcacheds and Ats that there are objects of,
// in the order of the list.
func readOthers(kinds *registry.Kinds, objects []object.Object, files []tree.File) (sections []*section) {
	byLabel := map[string]*section{}
	for i := range kinds.All {
		k := &kinds.All[i]
		if !k.IsConverted() && k.GVK != kindmemcached.Kind.GVK && k.GVK != kindat.Kind.GVK {
			byLabel[k.Label] = &section{kind: k, rendered: map[owner]map[string][]placed{}}
			sections = append(sections, byLabel[k.Label])
		}
	}
	for i, o := range objects {
		p := placed{o, files[i].Path}
		if k := kinds.Find(o.GroupVersionKind()); k != nil && byLabel[k.Label] != nil {
			byLabel[k.Label].owners = append(byLabel[k.Label].owners, p)
		} else if k := kinds.RenderedFrom(o.Unstructured); k != nil && byLabel[k.Label] != nil {
			byLabel[k.Label].add(owner{o.NamespaceOrDefault(), o.GetLabels()[k.Label]}, p)
		}
	}
	return slices.DeleteFunc(sections, func(s *section) bool { return len(s.owners) == 0 })
}

// add adds what was rendered from an owner.
func (s *section) add(from owner, p placed) {
	if s.rendered[from] == nil {
		s.rendered[from] = map[string][]placed{}
	}
	s.rendered[from][p.GetKind()] = append(s.rendered[from][p.GetKind()], p)
}

func (s *section) write(page *bytes.Buffer) {
	slices.SortFunc(s.owners, func(a, b placed) int { return compareOwners(a.owner(), b.owner()) })
	name := s.kind.GVK.Kind
	fmt.Fprintf(page, "\n## %s\n\n", plural(name))
	columns := columnsOf(s.kind)
	t := table{columns: []string{"Namespace", name}}
	for _, c := range columns {
		t.columns = append(t.columns, c.title())
	}
	t.columns = append(t.columns, "Rendered to")
	for _, o := range s.owners[:min(len(s.owners), maxRows)] {
		t.add(slices.Concat([]string{word(o.owner().namespace), o.link(word(o.GetName()))}, cells(columns, o), []string{links(s.rendered[o.owner()])})...)
	}
	t.more(len(s.owners), plural(name))
	t.write(page)
}

// links say how many objects there are of each kind, with links to the first.
func links(rendered map[string][]placed) string {
	kinds := slices.Sorted(maps.Keys(rendered))
	for i, kind := range kinds {
		kinds[i] = linksTo(kind, rendered[kind])
	}
	if len(kinds) == 0 {
		return "nothing"
	}
	return strings.Join(kinds, ", ")
}

func linksTo(kind string, objects []placed) string {
	const most = 5
	if len(objects) == 1 {
		return objects[0].link("1 " + kind)
	}
	slices.SortFunc(objects, func(a, b placed) int { return strings.Compare(a.path, b.path) })
	text := count(len(objects), kind) + ":"
	for i, p := range objects[:min(len(objects), most)] {
		text += " " + p.link(fmt.Sprint(i+1))
	}
	if len(objects) > most {
		text += " …"
	}
	return text
}

// shown is a column that `kubectl get` shows of a kind.
type shown struct {
	Name, Type, JSONPath string
	Priority             int
}

// fieldPath matches the path of a field of a spec.
var fieldPath = regexp.MustCompile(`^\.spec(\.[A-Za-z0-9_-]+)+$`)

// columnsOf are the columns of a kind that show its spec.
func columnsOf(k *kind.Kind) []shown {
	var definition struct {
		Spec struct {
			Versions []struct {
				Name                     string
				AdditionalPrinterColumns []shown
			}
		}
	}
	_ = yaml.Unmarshal(k.CRD, &definition) // registry.New says what is wrong with it
	for _, version := range definition.Spec.Versions {
		if version.Name == k.GVK.Version {
			return slices.DeleteFunc(version.AdditionalPrinterColumns, func(c shown) bool {
				return c.Priority > 0 || !fieldPath.MatchString(c.JSONPath)
			})
		}
	}
	return nil
}

// title is the name of the column, as a table has it.
func (c shown) title() string {
	if c.Type == "integer" || c.Type == "number" {
		return word(c.Name) + ":"
	}
	return word(c.Name)
}

// cells are what columns show of an object.
func cells(columns []shown, o placed) []string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		value, ok, _ := unstructured.NestedFieldNoCopy(o.Object.Object, strings.Split(c.JSONPath[1:], ".")...)
		if ok && value != nil {
			cells[i] = word(fmt.Sprint(value))
		}
	}
	return cells
}
