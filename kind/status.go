package kind

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is the status of a kind without a Status function. Other kinds may extend it. The status
// type embeds it as `json:",inline"`.
//
// +kubebuilder:object:generate=true
type Status struct {
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready (all rendered objects are there and ready), Synced (all
	// rendered objects are in the cluster, and none is left over from another spec)
	// and, if they apply, Reconciling, Stalled and Available, which comes from a
	// rendered object.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// objects is the number of rendered objects that this status depends on.
	// +optional
	Objects *int32 `json:"objects,omitempty"`

	// readyObjects is the number of these objects that are in the cluster, rendered
	// from this spec, and ready.
	// +optional
	ReadyObjects *int32 `json:"readyObjects,omitempty"`

	// rendering is the annotation gatehouse.example.com/rendering of the object when the
	// controller last expanded the spec to the same objects.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Rendering string `json:"rendering,omitempty"`

	// notReady are the first objects that are not ready, sorted by kind and name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	NotReady []NotReady `json:"notReady,omitempty"`
}

// NotReady identifies a rendered object that is not ready.
//
// +kubebuilder:object:generate=true
type NotReady struct {
	// kind is the kind of the object.
	Kind string `json:"kind"`

	// name is the name of the object; of a missing object, as far as it is known.
	Name string `json:"name"`

	// reason is the reason in one word, like ContainersNotReady.
	Reason string `json:"reason"`
}

// Snapshot is the input of Definition.Status.
type Snapshot[T any] struct {
	// Object is the live object. Status must not change it.
	Object *T

	Observation
}

// Observation is the controller's view of the children of an object.
type Observation struct {
	// Children are the live objects of Definition.Children that carry ManagedByLabel and the
	// label of the object. Objects that the cluster made from rendered objects have an owner that
	// controls them. Objects of built-in kinds have their Go type, like *corev1.Pod, and others
	// are *unstructured.Unstructured. Status must not change them.
	//
	// They are not complete. Metadata has the fields that identify an object. The spec has the
	// fields that are neither lists nor mappings. The status is complete, except for Pods: these
	// have the phase, its reason and the condition Ready, and if something is amiss or was
	// restarted, also the containers and the condition PodScheduled.
	Children []Object

	// Status is the status that follows from the rendered objects. A Job is ready if it is
	// complete, a Pod unless it failed or its containers just restarted, and any other object if
	// kstatus computes Current.
	Status Status

	// Wake is the time at which Status may differ although no object changed; zero for never.
	Wake time.Time

	// Now is the time of the decision.
	Now time.Time

	// Grace is how long a rendered object may be missing before the source object is stalled.
	Grace time.Duration
}

// Decision is the result of Definition.Status.
type Decision[S any] struct {
	// Status is the status to write. It must have the condition Ready.
	Status S

	// Wake is the time to decide again although no object changed; zero for never.
	Wake time.Time
}
