// Package webservice is the kind WebService.
package webservice

import (
	_ "embed"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "example.com/customcluster/webservice/v1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
)

//go:embed platform.example.org_webservices.yaml
var definition []byte

// Kind is the kind WebService.
var Kind = kind.Define(kind.Definition[v1.WebService, v1.WebServiceStatus]{
	GVK:         schema.GroupVersionKind{Group: v1.GroupName, Version: "v1", Kind: "WebService"},
	AddToScheme: v1.Install,
	CRD:         definition,
	Fields: kind.Fields{
		Images: []string{"spec.image"},
		References: []kind.Reference{ // the Service of a WebService has its name
			{
				In:    schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"},
				Field: "spec.rules.http.paths.backend.service.name",
			},
		},
	},
	Children: []kind.Child{
		{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment")},
		{GVK: corev1.SchemeGroupVersion.WithKind("Service"), Unobserved: true},
		{GVK: corev1.SchemeGroupVersion.WithKind("ServiceAccount"), Unobserved: true},
		{GVK: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Unobserved: true},
		{GVK: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")},
		{GVK: autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")},
		{GVK: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Unobserved: true},
	},
	Expand: expand,
	Review: review,
})

const (
	label = "platform.example.org/webservice"
	port  = 8080
)

func expand(w *v1.WebService) ([]kind.Object, error) {
	if errs := validate(w); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	selector := metav1.LabelSelector{MatchLabels: map[string]string{label: w.Name}}
	objects := []kind.Object{
		&corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), AutomountServiceAccountToken: new(false)},
		deployment(w, selector),
		&corev1.Service{TypeMeta: typeMeta("v1", "Service"), Spec: corev1.ServiceSpec{
			Selector: selector.MatchLabels,
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}},
		}},
		networkPolicy(w, selector),
		autoscaler(w),
		disruptionBudget(selector),
	}
	if w.Spec.Host != "" {
		objects = append(objects, ingress(w))
	}
	return objects, nil
}

// validate returns violations of rules that the schema cannot express.
func validate(w *v1.WebService) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	if w.Spec.Host != "" {
		for _, message := range validation.IsDNS1123Subdomain(w.Spec.Host) {
			errs = append(errs, field.Invalid(spec.Child("host"), w.Spec.Host, message))
		}
	}
	for i, namespace := range w.Spec.AllowFrom {
		for _, message := range validation.IsDNS1123Label(namespace) {
			errs = append(errs, field.Invalid(spec.Child("allowFrom").Index(i), namespace, message))
		}
	}
	return errs
}

func typeMeta(apiVersion, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: name}
}

// deployment has no replicas: its HorizontalPodAutoscaler decides.
func deployment(w *v1.WebService, selector metav1.LabelSelector) *appsv1.Deployment {
	security := pod.ContainerSecurity()
	security.ReadOnlyRootFilesystem = new(true)
	return &appsv1.Deployment{TypeMeta: typeMeta("apps/v1", "Deployment"), Spec: appsv1.DeploymentSpec{
		Selector: &selector,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels},
			Spec: corev1.PodSpec{
				ServiceAccountName: w.Name,
				SecurityContext:    pod.Security(65532),
				Containers: []corev1.Container{{
					Name:            "web",
					Image:           w.Spec.Image,
					Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
					SecurityContext: security,
					ReadinessProbe: &corev1.Probe{
						ProbeHandler: corev1.ProbeHandler{
							TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")},
						},
						PeriodSeconds: 10,
					},
				}},
			},
		},
	}}
}

func disruptionBudget(selector metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: typeMeta("policy/v1", "PodDisruptionBudget"),
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:                   &selector,
			MaxUnavailable:             new(intstr.FromInt32(1)),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// networkPolicy admits the namespace of the WebService, and the namespaces that it names.
func networkPolicy(w *v1.WebService, selector metav1.LabelSelector) *networkingv1.NetworkPolicy {
	from := make([]networkingv1.NetworkPolicyPeer, 0, 1+len(w.Spec.AllowFrom))
	from = append(from, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}})
	for _, namespace := range w.Spec.AllowFrom {
		from = append(from, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
		}})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: typeMeta("networking.k8s.io/v1", "NetworkPolicy"),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: selector,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: from, Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromString("http"))}},
			}},
		},
	}
}

func autoscaler(w *v1.WebService) *autoscalingv2.HorizontalPodAutoscaler {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))}
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: typeMeta("autoscaling/v2", "HorizontalPodAutoscaler"),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: w.Name,
			},
			MinReplicas: &w.Spec.MinReplicas,
			MaxReplicas: w.Spec.MaxReplicas,
			Metrics: []autoscalingv2.MetricSpec{{
				Type:     autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: target},
			}},
		},
	}
}

func ingress(w *v1.WebService) *networkingv1.Ingress {
	service := networkingv1.IngressServiceBackend{Name: w.Name, Port: networkingv1.ServiceBackendPort{Name: "http"}}
	paths := []networkingv1.HTTPIngressPath{{
		Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{Service: &service},
	}}
	http := networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}}
	return &networkingv1.Ingress{
		TypeMeta: typeMeta("networking.k8s.io/v1", "Ingress"),
		Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{Host: w.Spec.Host, IngressRuleValue: http}},
		},
	}
}

// review describes the effects of a change on the callers of the service.
func review(c kind.Change[v1.WebService]) (effects []kind.Effect) {
	switch {
	case c.Before == nil:
		return []kind.Effect{{Type: "serviceAdded", What: "is added"}}
	case c.After == nil:
		return []kind.Effect{{Type: "serviceRemoved", What: "is removed", Risk: "its callers get no answer"}}
	case c.Before.Spec.Host != c.After.Spec.Host:
		effects = append(effects, kind.Effect{
			Type: "hostChanged",
			What: kind.Say("has the host %s instead of %s", c.After.Spec.Host, c.Before.Spec.Host),
			Risk: "callers of the old host get no answer",
		})
	}
	for _, child := range c.Children {
		if child.Pods.Replaced {
			what := kind.Say("its Pods are replaced: %s", child.Pods.Difference)
			effects = append(effects, kind.Effect{Type: "podsReplaced", What: what})
		}
	}
	return effects
}
