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
// they do not count. Jobs count with all that run at a time.
func (w *world) requests() (effects []Effect) {
	before, after := requested(w.before.objects), requested(w.after.objects)
	for _, namespace := range slices.Sorted(maps.Keys(union(before, after))) {
		was, is := before[namespace], after[namespace]
		var differences []string
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU} {
			if d := differenceOfRequests(name, was[name], is[name]); d != "" {
				differences = append(differences, d)
			}
		}
		if len(differences) > 0 {
			effects = append(effects, Effect{Type: ResourcesRequested, Object: Object{Kind: "Namespace", Name: namespace}, What: say("asks for %s", strings.Join(differences, ", and "))})
		}
	}
	return effects
}

// differenceOfRequests is how much more or less of a resource is asked for; empty where that
// is the same.
func differenceOfRequests(name corev1.ResourceName, before, after apiresource.Quantity) string {
	difference, comparative := after.DeepCopy(), "more"
	difference.Sub(before)
	switch difference.Sign() {
	case 0:
		return ""
	case -1:
		difference.Neg()
		comparative = "less"
	}
	return fmt.Sprintf("%s %s %s: %s → %s", amount(difference), comparative, name, amount(before), amount(after))
}

// amount is a quantity that is easy to read: of memory, in Gi with a decimal where it is that much.
func amount(q apiresource.Quantity) string {
	const gibi = 1 << 30
	if q.Format == apiresource.BinarySI && q.Value() >= gibi {
		return strconv.FormatFloat(math.Round(float64(q.Value())/gibi*10)/10, 'f', -1, 64) + "Gi"
	}
	return q.String()
}

func union[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// requested is what the Pods of objects ask for, by namespace.
func requested(objects []*unstructured.Unstructured) map[string]corev1.ResourceList {
	requested := map[string]corev1.ResourceList{}
	for _, o := range objects {
		pods := replicas(o)
		if pods <= 0 {
			continue
		}
		template, ok := check.PodTemplate(object.Object{Unstructured: o})
		if !ok {
			continue
		}
		of := requested[namespaceOf(o)]
		if of == nil {
			of = corev1.ResourceList{}
			requested[namespaceOf(o)] = of
		}
		for name, quantity := range resource.PodRequests(&corev1.Pod{Spec: template.Spec}, resource.PodResourcesOptions{}) {
			quantity.Mul(pods)
			sum := of[name]
			sum.Add(quantity)
			of[name] = sum
		}
	}
	return requested
}
