package overview

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"
	defaults "k8s.io/kubernetes/pkg/apis/core/v1"

	kindmemcached "example.com/gatehouse/kind/memcached"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// cache is a Memcached, and what its Deployment asks for once overrides are done with it.
type cache struct {
	placed
	owner      owner
	deployment *placed           // nil where an override removed it
	pods       int64             // the fewest, where
	most       int64             // an autoscaler may have it so many; 0 otherwise
	each       resource.Quantity // the memory of a Pod
	image      string
	exporter   string // its image; empty where there is none
}

// all is the memory of all Pods.
func (c *cache) all() resource.Quantity {
	all := c.each.DeepCopy()
	all.Mul(c.pods)
	return all
}

// readCaches reads Memcacheds with their Deployments, several at a time. They are in the
// order of namespaces and names.
func readCaches(memcacheds []placed, deployments map[owner]placed, autoscalers map[object.ID]object.Autoscaler) []*cache {
	caches := make([]*cache, len(memcacheds))
	parallel.For(len(memcacheds), func(i int) {
		c := &cache{placed: memcacheds[i], owner: memcacheds[i].owner()}
		if deployment, ok := deployments[c.owner]; ok {
			c.deployment = &deployment
			c.readDeployment(autoscalers)
		}
		caches[i] = c
	})
	slices.SortFunc(caches, func(a, b *cache) int { return compareOwners(a.owner, b.owner) })
	return caches
}

func (c *cache) readDeployment(autoscalers map[object.ID]object.Autoscaler) {
	deployment := c.deployment.Object
	content := deployment.Object
	c.pods = object.Number(deployment.Unstructured, 1, "spec", "replicas") // as the API server has it where nothing is said
	if a, ok := autoscalers[deployment.IDInNamespace()]; ok && c.pods > 0 {
		c.pods, c.most = a.Min, a.Max
	}
	template, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "template")
	pod := podOf(template)
	c.each = memoryOf(pod)
	for _, container := range pod.Spec.Containers {
		switch container.Name {
		case kindmemcached.MemcachedContainer:
			c.image = container.Image
		case kindmemcached.ExporterContainer:
			c.exporter = container.Image
		}
	}
}

// podOf is the Pod of a template, which is one that the API server takes.
func podOf(template any) *corev1.Pod {
	content, _ := template.(map[string]any)
	spec, _ := content["spec"].(map[string]any)
	pod := &corev1.Pod{}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": map[string]any{
		"activeDeadlineSeconds": spec["activeDeadlineSeconds"],
		"containers":            outline(spec["containers"]),
		"initContainers":        outline(spec["initContainers"]),
		"overhead":              spec["overhead"],
		"resources":             spec["resources"],
	}}, pod)
	return pod
}

// outline is the fields of containers that are of use here, so that no others are read.
func outline(containers any) []any {
	list, _ := containers.([]any)
	outlined := make([]any, len(list))
	for i, item := range list {
		container, _ := item.(map[string]any)
		outlined[i] = map[string]any{}
		for _, field := range []string{"args", "command", "image", "name", "resources", "restartPolicy"} {
			if value, ok := container[field]; ok {
				outlined[i].(map[string]any)[field] = value
			}
		}
	}
	return outlined
}

// memoryOf is the memory that a Pod requests, as the scheduler sees it: its limits where
// it has no requests, init containers, sidecars and overhead included.
func memoryOf(pod *corev1.Pod) resource.Quantity {
	defaults.SetDefaults_Pod(pod)
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})[corev1.ResourceMemory]
}

// total is what several Memcacheds ask for.
type total struct {
	namespace    string
	caches, pods int64
	memory       resource.Quantity
}

func (t *total) add(c *cache) {
	t.caches++
	t.pods += c.pods
	t.memory.Add(c.all())
}

// cells are the numbers of a row, written in a style.
func (t *total) cells(style func(string) string) []string {
	return []string{style(fmt.Sprint(t.caches)), style(fmt.Sprint(t.pods)), style(memoryText(t.memory))}
}

// totals are those of each namespace, and of all.
func totals(caches []*cache) (namespaces []*total, all total) {
	for i, c := range caches {
		if i == 0 || c.owner.namespace != caches[i-1].owner.namespace {
			namespaces = append(namespaces, &total{namespace: c.owner.namespace})
		}
		namespaces[len(namespaces)-1].add(c)
		all.add(c)
	}
	return namespaces, all
}

