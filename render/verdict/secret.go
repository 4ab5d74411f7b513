package verdict

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// The values of a Secret are for the cluster, not for git: only encrypted ones are
// rendered, or those of a Secret that says why all may read it.

// PublicAnnotation is on a Secret whose values all may read; its value says why.
const PublicAnnotation = "gatehouse.example.com/public-because"

// decryptAnnotation tells Flux whether to decrypt an object.
const decryptAnnotation = "kustomize.toolkit.fluxcd.io/decrypt"

const (
	readableByAll   = `the values of a Secret would be in git for all to read: encrypt it with SOPS, or write a SealedSecret or an ExternalSecret instead; where all may read them, say why in the annotation ` + PublicAnnotation + `; delete one from a base by a patch ("$patch: delete")`
	besideReference = `has text beside a reference, which would be in git for all to read, as would the default in ${NAME:=default}: keep all of the value where the reference leads or, where all may read the text, say why in the annotation ` + PublicAnnotation
	encryptedEnv    = "an encrypted file under envs: of a secretGenerator would stay encrypted in the cluster: list it under files:, or encrypt a Secret with SOPS"
	encryptedText   = "Flux decrypts no files in stringData: write this in data, in base64"
	halfEncrypted   = "is not encrypted as Flux decrypts a key of this suffix (.yaml, .json, .env, .ini, else binary): encrypt each of its values with SOPS, and keep the suffix of the file"
	wholeOfTheValue = "may have the values of the Secret: remove it"
)

// isSecret reports whether an object that no CustomResourceDefinition defines is a Secret:
// one with values is, whatever group it names.
func isSecret(u *unstructured.Unstructured) bool {
	group := u.GroupVersionKind().Group
	return u.GetKind() == "Secret" && (group == "" || group == "core" || hasValues(u))
}

// checkSecret returns the values of a Secret that anybody could read, and its other problems.
func checkSecret(o manifest.Object, kubernetes apiserver.Version) []manifest.Problem {
	reason, isPublic := o.GetAnnotations()[PublicAnnotation]
	if isPublic && isReason(reason) {
		return checkBuiltin(o, kubernetes)
	}
	var errs field.ErrorList
	if isPublic {
		errs = append(errs, field.Required(annotationPath(PublicAnnotation), "say why all may read the values"))
	}
	for _, key := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
		if manifest.MayHoldSecret(key, o.GetAnnotations()[key]) {
			errs = append(errs, field.Forbidden(annotationPath(key), wholeOfTheValue))
		}
	}
	if strings.EqualFold(o.GetAnnotations()[decryptAnnotation], "disabled") && hasValues(o.Unstructured) {
		errs = append(errs, field.Forbidden(annotationPath(decryptAnnotation), "keeps Flux from decrypting the values: remove it"))
	}
	rest := withoutEncryption(o.Unstructured)
	for _, name := range []string{"data", "stringData"} {
		exposed := exposedValues(rest.Object[name], name, o.GetAnnotations())
		if left := leftInPlain(o, name); left != "" {
			exposed = field.ErrorList{field.Forbidden(field.NewPath(name), left)}
		}
		if len(exposed) > 0 {
			errs = append(errs, exposed...)
			delete(rest.Object, name)
			delete(rest.Object, "sops") // which proves nothing, and would be called unknown
		}
	}
	fillUnknownValues(rest, o.Unstructured)
	problems := checkBuiltin(manifest.Object{Unstructured: rest, Written: o.Written, Origin: o.Origin}, kubernetes)
	return append(problems, problemsOf(o, errs)...)
}

// hasValues reports whether a Secret has values that are not empty.
func hasValues(secret *unstructured.Unstructured) bool {
	for _, name := range []string{"data", "stringData"} {
		values, _ := secret.Object[name].(map[string]any)
		for _, value := range values {
			if value != nil && value != "" {
				return true
			}
		}
	}
	return false
}

// isReason reports whether a text may be a reason: it has letters, and is not a truth value or
// null, as which YAML writes annotations that have to be text.
func isReason(text string) bool {
	return strings.ContainsFunc(text, unicode.IsLetter) && !noReason.MatchString(text)
}

var noReason = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)

