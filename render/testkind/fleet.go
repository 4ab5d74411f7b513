// Package testkind has a kind as somebody else would write it, for tests: a Fleet.
//
// +kubebuilder:object:generate=true
// +groupName=testing.example.com
// +versionName=v1
package testkind

import (
	_ "embed"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
)

// Fleet is Pods that each say a message, and a Deployment in front of them.
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
	Spec FleetSpec `json:"spec,omitzero"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status FleetStatus `json:"status,omitzero"`
}

// FleetSpec is the Pods that are wanted.
type FleetSpec struct {
	// pods is the number of Pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Pods int32 `json:"pods,omitempty"`

	// message is what each Pod says.
	// +required
	Message string `json:"message,omitempty"`

	// frontImage is the image of the Deployment. Without it there is none.
	// +optional
	// +kubebuilder:example="nginx:1.29"
	FrontImage string `json:"frontImage,omitempty"`

	// loud says whether the message is in capitals.
	// +optional
	Loud bool `json:"loud,omitempty"`
}

// FleetStatus is what comes for free.
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

// GVK is that of Fleets.
var GVK = schema.GroupVersionKind{Group: "testing.example.com", Version: "v1", Kind: "Fleet"}

//go:embed testing.example.com_fleets.yaml
var definition []byte

// Kind is the kind Fleet.
var Kind = kind.Define(kind.Definition[Fleet]{
	GVK: GVK,
	AddToScheme: func(s *runtime.Scheme) error {
		s.AddKnownTypes(GVK.GroupVersion(), &Fleet{}, &FleetList{})
		metav1.AddToGroupVersion(s, GVK.GroupVersion())
		return nil
	},
	CRD: definition,
	Children: []kind.Child{
		{GVK: corev1.SchemeGroupVersion.WithKind("Pod"), Immutable: true},
		{GVK: appsv1.SchemeGroupVersion.WithKind("Deployment")},
	},
	Expand:       expand,
	KeepDefaults: []string{"spec.frontImage"},
})

func expand(f *Fleet) (objects []kind.Object, err error) {
	for i := range f.Spec.Pods {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		pod.Name = fmt.Sprintf("%s-%d", f.Name, i)
		pod.Spec = podSpec("busybox:1.37", f.Spec.Message)
		objects = append(objects, pod)
	}
	if f.Spec.FrontImage != "" {
		labels := map[string]string{"front": f.Name}
		front := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
		front.Name = f.Name + "-front"
		front.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		front.Spec.Template.Labels = labels
		front.Spec.Template.Spec = podSpec(f.Spec.FrontImage, f.Spec.Message)
		objects = append(objects, front)
	}
	return objects, nil
}

func podSpec(image, message string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "say", Image: image, Env: []corev1.EnvVar{{Name: "MESSAGE", Value: message}},
	}}}
}
