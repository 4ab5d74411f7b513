// Package overview has the page about a rendered environment for people who look at its
// folder on GitHub, GitLab or the like.
package overview

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	kindat "example.com/gatehouse/kind/at"
	kindmemcached "example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// maxRows bounds each table: hosts do not show a page of over half a megabyte.
const maxRows = 250

// placed is an object and its file.
type placed struct {
	object.Object
	path string
}

// owner is the namespace and name of what people write.
type owner struct{ namespace, name string }

func compareOwners(a, b owner) int {
	return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// environment is what there is to say about an environment.
type environment struct {
	name       string
	objects    int
	namespaces int
	kinds      map[string]int // how many objects of each
	workloads  map[string]int // those that run Pods, but for what is rendered
	caches     []*cache
	ats        []*at
	others     []*section
	known      *registry.Kinds
}

// Page is the page about an environment, in Markdown, from its objects and their files. It
// is the same on every day: what is past is not told from what is to come.
func Page(kinds *registry.Kinds, name string, objects []object.Object, files []tree.File) []byte {
	e := read(kinds, name, objects, files)
	var page bytes.Buffer
	page.WriteString(tree.PageHeader + "\n")
	e.writeSummary(&page)
	e.writeCaches(&page)
	e.writeAts(&page)
	for _, s := range e.others {
		s.write(&page)
	}
	e.writeOthers(&page)
	return page.Bytes()
}

// read sorts objects out.
func read(kinds *registry.Kinds, name string, objects []object.Object, files []tree.File) *environment {
	e := &environment{name: name, objects: len(objects), kinds: map[string]int{}, workloads: map[string]int{}, known: kinds}
	folders := map[string]bool{}
	autoscalers := map[object.ID]object.Autoscaler{}
	var caches, ats []placed
	rendered := map[string]map[owner]placed{} // by the label of a kind
	for i := range kinds.All {
		rendered[kinds.All[i].Label] = map[owner]placed{}
	}
	for i, o := range objects {
		p := placed{o, files[i].Path}
		e.kinds[o.GetKind()]++
		if folder := path.Dir(p.path); folder != tree.ClusterFolder {
			folders[folder] = true
		}
		if a, ok := object.ReadAutoscaler(o.Unstructured); ok {
			autoscalers[a.Target] = a
		}
		gvk := o.GroupVersionKind()
		kind := kinds.RenderedFrom(o.Unstructured)
		isPod, isDeployment := gvk.Group == "" && gvk.Kind == "Pod", gvk.Group == appsv1.GroupName && gvk.Kind == "Deployment"
		_, runsPods := object.PodTemplatePath(gvk.Kind)
		switch {
		case gvk == kindmemcached.Kind.GVK:
			caches = append(caches, p)
		case gvk == kindat.Kind.GVK:
			ats = append(ats, p)
		case kind != nil && (isPod || isDeployment):
			rendered[kind.Label][owner{o.NamespaceOrDefault(), o.GetLabels()[kind.Label]}] = p
		case kind == nil && runsPods && !strings.Contains(gvk.Group, "."):
			e.workloads[gvk.Kind]++
		}
	}
	e.namespaces = len(folders)
	e.others = readOthers(kinds, objects, files)
	e.caches = readCaches(caches, rendered[kindmemcached.Label], autoscalers)
	e.ats = readAts(ats, rendered[kindat.Label])
	return e
}

func (p placed) owner() owner { return owner{p.NamespaceOrDefault(), p.GetName()} }

// link is a link to the file of an object.
func (p placed) link(text string) string {
	return "[" + text + "](" + (&url.URL{Path: p.path}).EscapedPath() + ")"
}

func (e *environment) writeSummary(page *bytes.Buffer) {
	source := "environments/" + e.name
	fmt.Fprintf(page, "# %s\n\nRendered from [%s](../../%s): %s", word(e.name), source, source, count(e.objects, "object"))
	if e.namespaces > 0 {
		fmt.Fprintf(page, " in %s", count(e.namespaces, "namespace"))
	}
	page.WriteString(e.amongThem() + ".\n")
}

// amongThem says how many there are of what people write.
func (e *environment) amongThem() string {
	var counts []string
	if e.known.Find(kindmemcached.Kind.GVK) != nil {
		counts = append(counts, countOrNo(len(e.caches), "Memcached"))
	}
	if e.known.Find(kindat.Kind.GVK) != nil {
		counts = append(counts, countOrNo(len(e.ats), "At"))
	}
	for _, s := range e.others {
		counts = append(counts, count(len(s.owners), s.kind.GVK.Kind))
	}
	switch last := len(counts) - 1; last {
	case -1:
		return ""
	case 0:
		return ", among them " + counts[0]
	default:
		return ", among them " + strings.Join(counts[:last], ", ") + " and " + counts[last]
	}
}

// writeOthers writes what there is beside what people write.
func (e *environment) writeOthers(page *bytes.Buffer) {
	page.WriteString("\n## Objects\n\n")
	if len(e.workloads) > 0 {
		page.WriteString("Other workloads: ")
		for i, kind := range slices.Sorted(maps.Keys(e.workloads)) {
			if i > 0 {
				page.WriteString(", ")
			}
			page.WriteString(count(e.workloads[kind], kind))
		}
		page.WriteString(".\n\n")
	}
	fmt.Fprintf(page, "<details>\n<summary>By kind</summary>\n\n")
	t := table{columns: []string{"Kind", "Objects:"}}
	for _, kind := range slices.Sorted(maps.Keys(e.kinds)) {
		t.add(word(kind), fmt.Sprint(e.kinds[kind]))
	}
	t.more(len(e.kinds), "kinds")
	t.write(page)
	page.WriteString("\n</details>\n")
}