func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// withoutEncryption returns a Secret without the values that SOPS encrypted and its metadata,
// where SOPS encrypted the manifest: the API server sees neither.
func withoutEncryption(secret *unstructured.Unstructured) *unstructured.Unstructured {
	rest := secret.DeepCopy()
	metadata, _ := rest.Object["sops"].(map[string]any)
	if !isSOPSMetadata(metadata) {
		return rest
	}
	delete(rest.Object, "sops")
	for _, name := range []string{"data", "stringData", "type", "immutable"} {
		if isEncryptedField(rest.Object[name]) {
			delete(rest.Object, name)
		}
	}
	return rest
}

// decrypted returns an object as a cluster gets it: a Secret without its encryption, with other
// values in the place of those that are not known.
func decrypted(u *unstructured.Unstructured) *unstructured.Unstructured {
	if !isSecret(u) {
		return u
	}
	rest := withoutEncryption(u)
	fillUnknownValues(rest, u)
	return rest
}

// fillUnknownValues gives what is left of a Secret other values where it has none left, and in place
// of references.
func fillUnknownValues(rest, secret *unstructured.Unstructured) {
	for _, name := range []string{"data", "stringData"} {
		values, ok := secret.Object[name].(map[string]any)
		if !ok {
			continue
		}
		unknown := unknownValues(values, name)
		left, isLeft := rest.Object[name].(map[string]any)
		if !isLeft {
			rest.Object[name] = unknown
		}
		for key, value := range left {
			if isReferenceIn(name, value, secret.GetAnnotations()) {
				left[key] = unknown[key]
			}
		}
	}
}

// unknownValues have the keys of values in a field of a Secret, which its type may ask for,
// and for each a value that a Secret of any type may have.
func unknownValues(values map[string]any, name string) map[string]any {
	value := "{}"
	if name == "data" {
		value = base64.StdEncoding.EncodeToString([]byte(value))
	}
	unknown := make(map[string]any, len(values))
	for key := range values {
		unknown[key] = value
	}
	return unknown
}

// isEncryptedField reports whether SOPS encrypted a value, or all of a mapping.
func isEncryptedField(value any) bool {
	if values, ok := value.(map[string]any); ok {
		for _, v := range values {
			if _, isText := v.(string); v != nil && !isText || !isEncrypted(v) {
				return false
			}
		}
		return len(values) > 0
	}
	text, ok := value.(string)
	return ok && encrypted.MatchString(text)
}

// exposedValues returns the errors of values in a field of a Secret that all could read, or
// that would stay encrypted in the cluster.
func exposedValues(content any, name string, annotations map[string]string) (errs field.ErrorList) {
	values, ok := content.(map[string]any)
	if !ok {
		if content != nil && content != "" {
			errs = append(errs, field.Forbidden(field.NewPath(name), readableByAll))
		}
		return errs
	}
	isRef := func(key string) bool { return isReferenceIn(name, values[key], annotations) }
	path, keys := field.NewPath(name), slices.Sorted(maps.Keys(values))
	for _, key := range keys {
		if values[key] == nil || values[key] == "" || isRef(key) {
			continue
		}
		switch wrong := exposure(name, key, values[key]); {
		case wrong == "":
		case wrong == encryptedEnv, wrong == readableByAll && !slices.ContainsFunc(keys, isRef):
			return field.ErrorList{field.Forbidden(path, wrong)} // all keys are alike
		default:
			errs = append(errs, field.Forbidden(path.Key(key), wrong))
		}
	}
	return errs
}

// exposure returns why a value in a field of a Secret must not be in git, or "".
func exposure(name, key string, value any) string {
	text, _ := value.(string)
	if decoded, err := base64.StdEncoding.DecodeString(text); name == "data" && err == nil {
		switch text = string(decoded); {
		case encrypted.Match(decoded):
			return encryptedEnv
		case isEncryptedFile(key, decoded):
			return ""
		case isMarked(decoded):
			return cmp.Or(leftInFile(decoded), halfEncrypted)
		}
	}
	switch {
	case name == "stringData" && isMarked([]byte(text)):
		return encryptedText
	case references.MatchString(text), strings.Contains(text, "${"):
		return besideReference
	}
	return readableByAll
}
