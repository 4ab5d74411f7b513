package kind

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is what every status says that a kind does not decide by itself. The status of
// its Go type embeds it, `json:",inline"`.
//
// +kubebuilder:object:generate=true
type Status struct {
	// observedGeneration is the metadata.generation that this status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready (all that the spec is rendered to is there and ready), where
	// they apply Reconciling and Stalled, Synced (what the spec is rendered to is in the
	// cluster, and nothing is left over from another), and Available where what it is
	// rendered to has that condition.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// objects is the number of objects that the spec is rendered to and that this status
	// depends on.
	// +optional
	Objects *int32 `json:"objects,omitempty"`

	// readyObjects is the number of those that are in the cluster, as they were rendered
	// from this spec, and ready.
	// +optional
	ReadyObjects *int32 `json:"readyObjects,omitempty"`

	// rendering is the annotation gatehouse.example.com/rendering that the object had when the
	// controller last rendered the spec to the same.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Rendering string `json:"rendering,omitempty"`

	// notReady are the first of those that are not, sorted by kind and name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	NotReady []NotReady `json:"notReady,omitempty"`
}

// NotReady is an object that is not ready.
//
// +kubebuilder:object:generate=true
type NotReady struct {
	// kind is its kind.
	Kind string `json:"kind"`

	// name is its name; of one that is missing, as far as it is known.
	Name string `json:"name"`

	// reason says in a word why it is not ready, like ContainersNotReady.
	Reason string `json:"reason"`
}

// Snapshot is what a status is decided from.
type Snapshot[T any] struct {
	// Object is the object as it is in the cluster. It is not to be changed.
	Object *T

	Observation
}

// Observation is what a controller sees of what was rendered from an object.
type Observation struct {
	// Children are the objects of Kind.Children in the cluster that carry the label of the
	// object and ManagedByLabel, also those that others made: these have an owner that
	// controls them. Of a kind that the Go client of Kubernetes has they are of its type,
	// like *corev1.Pod, and otherwise *unstructured.Unstructured. Of their metadata they
	// have what identifies them, of their spec what is neither a list nor a mapping, and
	// their status; of the status of a Pod phase and reason, the condition Ready, and
	// PodScheduled and the containers where something is amiss or was restarted. They are not to
	// be changed.
	Children []Object

	// Status is what they make of the status: each is ready when kstatus says that it is
	// current, a Job when it is complete, and a Pod unless it failed or its containers were
	// restarted a moment ago. What others made does not count.
	Status Status

	// Wake is when Status may be another though nothing changes; zero for never.
	Wake time.Time

	// Now is the time.
	Now time.Time

	// Grace is for how long something may be missing before its object is stalled.
	Grace time.Duration
}

// Decision is what a status is to be. It has a condition Ready.
type Decision[S any] struct {
	Status S

	// Wake is when to decide again though nothing changes; zero for never.
	Wake time.Time
}
