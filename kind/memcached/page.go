package memcached

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
)

// page shows the requests of each Deployment, after the overrides, with totals.
func page(v kind.View[cachev1alpha1.Memcached]) kind.Page {
	p := kind.Page{
		Columns: []kind.Column{
			{Name: "Size", IsNumber: true}, {Name: "Memory per Pod", IsNumber: true},
			{Name: "Memory in all", IsNumber: true},
			{Name: "Image", Shared: "The image is %s."}, {Name: "Exporter", Shared: "The exporter is %s."},
		},
		Totals: map[string][]kind.Cell{},
	}
	autoscalers := map[pod.Workload]pod.Autoscaler{}
	for _, o := range v.All {
		if a, ok := pod.ReadAutoscaler(o); ok {
			autoscalers[a.Target] = a
		}
	}
	sums := map[string]*demand{"": {}}
	isScaled := false
	for _, m := range v.Objects {
		namespace := cmp.Or(m.Object.Namespace, metav1.NamespaceDefault)
		if sums[namespace] == nil {
			sums[namespace] = &demand{}
		}
		deployment := m.Child("apps", "Deployment")
		if deployment == nil {
			p.Rows = append(p.Rows, kind.Row{Cells: []kind.Cell{{kind.Plain("no Deployment")}}})
			continue
		}
		template := pod.Read(deployment, "spec", "template")
		pods, size := podsOf(deployment, autoscalers)
		each := pod.Requests(template)[corev1.ResourceMemory]
		all := each.DeepCopy()
		all.Mul(pods)
		for _, sum := range []*demand{sums[namespace], sums[""]} {
			sum.pods += pods
			sum.memory.Add(all)
		}
		isScaled = isScaled || size != fmt.Sprint(pods)
		p.Rows = append(p.Rows, kind.Row{Cells: []kind.Cell{
			{kind.Plain(size)}, {kind.Link(podMemory(each), deployment)}, {kind.Plain(memory(all))},
			image(template, MemcachedContainer), image(template, ExporterContainer),
		}})
	}
	for namespace, sum := range sums {
		p.Totals[namespace] = []kind.Cell{{kind.Plain(fmt.Sprint(sum.pods))}, {}, {kind.Plain(memory(sum.memory))}}
	}
	p.Summary = sums[""].sentence(len(v.Objects), isScaled)
	return p
}

// demand is the requests of several Memcacheds.
type demand struct {
	pods   int64
	memory resource.Quantity
}

func (d *demand) sentence(memcacheds int, isScaled bool) []kind.Text {
	text := fmt.Sprintf(", by %s of %s.", kind.Count(d.pods, "Pod"), kind.Count(int64(memcacheds), "Memcached"))
	if isScaled {
		text += " What is scaled counts with the fewest Pods that it may have."
	}
	return []kind.Text{kind.Plain("Memory requested: "), kind.Bold(memory(d.memory)), kind.Plain(text)}
}

// podsOf returns the number of Pods of a Deployment, also as text. With an autoscaler, it is the minimum.
func podsOf(deployment *unstructured.Unstructured, autoscalers map[pod.Workload]pod.Autoscaler) (pods int64,
	size string) {
	pods = pod.Number(deployment, 1, "spec", "replicas")
	a, ok := autoscalers[pod.WorkloadOf(deployment)]
	if !ok || pods == 0 { // no autoscaler scales up from 0
		return pods, fmt.Sprint(pods)
	}
	if a.Max > a.Min {
		return a.Min, fmt.Sprintf("%d to %d", a.Min, a.Max)
	}
	return a.Min, fmt.Sprint(a.Min)
}

// image returns the image of a container; an empty cell without that container.
func image(template *corev1.Pod, container string) kind.Cell {
	if image := pod.Container(template, container).Image; image != "" {
		return kind.Cell{kind.Code(image)}
	}
	return nil
}

// podMemory formats the memory of a Pod in its own unit.
func podMemory(q resource.Quantity) string {
	if text := q.String(); !q.IsZero() && unit(text) != "" {
		return text
	}
	return memory(q)
}

// memory formats memory in Mi or a larger unit. A fraction of Mi is rounded up, with a tilde.
func memory(q resource.Quantity) string {
	if q.IsZero() {
		return "none"
	}
	q.Format = resource.BinarySI
	if text := q.String(); !strings.HasSuffix(text, "Ki") && unit(text) != "" {
		return text
	}
	return fmt.Sprintf("~%dMi", (q.Value()-1)/mebi+1)
}

// unit returns the unit of a quantity, or an empty string.
func unit(quantity string) string { return strings.TrimLeft(quantity, "0123456789.-+") }
