// Package everything has a kind with a field of each type that controller-gen accepts. After a change:
//
//	go tool -modfile=test/tools/go.mod controller-gen object paths=./kind/registry/testdata/everything
//	go tool -modfile=test/tools/go.mod controller-gen crd:maxDescLen=0,allowDangerousTypes=true,ignoreUnexportedFields=true paths=./kind/registry/testdata/everything output:crd:dir=kind/registry/testdata/everything
//
// +kubebuilder:object:generate=true
// +groupName=test.example.com
// +versionName=v1
package everything

import (
	_ "embed"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/gatehouse/kind"
)

// GroupVersion is the group and version of the kind.
var GroupVersion = schema.GroupVersion{Group: "test.example.com", Version: "v1"}

// CRD is the CustomResourceDefinition.
//
//go:embed test.example.com_everythings.yaml
var CRD []byte

// AddToScheme adds the kind to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Everything{}, &EverythingList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Everything struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status ObservedStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true
type EverythingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Everything `json:"items"`
}

type ObservedStatus struct {
	kind.Status `json:",inline"`
	Count       int32 `json:"count,omitempty"`
}

type Spec struct {
	Inlined      `json:",inline"`
	*Pointed     `json:",inline"`
	InlinedNamed `json:"named,omitempty"`
	hidden       string
	Ignored      string                          `json:"-"`
	Text         string                          `json:"text"`
	Alias        types.UID                       `json:"alias,omitempty"`
	Int          int                             `json:"int,omitempty"`
	Int32        *int32                          `json:"int32,omitempty"`
	Uint16       uint16                          `json:"uint16,omitempty"`
	Bool         *bool                           `json:"bool,omitempty"`
	Bytes        []byte                          `json:"bytes,omitempty"`
	Strings      []string                        `json:"strings,omitempty"`
	Lists        [][]string                      `json:"lists,omitempty"`
	Map          map[string]string               `json:"map,omitempty"`
	NamedMap     map[Key]Inlined                 `json:"namedMap,omitempty"`
	MapOfLists   map[string][]Inlined            `json:"mapOfLists,omitempty"`
	Pointers     []*Inlined                      `json:"pointers,omitempty"`
	Time         metav1.Time                     `json:"time,omitzero"`
	TimePointer  *metav1.Time                    `json:"timePointer,omitempty"`
	MicroTime    metav1.MicroTime                `json:"microTime,omitzero"`
	Duration     *metav1.Duration                `json:"duration,omitempty"`
	Quantity     resource.Quantity               `json:"quantity,omitempty"`
	IntOrString  *intstr.IntOrString             `json:"intOrString,omitempty"`
	JSON         apiextensionsv1.JSON            `json:"json,omitempty"`
	JSONMap      map[string]apiextensionsv1.JSON `json:"jsonMap,omitempty"`
	Raw          runtime.RawExtension            `json:"raw,omitempty"`
	Env          []corev1.EnvVar                 `json:"env,omitempty"`
	Resources    corev1.ResourceRequirements     `json:"resources,omitzero"`
	Limits       corev1.ResourceList             `json:"limits,omitempty"`
	Policy       corev1.RestartPolicy            `json:"policy,omitempty"`
	Selector     *metav1.LabelSelector           `json:"selector,omitempty"`
	Local        corev1.LocalObjectReference     `json:"local,omitempty"`
	Reference    `json:",inline"`
	Template     Template                     `json:"template,omitempty"`
	Backend      *networkingv1.IngressBackend `json:"backend,omitempty"`
	Text2        Upper                        `json:"text2,omitempty"`
	Conditions   []metav1.Condition           `json:"conditions,omitempty"`

	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	RawMessage json.RawMessage `json:"rawMessage,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Recursive *Tree `json:"recursive,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Preserved Inlined `json:"preserved,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Embedded runtime.RawExtension `json:"embedded,omitempty"`
	// +kubebuilder:validation:Type=string
	Marshalled Marshalled `json:"marshalled,omitempty"`
	// +kubebuilder:validation:Type=number
	Float float64 `json:"float,omitempty"`
	// +kubebuilder:validation:XIntOrString
	Port *intstr.IntOrString `json:"port,omitempty"`
	// +kubebuilder:validation:Enum=A;B
	// +kubebuilder:validation:MaxLength=3
	Enum Enum `json:"enum,omitempty"`
	// +nullable
	Nullable *string `json:"nullable"`
}

type Key string

// +kubebuilder:validation:MaxLength=5
// +kubebuilder:validation:Enum=A;B;C
type Enum string

type Inlined struct {
	First  string `json:"first,omitempty"`
	Second *Deep  `json:"second,omitempty"`
}

type Deep struct {
	Third map[string]int64 `json:"third,omitempty"`
}

type Pointed struct {
	Fourth bool `json:"fourth,omitempty"`
}

type InlinedNamed struct {
	Fifth bool `json:"fifth,omitempty"`
}

type Reference struct {
	corev1.ObjectReference `json:",inline"`
}

type Template struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Inlined `json:"spec,omitempty"`
}

type Tree struct {
	Children []Tree           `json:"children,omitempty"`
	ByName   map[string]*Tree `json:"byName,omitempty"`
}

// Marshalled is written as text.
// +kubebuilder:validation:Type=string
type Marshalled struct {
	A, B int
}

// MarshalJSON implements json.Marshaler.
func (m Marshalled) MarshalJSON() ([]byte, error) { return json.Marshal("") }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Marshalled) UnmarshalJSON([]byte) error { return nil }

// Upper is written as text.
type Upper struct {
	text string
}

// MarshalText implements encoding.TextMarshaler.
func (u Upper) MarshalText() ([]byte, error) { return []byte(u.text), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *Upper) UnmarshalText(text []byte) error { u.text = string(text); return nil }
