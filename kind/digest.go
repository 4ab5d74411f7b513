package kind

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DigestAnnotation is on what a status is decided by; its value is the digest of what the
// object was rendered from.
const DigestAnnotation = "gatehouse.example.com/digest"

// DigestOf is the SHA-256 digest of the JSON of plain data, written like an image digest.
func DigestOf(data any) string {
	b, err := json.Marshal(data)
	if err != nil { // a spec is plain data: its fields all marshal
		panic(err)
	}
	return "sha256:" + hash(b)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// digestOf is the digest of a child that Expand returned: of what the kind says that it is
// rendered from, or else of the child as Expand made it, which no label or annotation of
// its owner changes.
func (k *Kind) digestOf(child *unstructured.Unstructured, owner Object) string {
	if k.digest != nil {
		return k.digest(owner)
	}
	return DigestOf(child.Object)
}
