package delivery

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
)

// Overlay has the fields of a Kustomization of Flux, or of a source of an Application of Argo CD, that change the
// objects that kustomize builds. Their names do not depend on case.
type Overlay struct {
	Path                       string
	Components                 []string
	IgnoreMissingComponents    bool
	Patches                    []types.Patch
	Images                     []Image
	NamePrefix, NameSuffix     string
	TargetNamespace, Namespace string // of Flux and of Argo CD

	// Of Flux.
	BuildMetadata  []string
	CommonMetadata Metadata
	PostBuild      struct {
		SubstituteStrategy string
		Substitute         map[string]string
		SubstituteFrom     []struct {
			Kind, Name string
			Optional   bool
		}
	}

	// Of Argo CD.
	CommonLabels, CommonAnnotations             map[string]string
	ForceCommonLabels, ForceCommonAnnotations   bool
	CommonAnnotationsEnvsubst                   bool
	LabelWithoutSelector, LabelIncludeTemplates bool
	Replicas                                    []struct {
		Name  string
		Count intstr.IntOrString
	}
}

// Image is an entry of images: a mapping, or Argo CD's NAME=NEW:TAG@DIGEST or NAME:TAG@DIGEST.
type Image types.Image

// UnmarshalJSON implements json.Unmarshaler.
func (i *Image) UnmarshalJSON(content []byte) error {
	var entry string
	if json.Unmarshal(content, &entry) != nil {
		return json.Unmarshal(content, (*types.Image)(i))
	}
	name, replacement, isRenamed := strings.Cut(entry, "=")
	if !isRenamed {
		name = ""
		replacement = entry
	}
	replacement, i.Digest, _ = strings.Cut(replacement, "@")
	if colon := strings.LastIndex(replacement, ":"); colon > strings.LastIndex(replacement, "/") {
		replacement, i.NewTag = replacement[:colon], replacement[colon+1:]
	}
	i.Name, i.NewName = name, replacement
	if !isRenamed {
		i.Name = replacement
		i.NewName = ""
	}
	return nil
}

// MergeInto adds the fields to a kustomization, as the tool does: Flux when it builds the overlay, and Argo CD by
// `kustomize edit`, unless it refuses them. Flux sets CommonMetadata in the built objects. Find returns the components
// that are there for a path or, for Argo CD, a pattern.
func (o Overlay) MergeInto(k types.Kustomization, isFlux bool,
	find func(component string) []string) types.Kustomization {
	k.Namespace = cmp.Or(o.TargetNamespace, o.Namespace, k.Namespace)
	k.NamePrefix, k.NameSuffix = cmp.Or(o.NamePrefix, k.NamePrefix), cmp.Or(o.NameSuffix, k.NameSuffix)
	k.Patches = append(k.Patches, o.Patches...)
	for _, component := range o.Components {
		found := find(component)
		if len(found) == 0 && !o.IgnoreMissingComponents {
			found = []string{component}
		}
		k.Components = append(k.Components, found...)
	}
	k.Images, k.Replicas = slices.Clone(k.Images), slices.Clone(k.Replicas) // the caller keeps its own
	for _, i := range o.Images {
		at := slices.IndexFunc(k.Images, func(other types.Image) bool { return other.Name == i.Name })
		switch {
		case at < 0 && isFlux:
			k.Images = append(k.Images, types.Image(i))
		case at < 0:
			k.Images = append(k.Images, i.over(types.Image{}))
		case !isFlux:
			k.Images[at] = i.over(k.Images[at])
		default: // Flux changes the entry
			old := &k.Images[at]
			old.NewName = cmp.Or(i.NewName, old.NewName)
			if i.NewTag != "" || i.Digest != "" {
				old.NewTag = i.NewTag
				old.Digest = i.Digest
			}
		}
	}
	for _, r := range o.Replicas {
		k.Replicas = slices.DeleteFunc(k.Replicas, func(other types.Replica) bool { return other.Name == r.Name })
		k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: int64(r.Count.IntValue())})
	}
	o.setMetadata(&k)
	if isFlux && len(k.Resources) == 0 { // so Flux makes kustomize accept an empty one
		k.BuildMetadata = []string{types.OriginAnnotations}
	}
	if len(o.BuildMetadata) > 0 {
		k.BuildMetadata = o.BuildMetadata
	}
	return k
}

// IsApplication reports whether an object is an Application of Argo CD.
func IsApplication(o manifest.Object) bool {
	return o.GetKind() == "Application" && manifest.Group(o.GetAPIVersion()) == "argoproj.io"
}

// InCluster is the server of the cluster that Argo CD runs in.
const InCluster = "https://kubernetes.default.svc"

// IsInCluster reports whether the destination of an Application is the cluster that Argo CD runs in.
func IsInCluster(name, server string) bool {
	return (name == "" || name == "in-cluster") && (server == "" || server == InCluster)
}
