package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/hasher"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// KubernetesChange is a change of the Kubernetes version that an environment declares. An empty version
// stands for the newest one. The change affects validation, and not the cluster.
type KubernetesChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

func (c KubernetesChange) String() string {
	name := func(version string) string {
		if version == "" {
			return "the newest that render supports"
		}
		return "Kubernetes " + version
	}
	return fmt.Sprintf("for %s, before for %s", name(c.After), name(c.Before))
}

// Change is an object that is added, removed, changed, or replaced by one of another name.
type Change struct {
	// Before is nil for an added object, and After for a removed one.
	Before, After *unstructured.Unstructured
	// BeforeFile and AfterFile are relative to the root, with slashes.
	BeforeFile, AfterFile string
	// Notes explains a difference from a cluster: its field manager, and the effect of a sync.
	Notes []string
	// InstalledBy is the HelmRelease or Application of an object that is in no rendered file.
	InstalledBy manifest.ID

	generator string            // see GeneratorOf
	keptBy    *delivery.Setting // of the delivery; nil if it prunes the object
	leftBy    *delivery.Setting // of the delivery; nil if it applies the change
	fields    []FieldChange     // of a comparison

	isReplaced bool // by its Application, as all its objects
}

// Action is the kind of a change.
type Action string

// The actions.
const (
	Added   Action = "added"
	Changed Action = "changed"
	// Replaced is an immutable object, such as a Pod, or an object with the hash of its content in its name,
	// with a successor of another name.
	Replaced Action = "replaced"
	Removed  Action = "removed"
)

// IsCopy reports whether the object is a copy of a definition that another tool installs.
func (c Change) IsCopy() bool {
	return strings.HasPrefix(cmp.Or(c.BeforeFile, c.AfterFile), tree.EnvironmentsFolder+"/")
}

// Action returns the kind of the change.
func (c Change) Action() Action {
	switch {
	case c.Before == nil:
		return Added
	case c.After == nil:
		return Removed
	case c.Before.GetName() != c.After.GetName():
		return Replaced
	}
	return Changed
}

// Object returns the object after the change, or a removed object.
func (c Change) Object() manifest.Object {
	return manifest.Object{Unstructured: cmp.Or(c.After, c.Before)}
}

// Delivers reports whether a tool may make other objects by the object.
func (c Change) Delivers() bool { return render.Delivers(c.Object()) }

func changes(kinds *registry.Kinds, before, after []manifest.Object) (changes []Change,
	unchanged []*unstructured.Unstructured) {
	old := map[manifest.ID][]manifest.Object{} // several deliveries may have an object
	for _, o := range before {
		id := o.IDInNamespace()
		old[id] = append(old[id], o)
	}
	var others []manifest.Object
	for _, o := range after {
		id := o.IDInNamespace()
		isEqual := func(was manifest.Object) bool { return Equal(was.Unstructured, o.Unstructured) }
		i := slices.IndexFunc(old[id], isEqual)
		if i < 0 {
			others = append(others, o)
			continue
		}
		old[id] = slices.Delete(old[id], i, i+1)
		unchanged = append(unchanged, o.Unstructured)
	}
	for _, o := range others {
		c := Change{After: o.Unstructured, AfterFile: o.File, generator: GeneratorOf(o)}
		id := o.IDInNamespace()
		if was := old[id]; len(was) > 0 {
			old[id] = was[1:]
			c.Before = was[0].Unstructured
			c.BeforeFile = was[0].File
			c.generator = ""
		}
		changes = append(changes, c)
	}
	for _, o := range after {
		delete(old, o.IDInNamespace())
	}
	for _, all := range old {
		o := all[0]
		changes = append(changes, Change{Before: o.Unstructured, BeforeFile: o.File, generator: GeneratorOf(o)})
	}
	changes = joinReplacements(kinds, changes)
	slices.SortFunc(changes, Compare)
	return changes, unchanged
}

