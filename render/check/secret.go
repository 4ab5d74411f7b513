package check

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/object"
)

// The values of a Secret are for the cluster, not for git: only encrypted ones
// are rendered.

func isSecret(u *unstructured.Unstructured) bool {
	group := u.GroupVersionKind().Group
	return u.GetKind() == "Secret" && (group == "" || group == "core")
}

// checkSecret finds what of a Secret anybody could read.
func checkSecret(o object.Object) []object.Problem {
	problems := checkBuiltin(object.Object{Unstructured: withoutValues(o.Unstructured), Written: o.Written})
	var errs field.ErrorList
	if annotation := "kubectl.kubernetes.io/last-applied-configuration"; o.GetAnnotations()[annotation] != "" {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations").Key(annotation), "may have the values of the Secret: remove it"))
	}
	for _, name := range secretFields(o.Unstructured) {
		if !isEncrypted(o.Unstructured, name) {
			errs = append(errs, field.Forbidden(field.NewPath(name),
				"the values of a Secret would be in git for all to read: encrypt it with SOPS, or write a SealedSecret or an ExternalSecret instead"))
		}
	}
	return append(problems, problemsOf(o, errs)...)
}

// withoutValues is a Secret without its values and what SOPS says of them, which
// are not what the API server will see.
func withoutValues(secret *unstructured.Unstructured) *unstructured.Unstructured {
	rest := secret.DeepCopy()
	for _, field := range []string{"data", "stringData", "sops"} {
		delete(rest.Object, field)
	}
	return rest
}

// secretFields are the fields of a Secret that hold values.
func secretFields(secret *unstructured.Unstructured) []string {
	return slices.DeleteFunc([]string{"data", "stringData"}, func(field string) bool {
		values, isMap := secret.Object[field].(map[string]any)
		return secret.Object[field] == nil || isMap && len(values) == 0
	})
}

// encrypted is a value that SOPS encrypted:
// https://getsops.io/docs/#encryption-protocol
var encrypted = regexp.MustCompile(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:\w+\]$`)

// isEncrypted says whether SOPS encrypted every value of a field of a Secret.
// Metadata of SOPS alone proves nothing.
func isEncrypted(secret *unstructured.Unstructured, field string) bool {
	mac, _, _ := unstructured.NestedString(secret.Object, "sops", "mac")
	values, _ := secret.Object[field].(map[string]any)
	if !encrypted.MatchString(mac) || len(values) == 0 {
		return false
	}
	for _, value := range values {
		if s, ok := value.(string); !ok || !encrypted.MatchString(s) {
			return false
		}
	}
	return true
}
