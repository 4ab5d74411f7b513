package kind

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Fields are the fields of a kind that kustomize transforms. They are paths, such as spec.image. In a
// path, the name of a list stands for each of its items.
type Fields struct {
	// Images are the text fields that `images:` of a kustomization sets.
	Images []string

	// Replicas are the integer fields that `replicas:` of a kustomization sets, or adds.
	Replicas []string

	// References are the fields that hold the name of an object. A transformation of the name,
	// like `namePrefix:` or the hash of a generated ConfigMap, changes the field as well.
	References []Reference
}

// Reference is a field that holds the name of an object. The field, the object or both are of the kind.
type Reference struct {
	// Field is the path of the field.
	Field string

	// In is the kind of the objects with the field; zero for the kind itself. An empty group
	// stands for any group.
	In schema.GroupKind

	// To is the kind of the named object; zero for the kind itself, whose children have the same
	// name. An empty part stands for any.
	To schema.GroupVersionKind
}

func (f Fields) clone() Fields {
	return Fields{slices.Clone(f.Images), slices.Clone(f.Replicas), slices.Clone(f.References)}
}

// fieldSpec is a field in a file of `configurations:`.
type fieldSpec struct {
	Path   string `json:"path"`
	Create bool   `json:"create,omitempty"`
	Group  string `json:"group,omitempty"`
	Kind   string `json:"kind,omitempty"`
}

// nameReference lists the fields that hold the name of an object of a kind.
type nameReference struct {
	Kind       string      `json:"kind"`
	Group      string      `json:"group,omitempty"`
	Version    string      `json:"version,omitempty"`
	FieldSpecs []fieldSpec `json:"fieldSpecs"`
}

// KustomizeConfig returns the Fields as a file for `configurations:` of a kustomization, or nil if the
// kind has none.
func (k *Kind) KustomizeConfig() []byte {
	var c KustomizeConfig
	if c.Add(k); c.isEmpty() {
		return nil
	}
	return slices.Concat([]byte("# The fields of "+k.GVK().Kind+
		" that kustomize build transforms. render knows them by itself.\n"), c.YAML())
}

// KustomizeConfig is the Fields of kinds in the form of a file for `configurations:` of a kustomization.
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
	own := k.GVK().GroupKind()
	for _, path := range k.Fields().Images {
		c.Images = append(c.Images, field(path, own))
	}
	for _, path := range k.Fields().Replicas {
		size := field(path, own)
		size.Create = true
		c.Replicas = append(c.Replicas, size)
	}
	for _, r := range k.Fields().References {
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
	if err != nil { // plain data always marshals
		panic(err)
	}
	return text
}

// timeSyntax matches an RFC 3339 time, with the name of a time zone of RFC 9557 after it. time.Parse
// would accept more, like T9:00:00 and 09:00:00,5.
var timeSyntax = regexp.MustCompile(
	`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|` +
		`2[0-3]):[0-5]\d))(?:\[([A-Z][\w+-]*(?:/[A-Z][\w+-]*)*)\])?$`)

// ParseTime parses the time in a TimeField, such as 2027-01-04T06:00:00+01:00[Europe/Berlin]. It returns
// the name of the time zone as well, or an empty string. The offset alone decides the instant:
// ParseTime does not look up the zone.
func ParseTime(text string) (t time.Time, zone string, err error) {
	if parts := timeSyntax.FindStringSubmatch(text); parts != nil {
		if t, err = time.Parse(time.RFC3339, parts[1]); err == nil {
			return t, parts[2], nil
		}
	}
	return time.Time{}, "",
		errors.New("must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00")
}