// joinReplacements joins an added and a removed object with the same purpose into one replacement, unless
// several objects have this purpose.
func joinReplacements(kinds *registry.Kinds, changes []Change) []Change {
	added := map[purpose][]int{}
	removed := map[purpose][]int{}
	for i, c := range changes {
		switch p, ok := purposeOf(kinds, c); {
		case !ok:
		case c.Before == nil:
			added[p] = append(added[p], i)
		case c.After == nil:
			removed[p] = append(removed[p], i)
		}
	}
	for p, in := range added {
		if out := removed[p]; len(in) == 1 && len(out) == 1 {
			is := &changes[in[0]]
			was := &changes[out[0]]
			is.Before = was.Before
			is.BeforeFile = was.BeforeFile
			*was = Change{}
		}
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return c.Before == nil && c.After == nil })
}

// purpose is shared by an object and its replacement.
type purpose struct {
	owner manifest.ID // the source object, or only the namespace of a generated object
	kind  schema.GroupKind
	name  string // the name without the hash
}

// purposeOf returns the purpose of an immutable object, a ConfigMap or a Secret.
func purposeOf(kinds *registry.Kinds, c Change) (purpose, bool) {
	o := c.Object()
	kind := o.GroupVersionKind().GroupKind()
	name := o.GetName()
	if kinds.IsImmutable(o.Unstructured) {
		owner, _ := OwnerOf(kinds, o.Unstructured)
		return purpose{owner, kind, name[:max(strings.LastIndex(name, "-"), 0)]}, true
	}
	return purpose{manifest.ID{Namespace: o.NamespaceOrDefault()}, kind, c.generator}, c.generator != ""
}

// GeneratorOf returns the name of a ConfigMap or Secret, without a hash that kustomize added: the content has this
// hash. It is empty for any other object.
func GeneratorOf(o manifest.Object) string {
	isConfig := o.GroupVersionKind().Group == "" && (o.GetKind() == "ConfigMap" || o.GetKind() == "Secret")
	if o.Generator != "" || !isConfig {
		return o.Generator
	}
	end := max(strings.LastIndex(o.GetName(), "-"), 0)
	node, err := kyaml.FromMap(o.Object)
	if err != nil {
		return o.GetName()
	}
	if hash, err := (&hasher.Hasher{}).Hash(node); err != nil || o.GetName()[end:] != "-"+hash {
		return o.GetName()
	}
	return o.GetName()[:end]
}

// OwnerOf returns the source object of a rendered object, and a source object itself.
func OwnerOf(kinds *registry.Kinds, o *unstructured.Unstructured) (owner manifest.ID, ok bool) {
	if kinds.Find(o.GroupVersionKind()) != nil {
		return manifest.Object{Unstructured: o}.ID(), true
	}
	k := kinds.RenderedFrom(o)
	if k == nil {
		return manifest.ID{}, false
	}
	return manifest.ID{Group: k.GVK().Group, Kind: k.GVK().Kind, Namespace: o.GetNamespace(),
		Name: o.GetLabels()[k.Label()]}, true
}

// Compare orders changes by namespace, kind and name.
func Compare(a, b Change) int {
	x := a.Object().ID()
	y := b.Object().ID()
	return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Kind, y.Kind),
		strings.Compare(x.Name, y.Name), strings.Compare(x.Group, y.Group))
}

// Equal reports whether a cluster treats two objects as the same.
func Equal(a, b *unstructured.Unstructured) bool {
	return a == b || bytes.Equal(toYAML(a), toYAML(b)) || equality.Semantic.DeepEqual(toTyped(a), toTyped(b))
}

// toTyped converts an object of a built-in kind to its Go type, where the quantities 1000m and 1 are equal.
// It returns any other object, and an object with unknown fields, unchanged.
func toTyped(o *unstructured.Unstructured) any {
	versioned, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil || manifest.HasHugeQuantity(o.Object) {
		return o
	}
	const returnUnknownFields = true
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, versioned,
		returnUnknownFields); err != nil {
		return o
	}
	return versioned
}
