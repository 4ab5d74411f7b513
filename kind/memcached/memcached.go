// Package memcached defines the kind Memcached.
package memcached

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/apis/crds"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/canonical"
	"example.com/gatehouse/kind/pod"
)

// Kind is the kind Memcached.
var Kind = kind.Define(kind.Definition[cachev1alpha1.Memcached, cachev1alpha1.MemcachedStatus]{
	GVK:         cachev1alpha1.SchemeGroupVersion.WithKind(cachev1alpha1.KindMemcached),
	AddToScheme: cachev1alpha1.AddToScheme,
	CRD:         crds.Memcached,
	Fields:      fields,
	Children: []kind.Child{
		{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment")},
		{GVK: corev1.SchemeGroupVersion.WithKind("Pod")}, // of the Deployment
		{GVK: corev1.SchemeGroupVersion.WithKind("Service"), Unobserved: true},
		{GVK: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Unobserved: true},
	},
	Expand: expand,
	Status: decide,
	Review: review,
	Digest: func(m *cachev1alpha1.Memcached) string { return Digest(m.Spec) },
})

// fields are the fields of a Memcached that kustomize sets, and the fields of other kinds that name its
// Deployment or Service.
var fields = kind.Fields{
	Images:   []string{"spec.image", "spec.exporter.image"},
	Replicas: []string{"spec.size"},
	References: []kind.Reference{
		{In: schema.GroupKind{Kind: "HorizontalPodAutoscaler"}, Field: "spec.scaleTargetRef.name"},
		{In: schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, Field: "spec.serviceName"},
		{In: schema.GroupKind{Kind: "Ingress"}, Field: "spec.rules.http.paths.backend.service.name"},
		{In: schema.GroupKind{Kind: "Ingress"}, Field: "spec.rules.http.paths.backend.serviceName"},
		{In: schema.GroupKind{Kind: "Ingress"}, Field: "spec.backend.serviceName"},
		{In: schema.GroupKind{Kind: "Ingress"}, Field: "spec.defaultBackend.service.name"},
		{In: schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}, Field: "spec.service.name"},
		{In: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
			Field: "webhooks.clientConfig.service"},
		{In: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
			Field: "webhooks.clientConfig.service"},
	},
}

// Label is on all rendered objects and their Pods. Its value is the name of the Memcached.
const Label = "cache.example.com/memcached"

// The containers of a Memcached's Pods.
const (
	MemcachedContainer = "memcached"
	ExporterContainer  = "exporter"
)

const (
	// memcache is the user and group of memcached in its official images.
	memcache = 11211

	memcachedPort = "memcached"
	metricsPort   = "metrics"
)

// Digest returns the digest of a defaulted spec.
func Digest(spec cachev1alpha1.MemcachedSpec) string {
	spec.Resources = canonical.Resources(spec.Resources)
	if spec.MemoryLimit != nil {
		spec.MemoryLimit = ptr.To(canonical.Quantity(*spec.MemoryLimit))
	}
	return kind.DigestOf(spec)
}

// expand returns the Deployment, the headless Service and, for a size over 1, the
// PodDisruptionBudget of a defaulted Memcached.
func expand(m *cachev1alpha1.Memcached) ([]kind.Object, error) {
	selector := map[string]string{Label: m.Name}
	objects := []kind.Object{deployment(m, selector), service(m, selector)}
	if m.Spec.Size > 1 {
		objects = append(objects, &policyv1.PodDisruptionBudget{
			TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				Selector:                   &metav1.LabelSelector{MatchLabels: selector},
				MaxUnavailable:             ptr.To(intstr.FromInt32(1)),
				UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
			},
		})
	}
	return objects, nil
}

func deployment(m *cachev1alpha1.Memcached, selector map[string]string) *appsv1.Deployment {
	// The Pods have only labels that never change: another label would replace the Pods, and
	// empty the cache.
	podLabels := kind.RecommendedLabels(m.Name, cachev1alpha1.KindMemcached)
	maps.Copy(podLabels, selector)

	containers := []corev1.Container{memcachedContainer(m.Spec)}
	if m.Spec.Exporter != nil {
		containers = append(containers, exporterContainer(m.Spec))
	}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(m.Spec.Size),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			// A new Pod starts before an old one ends, and has a moment to fill.
			MinReadySeconds: 10,
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       ptr.To(intstr.FromInt32(1)),
					MaxUnavailable: ptr.To(intstr.FromInt32(0)),
				},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: ptr.To(false),
					EnableServiceLinks:           ptr.To(false),
					SecurityContext:              pod.Security(memcache),
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						MaxSkew:           1,
						TopologyKey:       corev1.LabelHostname,
						WhenUnsatisfiable: corev1.ScheduleAnyway,
						LabelSelector:     &metav1.LabelSelector{MatchLabels: selector},
						MatchLabelKeys:    []string{appsv1.DefaultDeploymentUniqueLabelKey},
					}},
					Containers: containers,
				},
			},
		},
	}
}

