// Package market has kinds that are not Gatehouse's, for tests: a Shop is rendered to Pods and
// a Deployment and has the status that comes for free; a Stall is a Shop whose status says
// more.
package market

import (
	_ "embed"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
)

// groupVersion is that of both kinds.
var groupVersion = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}

// The labels of what is rendered.
const (
	Label      = "shop.example.com/shop"
	StallLabel = "shop.example.com/stall"
)

var (
	//go:embed shops.yaml
	shops []byte
	//go:embed stalls.yaml
	stalls []byte
)

// Kind is the kind Shop.
var Kind = kind.Define(kind.Definition[Shop]{
	GVK: groupVersion.WithKind("Shop"),
	AddToScheme: func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, groupVersion)
		scheme.AddKnownTypes(groupVersion, &Shop{}, &ShopList{})
		return nil
	},
	CRD:      shops,
	Children: children,
	Expand:   func(s *Shop) ([]kind.Object, error) { return expand(s.Spec, Label, s.Name) },
})

// StallKind is the kind Stall.
var StallKind = kind.Define(kind.Definition[Stall]{
	GVK: groupVersion.WithKind("Stall"),
	AddToScheme: func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, groupVersion)
		scheme.AddKnownTypes(groupVersion, &Stall{}, &StallList{})
		return nil
	},
	CRD:      stalls,
	Children: children,
	Expand:   func(s *Stall) ([]kind.Object, error) { return expand(s.Spec, StallLabel, s.Name) },
	Status: func(s kind.Snapshot[Stall]) kind.Decision {
		next := StallStatus{Status: s.Status, Greeting: s.Object.Spec.Message}
		for _, child := range s.Children {
			if pod, ok := child.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
				next.Running++
			}
		}
		return kind.Decision{Status: next, Wake: s.Wake}
	},
})

var children = []kind.Child{
	{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true},
	{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment")},
	{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Unobserved: true},
}

// Spec is what a Shop or a Stall is to be.
type Spec struct {
	// pods is the number of Pods.
	Pods int32 `json:"pods,omitempty"`
	// replicas are those of the Deployment; without them there is none.
	Replicas *int32 `json:"replicas,omitempty"`
	// message is what each Pod says. "fail" cannot be rendered, and "panic" neither.
	Message string `json:"message,omitempty"`
}

// Shop is a kind without a decision of its own.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec       `json:"spec,omitempty"`
	Status ShopStatus `json:"status,omitempty"`
}

// ShopStatus is the status of a Shop.
type ShopStatus struct {
	kind.Status `json:",inline"`
}

// ShopList is a list of Shops.
type ShopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Shop `json:"items"`
}

// Stall is a kind that decides more than what comes for free.
type Stall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec        `json:"spec,omitempty"`
	Status StallStatus `json:"status,omitempty"`
}

// StallStatus is the status of a Stall.
type StallStatus struct {
	kind.Status `json:",inline"`

	// running is how many Pods run.
	Running int32 `json:"running"`
	// greeting is what they say.
	Greeting string `json:"greeting,omitempty"`
}

// StallList is a list of Stalls.
type StallList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Stall `json:"items"`
}

// expand makes Pods, a ConfigMap and, where the spec has replicas, a Deployment.
func expand(spec Spec, label, name string) ([]kind.Object, error) {
	switch spec.Message {
	case "fail":
		return nil, errors.New("spec.message: nobody says fail")
	case "panic":
		panic("nobody says panic")
	}
	container := corev1.Container{Name: "c", Image: "i", Command: []string{"echo", spec.Message}}
	objects := []kind.Object{&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Data:     map[string]string{"message": spec.Message},
	}}
	for i := range spec.Pods {
		objects = append(objects, &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i)},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}},
		})
	}
	if spec.Replicas == nil {
		return objects, nil
	}
	labels := map[string]string{label: name, kind.ManagedByLabel: kind.ManagedBy}
	return append(objects, &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(*spec.Replicas),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
			},
		},
	}), nil
}
