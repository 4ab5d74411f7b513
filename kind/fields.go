package kind

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Fields are the fields of a kind that have a meaning for kustomize. A path is that of a field,
// such as spec.image; what follows the name of a list is a field of each of its items.
type Fields struct {
	// Images are the fields that `images:` of a kustomization sets: texts.
	Images []string

	// Replicas are the fields that `replicas:` of a kustomization sets: integers. A field that
	// is not there is added.
	Replicas []string

	// References are the fields that hold the name of an object. What changes the name, like
	// `namePrefix:` or the hash of a generated ConfigMap, changes the field as well.
	References []Reference
}

// Reference is a field that holds the name of an object, which is of the kind or referred to by it.
type Reference struct {
	// Field is the path of the field.
	Field string

	// In are the group and kind of the objects that have the field; zero for those of the kind.
	// An empty group stands for any.
	In schema.GroupKind

	// To are the group, version and kind of the object that is named; zero for those of the
	// kind, whose name what is rendered from it has. An empty part stands for any.
	To schema.GroupVersionKind
}

func (f Fields) clone() Fields {
	return Fields{slices.Clone(f.Images), slices.Clone(f.Replicas), slices.Clone(f.References)}
}

// fieldSpec is a field as a file of `configurations:` names it.
type fieldSpec struct {
	Path   string `json:"path"`
	Create bool   `json:"create,omitempty"`
	Group  string `json:"group,omitempty"`
	Kind   string `json:"kind,omitempty"`
}

// nameReference has the fields that hold the name of an object of a kind.
type nameReference struct {
	Kind       string      `json:"kind"`
	Group      string      `json:"group,omitempty"`
	Version    string      `json:"version,omitempty"`
	FieldSpecs []fieldSpec `json:"fieldSpecs"`
}

// KustomizeConfig returns what `kustomize build` has to be told of the fields of the kind, as a file of
// `configurations:` has it; nil where that is nothing.
func (k *Kind) KustomizeConfig() []byte {
	var c KustomizeConfig
	if c.Add(k); c.isEmpty() {
		return nil
	}
	return slices.Concat([]byte("# What kustomize build has to be told of "+k.gvk.Kind+". render knows it by itself.\n"), c.YAML())
}

// KustomizeConfig is what kustomize has to know of the fields of kinds, as a file of
// `configurations:` has it.
type KustomizeConfig struct {
	Images        []fieldSpec     `json:"images,omitempty"`
	Replicas      []fieldSpec     `json:"replicas,omitempty"`
	NameReference []nameReference `json:"nameReference,omitempty"`
}

// Add adds the fields of a kind.
func (c *KustomizeConfig) Add(k *Kind) {
	field := func(path string, in schema.GroupKind) fieldSpec {
		return fieldSpec{Path: strings.ReplaceAll(path, ".", "/"), Group: in.Group, Kind: in.Kind}
	}
	own := k.gvk.GroupKind()
	for _, path := range k.fields.Images {
		c.Images = append(c.Images, field(path, own))
	}
	for _, path := range k.fields.Replicas {
		size := field(path, own)
		size.Create = true
		c.Replicas = append(c.Replicas, size)
	}
	for _, r := range k.fields.References {
		if r.In.Empty() {
			r.In = own
		}
		if r.To.Empty() {
			r.To = own.WithVersion("")
		}
		c.addReference(r.To, field(r.Field, r.In))
	}
}

func (c *KustomizeConfig) addReference(to schema.GroupVersionKind, field fieldSpec) {
	i := slices.IndexFunc(c.NameReference, func(n nameReference) bool {
		return n.Kind == to.Kind && n.Group == to.Group && n.Version == to.Version
	})
	if i < 0 {
		i = len(c.NameReference)
		c.NameReference = append(c.NameReference, nameReference{Kind: to.Kind, Group: to.Group, Version: to.Version})
	}
	c.NameReference[i].FieldSpecs = append(c.NameReference[i].FieldSpecs, field)
}

func (c *KustomizeConfig) isEmpty() bool {
	return len(c.Images)+len(c.Replicas)+len(c.NameReference) == 0
}

// YAML returns the configuration in YAML.
func (c *KustomizeConfig) YAML() []byte {
	text, err := yaml.Marshal(c)
	if err != nil { // it is plain data
		panic(err)
	}
	return text
}
