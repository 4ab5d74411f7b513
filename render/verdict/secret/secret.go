// Package secret keeps the values of Secrets out of git. Each value must be empty, encrypted by
// SOPS, or a reference to a value elsewhere. An annotation makes exceptions for public Secrets.
package secret

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/manifest"
)

// PublicAnnotation says why all may read the values of a Secret.
const PublicAnnotation = "gatehouse.example.com/public-because"

// decryptAnnotation tells Flux whether to decrypt an object.
const decryptAnnotation = "kustomize.toolkit.fluxcd.io/decrypt"

const (
	readableByAll = `all could read the values of this Secret in git: encrypt it with SOPS, or write a ` +
		`SealedSecret or an ExternalSecret; if all may read them, explain why in the annotation ` + PublicAnnotation +
		`; delete a Secret of a base by a patch ("$patch: delete")`
	besideReference = `has plain text beside a reference, like the default in ${NAME:=default}: keep the whole ` +
		`value behind the reference or, if all may read the text, explain why in the annotation ` + PublicAnnotation
	encryptedEnv = "an encrypted file under envs: of a secretGenerator would stay encrypted in the cluster: list " +
		"it under files:, or encrypt a Secret with SOPS"
	encryptedText   = "Flux decrypts no files in stringData: write this in data, in base64"
	annotatedValues = "may have the values of the Secret: remove it"
)

// placeholders are values that are valid in a Secret of any type, by field.
var placeholders = map[string]string{"data": base64.StdEncoding.EncodeToString([]byte("{}")), "stringData": "{}"}

// Check returns the errors of values that are readable in git, or stay encrypted in the cluster. It
// also returns the Secret as a cluster gets it: without the metadata of SOPS, and with placeholders
// for all values. Public Secrets without these stay unchanged.
func Check(secret *unstructured.Unstructured) (decrypted *unstructured.Unstructured, errs field.ErrorList) {
	isManifest := isMetadata(secret.Object["sops"])
	isPublic := isPublic(secret)
	if isPublic && !isManifest {
		return secret, nil
	}
	annotations := secret.GetAnnotations()
	if _, isUnexplained := annotations[PublicAnnotation]; isUnexplained && !isPublic {
		errs = append(errs, field.Required(annotationPath(PublicAnnotation), "explain why all may read the values"))
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if manifest.MayHoldSecret(key, annotations[key]) {
			errs = append(errs, field.Forbidden(annotationPath(key), annotatedValues))
		}
	}
	if strings.EqualFold(annotations[decryptAnnotation], "disabled") && manifest.HasSecretValues(secret) {
		errs = append(errs, field.Forbidden(annotationPath(decryptAnnotation),
			"keeps Flux from decrypting the values: remove it"))
	}
	decrypted = secret.DeepCopy()
	for _, name := range []string{"type", "immutable"} {
		if text, _ := secret.Object[name].(string); isManifest && encrypted.MatchString(text) {
			delete(decrypted.Object, name)
		}
	}
	for _, name := range manifest.SecretFields {
		found := exposed(secret, name)
		if !isPublic {
			errs = append(errs, found...)
		}
		isManifest = isManifest || len(found) > 0 // no second error for the same metadata
		decrypt(decrypted, name, len(found) > 0)
	}
	if isManifest {
		delete(decrypted.Object, "sops")
	}
	return decrypted, errs
}

// decrypt replaces the values in a field of a Secret with placeholders. It leaves values that are not
// text to the API server, unless they have an error already.
func decrypt(secret *unstructured.Unstructured, name string, isExposed bool) {
	values, isMapping := secret.Object[name].(map[string]any)
	if !isMapping && isExposed {
		delete(secret.Object, name)
	}
	for key, value := range values {
		if _, isText := value.(string); (isText || isExposed) && !isEmpty(value) {
			values[key] = placeholders[name]
		}
	}
}

