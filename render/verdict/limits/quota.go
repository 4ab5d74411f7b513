package limits

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	quota "k8s.io/apiserver/pkg/quota/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// required are the resources that each container has to name where a quota has them (validationSet in
// pkg/quota/v1/evaluator/core/pods.go of Kubernetes, whose package needs the scheduler).
var required = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU,
	corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory}

// mostCounted bounds the objects of a request that are counted.
const mostCounted = 100

// use counts the objects of a request in the quotas, and returns the error of the first that does not fit. Objects
// that do not last have to fit into an empty namespace. A quota with scopes counts nothing.
func (n *namespace) use(r request) error {
	usage := usageOf(r.object)
	for i := range n.quotas {
		q := &n.quotas[i]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue
		}
		if err := unnamed(q, r.object); err != nil {
			return err
		}
		if err := fits(q, nil, usage); err != nil {
			return err
		}
		for i := range min(r.lasting, mostCounted) {
			if err := fits(q, q.Status.Used, usage); err != nil {
				return fmt.Errorf("%d of %d do not fit: %w", r.lasting-i, r.lasting, err)
			}
			q.Status.Used = quota.Add(q.Status.Used, usage)
		}
	}
	return nil
}

// fits returns the error of a quota without room for more usage (CheckRequest in
// admission/plugin/resourcequota/controller.go of k8s.io/apiserver).
func fits(q *corev1.ResourceQuota, used, usage corev1.ResourceList) error {
	sum := quota.Mask(quota.Add(used, usage), quota.ResourceNames(q.Spec.Hard))
	if ok, exceeded := quota.LessThanOrEqual(sum, q.Spec.Hard); !ok {
		slices.Sort(exceeded)
		parts := make([]string, 0, len(exceeded))
		for _, name := range exceeded {
			wanted := usage[name]
			others := used[name]
			limit := q.Spec.Hard[name]
			parts = append(parts, fmt.Sprintf("%s is %s, and with %s of others over %s", name, wanted.String(),
				others.String(), limit.String()))
		}
		return fmt.Errorf("exceeded quota: %s (ResourceQuota %s/%s)", strings.Join(parts, "; "), q.Namespace, q.Name)
	}
	return nil
}

// unnamed returns the error of a Pod with a container that does not name a resource of a quota (Constraints in
// pkg/quota/v1/evaluator/core/pods.go of Kubernetes).
func unnamed(q *corev1.ResourceQuota, object runtime.Object) error {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || resourcehelper.IsPodLevelResourcesSet(pod) {
		return nil
	}
	var missing []string
	for _, name := range required {
		if _, isQuota := q.Spec.Hard[name]; !isQuota {
			continue
		}
		var containers []string
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			if _, isNamed := named(c.Resources.Requests, c.Resources.Limits)[name]; !isNamed {
				containers = append(containers, c.Name)
			}
		}
		if len(containers) > 0 {
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(containers, ",")))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("must specify " + strings.Join(missing, "; ") + fmt.Sprintf(" (ResourceQuota %s/%s): write "+
		"resources, or add a LimitRange with defaults", q.Namespace, q.Name))
}

// named returns requests and limits by their names in quotas (podComputeUsageHelper there).
func named(requests, limits corev1.ResourceList) corev1.ResourceList {
	all := corev1.ResourceList{}
	for name, quantity := range requests {
		all[name] = quantity
		all[corev1.DefaultResourceRequestsPrefix+name] = quantity
	}
	for name, quantity := range limits {
		all["limits."+name] = quantity
	}
	return all
}

// usageOf returns the resources that a quota counts for an object.
func usageOf(object runtime.Object) corev1.ResourceList {
	one := resource.MustParse("1")
	usage := corev1.ResourceList{}
	switch o := object.(type) {
	case *corev1.Pod:
		usage = named(resourcehelper.PodRequests(o, resourcehelper.PodResourcesOptions{}),
			resourcehelper.PodLimits(o, resourcehelper.PodResourcesOptions{}))
		usage[corev1.ResourcePods] = one
		usage["count/pods"] = one
	case *corev1.PersistentVolumeClaim:
		usage[corev1.ResourceRequestsStorage] = o.Spec.Resources.Requests[corev1.ResourceStorage]
		usage[corev1.ResourcePersistentVolumeClaims] = one
		usage["count/persistentvolumeclaims"] = one
	case *corev1.Service:
		usage[corev1.ResourceServices] = one
		usage["count/services"] = one
		if o.Spec.Type == corev1.ServiceTypeLoadBalancer {
			usage[corev1.ResourceServicesLoadBalancers] = one
		}
	}
	return usage
}
