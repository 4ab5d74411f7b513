package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
)

// HashName appends a hash of the object to the name of an immutable rendered object, so that a change
// makes a new object. The hash leaves out the sync wave and the backup label. HashName must come after
// every other change of the manifest. Other objects keep their names. Owner is the source object as it
// is in its file, or nil if it is unknown.
func (k *Kinds) HashName(object, owner *unstructured.Unstructured) error {
	if !k.IsImmutable(object) {
		return nil
	}
	hashed := object.DeepCopy()
	hashed.SetName("")
	annotations := hashed.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[waveAnnotation] = hashedWave
	hashed.SetAnnotations(annotations)
	labels := hashed.GetLabels()
	delete(labels, kind.ExcludeFromBackup)
	if owner != nil {
		if manager, ok := owner.GetLabels()[kind.ManagedByLabel]; ok {
			labels[kind.ManagedByLabel] = manager // rendered objects once shared this label with their owner
		}
	}
	hashed.SetLabels(labels)
	b, err := json.Marshal(hashed.Object)
	if err != nil {
		return fmt.Errorf("hash %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	sum := sha256.Sum256(b)
	object.SetName(object.GetName() + "-" + hex.EncodeToString(sum[:])[:hashLength])
	return nil
}

// waveAnnotation is the sync wave of Argo CD. A sync waits until one wave is healthy before it applies
// the next. A source object is healthy only after its rendered objects are applied, so that these are
// in its wave.
const waveAnnotation = "argocd.argoproj.io/sync-wave"

// hashedWave is the wave in every hash: all Pods were in this wave once. Another hash would make a tool
// delete running Pods.
const hashedWave = "1000"

// hashLength is the number of hexadecimal digits of the hash in a name.
const hashLength = 10

// IsHashName reports whether a name has the form that HashName gives to the name before. It does not
// check the hash: the API server and admission change the manifest in a cluster.
func IsHashName(name, before string) bool {
	return isHash(name, before+"-", hashLength)
}

// IsDigest reports whether a text has the form of a digest of kind.DigestOf.
func IsDigest(text string) bool { return isHash(text, "sha256:", 64) }

// isHash reports whether a text is the prefix and length hexadecimal digits.
func isHash(text, prefix string, length int) bool {
	digits, ok := strings.CutPrefix(text, prefix)
	return ok && len(digits) == length && strings.Trim(digits, "0123456789abcdef") == ""
}
