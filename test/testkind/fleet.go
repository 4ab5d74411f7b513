// Package testkind has kinds for tests, written as a user of Gatehouse would write them. A Fleet has
// the default status. A Convoy is the same with a status of its own.
//
// +kubebuilder:object:generate=true
// +groupName=testing.example.com
// +versionName=v1
package testkind

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
)

// Fleet is a number of Pods that each print a message, and a Deployment in front of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=fleets
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.spec.pods`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.spec.message`
type Fleet struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec Spec `json:"spec,omitzero"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status FleetStatus `json:"status,omitzero"`
}

// Spec is the desired Pods.
type Spec struct {
	// pods is the number of Pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Pods int32 `json:"pods,omitempty"`

	// message is the text that each Pod prints.
	// +required
	Message string `json:"message,omitempty"`

	// frontImage is the image of the Deployment. Without it there is no Deployment.
	// +optional
	// +kubebuilder:example="nginx:1.29"
	FrontImage string `json:"frontImage,omitempty"`

	// loud reports whether the message is in capitals.
	// +optional
	Loud bool `json:"loud,omitempty"`
}

// FleetStatus is the default status.
type FleetStatus struct {
	kind.Status `json:",inline"`
}

// FleetList is a list of Fleets.
//
// +kubebuilder:object:root=true
type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Fleet `json:"items"`
}

// Convoy is a Fleet that extends the default status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=convoys
type Convoy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec Spec `json:"spec,omitzero"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ConvoyStatus `json:"status,omitzero"`
}

// ConvoyStatus extends the default status.
type ConvoyStatus struct {
	kind.Status `json:",inline"`

	// running is the number of Pods that run.
	// +optional
	Running int32 `json:"running,omitempty"`
	// greeting is the message of the Pods.
	// +optional
	Greeting string `json:"greeting,omitempty"`
}

// ConvoyList is a list of Convoys.
//
// +kubebuilder:object:root=true
type ConvoyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Convoy `json:"items"`
}

// The labels of the rendered objects of Fleets and Convoys.
const (
	Label       = "testing.example.com/fleet"
	ConvoyLabel = "testing.example.com/convoy"
)

var groupVersion = schema.GroupVersion{Group: "testing.example.com", Version: "v1"}

var (
	//go:embed testing.example.com_fleets.yaml
	fleets []byte
	//go:embed testing.example.com_convoys.yaml
	convoys []byte
)

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(groupVersion, &Fleet{}, &FleetList{}, &Convoy{}, &ConvoyList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return nil
}

// Kind is the kind Fleet.
var Kind = kind.Define(Definition())

// Definition returns the Definition of Fleet, for tests that change it.
func Definition() kind.Definition[Fleet, FleetStatus] {
	return kind.Definition[Fleet, FleetStatus]{
		GVK:          groupVersion.WithKind("Fleet"),
		AddToScheme:  addToScheme,
		CRD:          fleets,
		Children:     slices.Clone(children),
		Expand:       func(f *Fleet) ([]kind.Object, error) { return expand(f.Name, f.Spec) },
		KeepDefaults: []string{"spec.frontImage"},
	}
}

// ConvoyKind is the kind Convoy.
var ConvoyKind = kind.Define(kind.Definition[Convoy, ConvoyStatus]{
	GVK:         groupVersion.WithKind("Convoy"),
	AddToScheme: addToScheme,
	CRD:         convoys,
	Children:    children,
	Expand:      func(c *Convoy) ([]kind.Object, error) { return expand(c.Name, c.Spec) },
	Status: func(s kind.Snapshot[Convoy]) kind.Decision[ConvoyStatus] {
		next := ConvoyStatus{Status: s.Status, Greeting: s.Object.Spec.Message}
		for _, child := range s.Children {
			if pod, ok := child.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
				next.Running++
			}
		}
		return kind.Decision[ConvoyStatus]{Status: next, Wake: s.Wake}
	},
})

var children = []kind.Child{
	{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true},
	{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment")},
	{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Unobserved: true},
}

func expand(name string, spec Spec) (objects []kind.Object, err error) {
	switch spec.Message {
	case "fail":
		return nil, errors.New("spec.message: nobody says fail")
	case "panic":
		panic("nobody says panic")
	}
	for i := range spec.Pods {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		pod.Name = fmt.Sprintf("%s-%d", name, i)
		pod.Spec = podSpec("busybox:1.37", spec.Message)
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		objects = append(objects, pod)
	}
	if spec.Loud {
		objects = append(objects, &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			Data:     map[string]string{"message": spec.Message},
		})
	}
	if spec.FrontImage != "" {
		labels := map[string]string{"front": name, kind.ManagedByLabel: kind.ManagedBy}
		front := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
		front.Name = name + "-front"
		front.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"front": name}}
		front.Spec.Template.Labels = labels
		front.Spec.Template.Spec = podSpec(spec.FrontImage, spec.Message)
		objects = append(objects, front)
	}
	return objects, nil
}

func podSpec(image, message string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "say", Image: image, Env: []corev1.EnvVar{{Name: "MESSAGE", Value: message}},
	}}}
}
