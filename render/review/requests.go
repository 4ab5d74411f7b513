package review

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-helpers/resource"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/object"
)

// requests are the namespaces whose Pods ask for more memory and CPU, or less. Those of a
// DaemonSet are as many as there are nodes, and those of a CronJob are there for a time:
// they do not count. Jobs count with all that run at a time, and what is scaled with the
// fewest Pods that it may have.
func (w *world) requests() (effects []Effect) {
	before, after := amounts{}, amounts{}
	for _, c := range w.Changes {
		before.add(c.Before, w.before)
		after.add(c.After, w.after)
	}
	isRescaled := func(o *unstructured.Unstructured) bool {
		return hasPods(o) && w.before.replicas(o) != w.after.replicas(o)
	}
	var others []*unstructured.Unstructured
	for _, o := range w.Unchanged {
		if !isRescaled(o) {
			others = append(others, o)
			continue
		}
		before.add(o, w.before)
		after.add(o, w.after)
	}
	different := func(namespace string) bool { return len(differences(before[namespace], after[namespace])) > 0 }
	for _, o := range others {
		if different(namespaceOf(o)) {
			before.add(o, w.before)
			after.add(o, w.after)
		}
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		if d := differences(before[namespace], after[namespace]); len(d) > 0 {
			effects = append(effects, Effect{Type: ResourcesRequested, Object: Object{Kind: "Namespace", Name: namespace}, What: say("asks for %s", strings.Join(d, ", and "))})
		}
	}
	return effects
}

// differences are how much more or less is asked for.
func differences(before, after corev1.ResourceList) (differences []string) {
	for _, r := range []struct {
		name  corev1.ResourceName
		title string
	}{{corev1.ResourceMemory, "memory"}, {corev1.ResourceCPU, "CPU"}} {
		if d := difference(r.title, before[r.name], after[r.name]); d != "" {
			differences = append(differences, d)
		}
	}
	return differences
}

// difference is how much more or less of a resource is asked for; empty where that
// is the same.
func difference(title string, before, after apiresource.Quantity) string {
	d, comparative := after.DeepCopy(), "more"
	d.Sub(before)
	switch d.Sign() {
	case 0:
		return ""
	case -1:
		d.Neg()
		comparative = "less"
	}
	return fmt.Sprintf("%s %s %s: %s → %s", amount(d), comparative, title, amount(before), amount(after))
}

// amount is a quantity that is easy to read: of memory, in Gi with a decimal where it is that much.
func amount(q apiresource.Quantity) string {
	const gibi = 1 << 30
	if q.Format == apiresource.BinarySI && q.Value() >= gibi {
		return strconv.FormatFloat(math.Round(float64(q.Value())/gibi*10)/10, 'f', -1, 64) + "Gi"
	}
	return q.String()
}

// amounts are what Pods ask for, by namespace.
type amounts map[string]corev1.ResourceList

// add adds what the Pods of a workload of a side ask for.
func (a amounts) add(o *unstructured.Unstructured, s side) {
	if o == nil || s.replicas(o) <= 0 {
		return
	}
	template, ok := check.PodTemplate(object.Object{Unstructured: o})
	if !ok {
		return
	}
	sums := a[namespaceOf(o)]
	if sums == nil {
		sums = corev1.ResourceList{}
		a[namespaceOf(o)] = sums
	}
	for name, quantity := range resource.PodRequests(&corev1.Pod{Spec: template.Spec}, resource.PodResourcesOptions{}) {
		quantity.Mul(s.replicas(o))
		sum := sums[name]
		sum.Add(quantity)
		sums[name] = sum
	}
}