func (e *environment) writeCaches(page *bytes.Buffer) {
	if len(e.caches) == 0 {
		return
	}
	namespaces, all := totals(e.caches)
	fmt.Fprintf(page, "\n## Memcacheds\n\nMemory requested: %s, by %s of %s.", bold(memoryText(all.memory)), count(int(all.pods), "Pod"), count(len(e.caches), "Memcached"))
	columns := []string{"Namespace", "Memcached", "Size:", "Memory per Pod:", "Memory in all:"}
	if slices.ContainsFunc(e.caches, func(c *cache) bool { return c.most > c.pods }) {
		page.WriteString(" What is scaled counts with the fewest Pods that it may have.")
	}
	image, exporter := commonImages(e.caches)
	if image == "" {
		columns = append(columns, "Image")
	} else {
		fmt.Fprintf(page, " The image is %s.", code(image))
	}
	if exporter != noExporter {
		columns = append(columns, "Exporter")
		if exporter != "" {
			fmt.Fprintf(page, " The exporter is %s.", code(exporter))
		}
	}
	page.WriteString("\n\n")
	if len(namespaces) > 1 {
		writeNamespaces(page, namespaces, all)
	}
	t := table{columns: columns}
	for _, c := range e.caches[:min(len(e.caches), maxRows)] {
		t.add(c.cells(image, exporter)...)
	}
	t.more(len(e.caches), "Memcacheds")
	t.rows = append(t.rows, []string{"**all**", "", bold(fmt.Sprint(all.pods)), "", bold(memoryText(all.memory))})
	t.write(page)
}

func writeNamespaces(page *bytes.Buffer, namespaces []*total, all total) {
	t := table{columns: []string{"Namespace", "Memcacheds:", "Pods:", "Memory:"}}
	for _, namespace := range namespaces {
		t.add(append([]string{word(namespace.namespace)}, namespace.cells(unstyled)...)...)
	}
	t.more(len(namespaces), "namespaces")
	t.rows = append(t.rows, append([]string{"**all**"}, all.cells(bold)...))
	t.write(page)
	page.WriteString("\n")
}

// noExporter says that no Memcached has one.
const noExporter = "-"

// commonImages are the images of all Memcacheds, and of all exporters; empty where they
// differ.
func commonImages(caches []*cache) (image, exporter string) {
	var images, exporters []string
	for _, c := range caches {
		if c.deployment != nil {
			images = append(images, c.image)
		}
		if c.exporter != "" {
			exporters = append(exporters, c.exporter)
		}
	}
	if exporter = noExporter; len(exporters) > 0 {
		exporter = common(exporters)
	}
	return common(images), exporter
}

// cells are the row of a Memcached, with images unless they are those of all.
func (c *cache) cells(image, exporter string) []string {
	cells := []string{word(c.owner.namespace), c.link(word(c.owner.name))}
	if c.deployment == nil {
		return append(cells, "no Deployment")
	}
	cells = append(cells, c.size(), c.deployment.link(eachText(c.each)), memoryText(c.all()))
	if image == "" {
		cells = append(cells, code(c.image))
	}
	switch {
	case c.exporter == "":
		return cells
	case exporter == "":
		return append(cells, code(c.exporter))
	}
	return append(cells, "yes")
}

// size is how many Pods there are, or may be.
func (c *cache) size() string {
	if c.most > c.pods {
		return fmt.Sprintf("%d to %d", c.pods, c.most)
	}
	return fmt.Sprint(c.pods)
}

func unstyled(text string) string { return text }

func bold(text string) string { return "**" + text + "**" }

// eachText is the memory of one Pod, in the unit that it was written with.
func eachText(q resource.Quantity) string {
	if q.IsZero() {
		return "none"
	}
	if text := q.String(); unit(text) != "" {
		return text
	}
	return memoryText(q)
}

// memoryText is memory in Mi or a larger unit, as Kubernetes writes it: rounded up, and
// marked so, where it is no whole number of those.
func memoryText(q resource.Quantity) string {
	if q.IsZero() {
		return "none"
	}
	q.Format = resource.BinarySI
	if text := q.String(); !strings.HasSuffix(text, "Ki") && unit(text) != "" {
		return text
	}
	const mebi = 1 << 20
	whole := (q.Value()-1)/mebi + 1
	return fmt.Sprintf("~%dMi", whole)
}

// unit is the unit of a quantity; empty where it has none.
func unit(quantity string) string { return strings.TrimLeft(quantity, "0123456789.-+") }
