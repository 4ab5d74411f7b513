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

// HashName gives a rendered object that is immutable its final name, the one that it has and
// a hash of all else that it is but for its wave and what backups make of it, so that it
// never has to be changed. It comes after everything else that may change the manifest.
// Other objects keep their names. Owner is what the object was rendered from, as it was
// written; nil where that is not known.
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
			labels[kind.ManagedByLabel] = manager // which what is rendered had once
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

// waveAnnotation says to Argo CD after what else to apply an object. A sync waits until
// one wave is healthy before it applies the next, and neither a Memcached nor an At is
// before it has what is rendered from it: that is in the same wave.
const waveAnnotation = "argocd.argoproj.io/sync-wave"

// hashedWave is the wave that a name is a hash of, whatever the wave is: the one that
// all Pods were in once. Another name would have a tool delete a Pod that runs.
const hashedWave = "1000"

// hashLength is how many hexadecimal digits a name has of a hash.
const hashLength = 10

// IsHashName reports whether a name has the form of those that HashName gives to what had
// another name before. In a cluster the form is all that can be told: the
// hash is of the manifest, and the API server and admission added to that.
func IsHashName(name, before string) bool {
	return isHash(name, before+"-", hashLength)
}

// IsDigest reports whether a text has the form of a kind.DigestOf.
func IsDigest(text string) bool { return isHash(text, "sha256:", 64) }

// isHash reports whether a text is a prefix and so many hexadecimal digits.
func isHash(text, prefix string, length int) bool {
	digits, ok := strings.CutPrefix(text, prefix)
	return ok && len(digits) == length && strings.Trim(digits, "0123456789abcdef") == ""
}
