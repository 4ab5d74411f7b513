package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KindMemcached is the kind of a Memcached.
const KindMemcached = "Memcached"

// Memcached is a memcached cache of one or more Pods. It is rendered to a
// Deployment, a headless Service and, for a size over 1, a
// PodDisruptionBudget, all of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-wave=-1"
// +kubebuilder:resource:shortName=mc,categories=gatehouse
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Pods wanted"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readySize`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the cache serves"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Memory",type=string,priority=1,JSONPath=`.spec.memoryLimit`,description="Memory for items, in each Pod"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="must be at most 52 characters, so that the names of its Pods fit"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Service: lower case letters, digits and '-', starting with a letter"
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired cache.
	// +optional
	// +kubebuilder:default={}
	Spec MemcachedSpec `json:"spec,omitzero"`

	// status is the last status that the controller observed. Before that,
	// observedGeneration is -1, so that no tool takes the object for reconciled.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedSpec is the desired cache.
type MemcachedSpec struct {
	// size is the number of Pods. Each holds a cache of its own: clients spread
	// keys over the addresses of the headless Service. An environment that needs
	// more than the maximum raises it in its copy of this CustomResourceDefinition.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:example=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3
	Size int32 `json:"size,omitempty"`

	// image is the container image of memcached. The program is started by its
	// name, `memcached`, and must understand the long options of memcached 1.5 and
	// later.
	// +optional
	// +kubebuilder:default="memcached:1.6.26-alpine3.19"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// memoryLimit is the memory for items in each Pod, at least 2Mi. It becomes
	// memcached's `--memory-limit`, in whole MiB, rounded down. The container
	// requests, and is limited to, this memory plus the memory for memcached's hash
	// table, connections and threads.
	// +optional
	// +kubebuilder:default="64Mi"
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('2Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Ti')) <= 0",message="must be a quantity from 2Mi to 1Ti, like 64Mi"
	MemoryLimit *resource.Quantity `json:"memoryLimit,omitempty"`

	// maxConnections is the most connections that each Pod accepts at a time. It
	// becomes `--conn-limit`.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=32
	// +kubebuilder:validation:Maximum=1000000
	MaxConnections int32 `json:"maxConnections,omitempty"`

	// threads is the number of threads that serve requests. It becomes
	// `--threads`.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Threads int32 `json:"threads,omitempty"`

	// port is the TCP port on which memcached listens, in the Pods and in the
	// Service.
	// +optional
	// +kubebuilder:default=11211
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// args are further arguments for memcached, after the arguments from the other
	// fields. If both set an option, memcached takes the last. It gets them byte for
	// byte: Kubernetes expands nothing in them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Args []string `json:"args,omitempty"`

	// resources override the resources that follow from memoryLimit, maxConnections
	// and threads. If a resource has a request or a limit here, both are taken from
	// here alone.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// exporter adds a sidecar to each Pod that serves memcached's statistics to
	// Prometheus.
	// +optional
	// +kubebuilder:example={}
	Exporter *MemcachedExporter `json:"exporter,omitempty"`
}

// MemcachedExporter is a sidecar that serves memcached's statistics to
// Prometheus on `/metrics`.
type MemcachedExporter struct {
	// image is the container image of the exporter. Its entrypoint must take the
	// flags of prometheus/memcached_exporter.
	// +optional
	// +kubebuilder:default="quay.io/prometheus/memcached-exporter:v0.15.3"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// port is the TCP port on which the exporter listens.
	// +optional
	// +kubebuilder:default=9150
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// MemcachedStatus is the last status that the controller observed.
type MemcachedStatus struct {
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Available (at least one Pod serves), Progressing (a rollout
	// is under way), Degraded (fewer Pods than desired are ready), Ready (the cache
	// is as the spec asks) and, if they apply, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// size is the number of Pods that the Deployment asks for.
	// +optional
	Size *int32 `json:"size,omitempty"`

	// readySize is the number of Pods that are ready.
	// +optional
	ReadySize *int32 `json:"readySize,omitempty"`

	// nodes are the names of the ready Pods, sorted.
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`
}

// MemcachedList is a list of Memcacheds.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Memcached `json:"items"`
}
