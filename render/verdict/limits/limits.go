// Package limits judges Pods, claims and Services by the LimitRanges and ResourceQuotas among objects, with the checks
// of the API server's admission plugins. What else uses up a quota is in the cluster, and unknown.
package limits

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// namespace has the limits of a namespace.
type namespace struct {
	ranges []*corev1.LimitRange
	quotas []corev1.ResourceQuota // with what the objects before use
}

// request is an object of the core group that an object makes, or is.
type request struct {
	object runtime.Object
	// resource is the plural of its kind.
	resource string
	// field is of the object that makes it: of the Pod spec, or spec.
	field string
	// lasting counts the objects that stay. A Job has none.
	lasting int64
}

// Check returns the problems of objects that the limits of their namespaces refuse: errors of Pods, claims and
// Services, and warnings of what makes Pods.
func Check(objects []manifest.Object) (problems []manifest.Problem) {
	namespaces := map[string]*namespace{}
	for _, o := range objects {
		if o.GroupVersionKind().Group == "" && (o.GetKind() == "LimitRange" || o.GetKind() == "ResourceQuota") {
			if namespaces[o.NamespaceOrDefault()] == nil {
				namespaces[o.NamespaceOrDefault()] = &namespace{}
			}
			namespaces[o.NamespaceOrDefault()].add(o)
		}
	}
	for _, o := range objects {
		if n := namespaces[o.NamespaceOrDefault()]; n != nil {
			problems = append(problems, n.check(o)...)
		}
	}
	return problems
}

// add adds a LimitRange or a ResourceQuota. One with a wrong type has no limits.
func (n *namespace) add(o manifest.Object) {
	if o.GetKind() == "LimitRange" {
		if l := (&corev1.LimitRange{}); convert(o, l) {
			n.ranges = append(n.ranges, l)
		}
		return
	}
	q := corev1.ResourceQuota{}
	if !convert(o, &q) {
		return
	}
	q.Status.Used = corev1.ResourceList{}
	n.quotas = append(n.quotas, q)
}

// convert sets a typed object, with its defaults, and reports whether all types are right.
func convert(o manifest.Object, typed runtime.Object) bool {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(runtime.DeepCopyJSON(o.Object), typed)
	legacyscheme.Scheme.Default(typed)
	return err == nil
}

// check returns the problems of an object, and counts what it uses.
func (n *namespace) check(o manifest.Object) (problems []manifest.Problem) {
	defer fault.Keep(&problems, fault.In(o))
	r, ok := requestOf(o)
	if !ok {
		return nil
	}
	at, err := n.limit(r)
	if err == nil {
		err = n.use(r)
	}
	if err == nil {
		return nil
	}
	p := manifest.NewProblem(o, at, manifest.Value{}, fmt.Sprintf("%s: %v", at, err)).As(
		metav1.CauseType(field.ErrorTypeForbidden))
	p.Warning = r.resource == "pods" && o.GetKind() != "Pod"
	if p.Warning {
		p.Message = fmt.Sprintf("%s: the namespace refuses its Pods: %v", at, err)
	}
	return []manifest.Problem{p}
}

func requestOf(o manifest.Object) (r request, ok bool) {
	r.field = "spec"
	r.lasting = 1
	switch o.GroupVersionKind().GroupKind().String() {
	case "PersistentVolumeClaim":
		r.object = &corev1.PersistentVolumeClaim{}
		r.resource = "persistentvolumeclaims"
		return r, convert(o, r.object)
	case "Service":
		r.object = &corev1.Service{}
		r.resource = "services"
		return r, convert(o, r.object)
	case "Job.batch", "CronJob.batch":
		r.lasting = 0
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController":
		replicas, isSet := decoding.At(o.Object, []string{"spec", "replicas"}).(int64)
		if isSet {
			r.lasting = replicas
		}
	}
	templates := podsecurity.Templates(o)
	if len(templates) != 1 || len(templates[0].Misfits) > 0 {
		return r, false
	}
	pod := &corev1.Pod{ObjectMeta: templates[0].ObjectMeta, Spec: templates[0].Spec}
	pod.Namespace = o.NamespaceOrDefault()
	r.object = pod
	r.resource = "pods"
	r.field = templates[0].Field
	return r, true
}

// limit sets the defaults of LimitRanges, and returns the field that one of them refuses, or the one of the request.
func (n *namespace) limit(r request) (field string, err error) {
	internal, err := legacyscheme.Scheme.ConvertToVersion(r.object, core.SchemeGroupVersion)
	if err != nil {
		return r.field, err
	}
	actions := &limitranger.DefaultLimitRangerActions{}
	for _, l := range n.ranges {
		if err := actions.MutateLimit(l, r.resource, internal); err != nil {
			return r.field, err
		}
	}
	if pod, isPod := internal.(*core.Pod); isPod {
		if err := legacyscheme.Scheme.Convert(pod, r.object, nil); err != nil {
			return r.field, err
		}
	}
	for _, l := range n.ranges {
		if err := actions.ValidateLimit(l, r.resource, internal); err != nil {
			return r.field + containerOf(l, internal), fmt.Errorf("%w (LimitRange %s/%s)", err, l.Namespace, l.Name)
		}
	}
	return r.field, nil
}

// containerOf returns the field of the first container that a LimitRange refuses, or nothing if that is the Pod.
func containerOf(l *corev1.LimitRange, object runtime.Object) string {
	pod, _ := object.(*core.Pod)
	if pod == nil {
		return ".resources"
	}
	actions := &limitranger.DefaultLimitRangerActions{}
	refuses := func(spec core.PodSpec) bool {
		return actions.ValidateLimit(l, "pods", &core.Pod{Spec: spec}) != nil
	}
	if refuses(core.PodSpec{}) { // a Pod has to have something
		return ""
	}
	for i, c := range pod.Spec.Containers {
		if refuses(core.PodSpec{Containers: []core.Container{c}}) {
			return fmt.Sprintf(".containers[%d].resources", i)
		}
	}
	for i, c := range pod.Spec.InitContainers {
		if refuses(core.PodSpec{InitContainers: []core.Container{c}}) {
			return fmt.Sprintf(".initContainers[%d].resources", i)
		}
	}
	return ""
}