// Decrypted returns a valid object as a cluster gets it.
func Decrypted(u *unstructured.Unstructured) *unstructured.Unstructured {
	if manifest.IsSecret(u) {
		u, _ = Check(u)
	}
	return u
}

// isPublic reports whether a Secret explains why all may read its values. YAML writes a missing
// explanation as a truth value or null.
func isPublic(secret *unstructured.Unstructured) bool {
	reason := secret.GetAnnotations()[PublicAnnotation]
	return strings.ContainsFunc(reason, unicode.IsLetter) && !noReason.MatchString(reason)
}

var noReason = regexp.MustCompile(`(?i)^(null|true|false|yes|no|on|off|y|n)$`)

func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

func isEmpty(value any) bool { return value == nil || value == "" }

// exposed returns the errors of the values in a field of a Secret, or one error with a common cause.
func exposed(secret *unstructured.Unstructured, name string) (errs field.ErrorList) {
	path := field.NewPath(name)
	values, isMapping := secret.Object[name].(map[string]any)
	if !isMapping && !isEmpty(secret.Object[name]) {
		return field.ErrorList{field.Forbidden(path, readableByAll)}
	}
	values = maps.Clone(values)
	count := len(values)
	maps.DeleteFunc(values, func(_ string, value any) bool {
		return isReferenceIn(name, value, secret.GetAnnotations())
	})
	hasReferences := len(values) < count
	maps.DeleteFunc(values, func(key string, value any) bool { return isNoSecret(secret, name, key, value) })
	if isMetadata(secret.Object["sops"]) {
		if plain := plainPaths("", values); len(plain) > 0 {
			errs = append(errs, field.Forbidden(path, leftPlain(plain)))
		}
		return errs
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch problem := exposure(name, key, values[key]); {
		case problem == "":
		case problem == encryptedEnv, problem == readableByAll && !hasReferences:
			return field.ErrorList{field.Forbidden(path, problem)}
		default:
			errs = append(errs, field.Forbidden(path.Key(key), problem))
		}
	}
	return errs
}

var (
	userName    = regexp.MustCompile(`(?i)^(.*[._-])?user(_?name)?$`)
	emptyConfig = regexp.MustCompile(`^\s*\{\s*("auths"\s*:\s*\{\s*\})?\s*\}\s*$`)
	plainURL    = regexp.MustCompile(`^(\w+://|git@)[^@?]*$`)
	// plainKeys are the keys in a Secret of Argo CD that tell its purpose.
	plainKeys = regexp.MustCompile(`^(type|name|project|server|namespaces|enable\w+|insecure\w*|force\w+)$`)
)

// isNoSecret reports whether a value in a field of a Secret need not be kept secret: the name of a user, a
// configuration of Docker without registries, and the purpose of a Secret of Argo CD (docs/operator-manual/
// declarative-setup.md of argo-cd).
func isNoSecret(secret *unstructured.Unstructured, name, key string, value any) bool {
	text, _ := value.(string)
	if decoded, err := base64.StdEncoding.DecodeString(text); name == "data" && err == nil {
		text = string(decoded)
	}
	isOfArgo := secret.GetLabels()["argocd.argoproj.io/secret-type"] != ""
	return userName.MatchString(key) && !strings.ContainsAny(text, ":\n") || emptyConfig.MatchString(text) ||
		isOfArgo && (plainKeys.MatchString(key) || key == "url" && plainURL.MatchString(text))
}

// exposure returns the problem of a value that is not a reference; empty for none.
func exposure(name, key string, value any) string {
	text, _ := value.(string)
	if decoded, err := base64.StdEncoding.DecodeString(text); name == "data" && err == nil {
		if text = string(decoded); mayBeEncrypted(text) {
			if encrypted.MatchString(text) {
				return encryptedEnv
			}
			return fileProblem(key, text)
		}
	}
	switch {
	case isEmpty(value):
		return ""
	case name == "stringData" && mayBeEncrypted(text):
		return encryptedText
	case references.MatchString(text), strings.Contains(text, "${"):
		return besideReference
	}
	return readableByAll
}
