package resourceset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// functions are the additions of flux-operator to slim-sprig (newTemplate in internal/builder/resourceset.go).
func (e *expansion) functions() template.FuncMap {
	toYAML := func(value any) (string, error) {
		content, err := yaml.Marshal(value)
		return string(content), err
	}
	return template.FuncMap{"inputs": func() any { return e.inputs }, "slugify": slugify, "mustToYaml": toYAML,
		"toYaml": func(value any) string { text, _ := toYAML(value); return text }}
}

// errSlug is the error of a text whose letters have to be spelled in other ones.
var errSlug = errors.New("slugify of a text with other letters than English ones")

// maxSlug bounds a slug: it is cut at a word.
const maxSlug = 63

var (
	inSlugs    = strings.NewReplacer("&", "and", "@", "at", `"`, "", "'", "")
	notInSlugs = regexp.MustCompile("[^a-z0-9_-]+")
	dashes     = regexp.MustCompile("-+")
)

// slugify returns a text as a part of names (Make of github.com/gosimple/slug).
func slugify(text string) (string, error) {
	for _, r := range text {
		if r >= 0x80 {
			return "", errSlug
		}
	}
	slug := strings.ToLower(inSlugs.Replace(strings.TrimSpace(text)))
	slug = strings.Trim(dashes.ReplaceAllString(notInSlugs.ReplaceAllString(slug, "-"), "-"), "-_")
	if len(slug) <= maxSlug {
		return slug, nil
	}
	if end := strings.LastIndex(slug[:maxSlug+1], "-"); end >= 0 {
		return slug[:end], nil
	}
	return slug[:maxSlug], nil
}

// finish returns objects with the common metadata, and with the content that they copy from others. One that copies
// what only the cluster has is left out, and named (internal/controller/resourceset_controller_configs.go).
func (e *expansion) finish(objects []Object) (all []Object, err error) {
	for _, o := range objects {
		e.CommonMetadata.SetIn(manifest.Object{Unstructured: o.Unstructured})
		from := o.GetAnnotations()[group+"/copyFrom"]
		isConfigMap := o.GetKind() == "ConfigMap" && o.GetAPIVersion() == "v1"
		isSecret := o.GetKind() == "Secret" && o.GetAPIVersion() == "v1"
		if from != "" && (isConfigMap || isSecret) {
			namespace, name, isRight := strings.Cut(from, "/")
			if !isRight || strings.Contains(name, "/") {
				return nil, field.Invalid(field.NewPath(o.Field).Child("metadata", "annotations").
					Key(group+"/copyFrom"), from, "is no namespace/name")
			}
			if !e.copyContent(o, manifest.ID{Kind: o.GetKind(), Namespace: namespace, Name: name}) {
				e.unknown = append(e.unknown, fmt.Sprintf("copied from the cluster: %s of %s", o.id(), from))
				continue
			}
		}
		if by := o.GetAnnotations()[group+"/convertKubeConfigFrom"]; by != "" && isConfigMap {
			e.unknown = append(e.unknown, fmt.Sprintf("copied from the cluster: %s of %s", o.id(), by))
			continue
		}
		isSum := func(key string, _ any) bool { return key == group+"/checksumFrom" }
		if manifest.Contains(o.Object, isSum) {
			e.unknown = append(e.unknown, fmt.Sprintf("a checksum is in the cluster: %s", o.id()))
		}
		all = append(all, o)
	}
	return all, nil
}

// copyContent copies the content of an object, and reports whether it is known: SOPS encrypts values.
func (e *expansion) copyContent(o Object, from manifest.ID) (isKnown bool) {
	source, isThere := e.world.Find(from)
	if !isThere || manifest.IsEncrypted(source.Unstructured) {
		return false
	}
	for _, name := range []string{"data", "binaryData", "stringData"} {
		if source.Object[name] != nil {
			o.Object[name] = copyOf(source.Object[name])
		}
	}
	if o.Object["type"] == nil && source.Object["type"] != nil {
		o.Object["type"] = source.Object["type"]
	}
	return true
}