func memcachedContainer(spec cachev1alpha1.MemcachedSpec) corev1.Container {
	security := pod.ContainerSecurity()
	security.ReadOnlyRootFilesystem = ptr.To(true)
	own := []string{
		fmt.Sprintf("--memory-limit=%d", spec.MemoryLimit.Value()/mebi),
		fmt.Sprintf("--conn-limit=%d", spec.MaxConnections),
		fmt.Sprintf("--threads=%d", spec.Threads),
		fmt.Sprintf("--port=%d", spec.Port),
	}
	extra := make([]string, len(spec.Args))
	for i, arg := range spec.Args {
		extra[i] = pod.Literal(arg)
	}
	return corev1.Container{
		Name:    MemcachedContainer,
		Image:   spec.Image,
		Command: []string{"memcached"},
		Args:    slices.Concat(own, extra),
		Ports: []corev1.ContainerPort{{Name: memcachedPort, ContainerPort: spec.Port,
			Protocol: corev1.ProtocolTCP}},
		Resources:       memcachedResources(spec),
		ReadinessProbe:  tcpProbe(memcachedPort, 2),
		LivenessProbe:   tcpProbe(memcachedPort, 10),
		SecurityContext: security,
	}
}

func exporterContainer(spec cachev1alpha1.MemcachedSpec) corev1.Container {
	security := pod.ContainerSecurity()
	security.ReadOnlyRootFilesystem = ptr.To(true)
	return corev1.Container{
		Name:  ExporterContainer,
		Image: spec.Exporter.Image,
		Args: []string{
			fmt.Sprintf("--memcached.address=localhost:%d", spec.Port),
			fmt.Sprintf("--web.listen-address=:%d", spec.Exporter.Port),
		},
		Ports: []corev1.ContainerPort{{Name: metricsPort, ContainerPort: spec.Exporter.Port,
			Protocol: corev1.ProtocolTCP}},
		SecurityContext: security,
	}
}

func tcpProbe(port string, periodSeconds int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port)}},
		PeriodSeconds: periodSeconds,
	}
}

func service(m *cachev1alpha1.Memcached, selector map[string]string) *corev1.Service {
	ports := []corev1.ServicePort{{Name: memcachedPort, Port: m.Spec.Port, TargetPort: intstr.FromString(memcachedPort),
		Protocol: corev1.ProtocolTCP}}
	if m.Spec.Exporter != nil {
		ports = append(ports, corev1.ServicePort{Name: metricsPort, Port: m.Spec.Exporter.Port,
			TargetPort: intstr.FromString(metricsPort), Protocol: corev1.ProtocolTCP})
	}
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  selector,
			Ports:     ports,
		},
	}
}

const mebi = 1 << 20

// memcachedResources returns the resources of the container: as in the spec, with the computed memory
// unless the spec has memory.
func memcachedResources(spec cachev1alpha1.MemcachedSpec) corev1.ResourceRequirements {
	resources := *spec.Resources.DeepCopy()
	_, isRequested := resources.Requests[corev1.ResourceMemory]
	_, isLimited := resources.Limits[corev1.ResourceMemory]
	if isRequested || isLimited {
		return resources
	}
	memory := memcachedMemory(spec)
	for _, list := range []*corev1.ResourceList{&resources.Requests, &resources.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[corev1.ResourceMemory] = memory
	}
	return resources
}

// memcachedMemory returns the memory of a full memcached, in whole MiB. Measured with memcached 1.6.18,
// caches of 2 to 2,330 MiB and items of 10 B to 500 KiB, it needs beside the items:
//   - a sixth of their memory, while the hash table of the smallest items grows,
//     and a little for page headers;
//   - 38 MiB for the first page of each size of items, even if it is full, and
//     5 MiB at the start;
//   - 18 KiB for each connection whose client is slow to read;
//   - 105 KiB for each thread.
//
// Clients that pipeline large requests and do not read the answers can need more,
// without bound: memcached has no limit for that.
func memcachedMemory(spec cachev1alpha1.MemcachedSpec) resource.Quantity {
	const kibi = 1 << 10
	items := spec.MemoryLimit.Value()
	bytes := items + items/5 + 48*mebi + 24*kibi*int64(spec.MaxConnections) + 256*kibi*int64(spec.Threads)
	return *resource.NewQuantity((bytes+mebi-1)/mebi*mebi, resource.BinarySI)
}
