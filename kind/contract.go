package kind

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// ManagedByLabel is on all rendered objects, and on the Pods that a cluster makes from them, as far as
// a status depends on these. One watch by it sees the children of all kinds.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "gatehouse"
)

// RecommendedLabels returns the labels of
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ for the rendered
// objects of a source object with the name and kind.
func RecommendedLabels(name, kind string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":     strings.ToLower(kind),
		"app.kubernetes.io/instance": name,
		ManagedByLabel:               ManagedBy,
	}
}

// DigestAnnotation is on the children that a status depends on. Its value is Definition.Digest of the
// source object or, if that is nil, the digest of the child as Expand returned it.
const DigestAnnotation = "gatehouse.example.com/digest"

// HeldAnnotation is on a Pod whose recorded start was taken back before it happened. Its value is the
// resourceVersion of the At that had the record. The annotation gives the Pod a new resourceVersion,
// so that an in-flight request to open it conflicts.
const HeldAnnotation = "gatehouse.example.com/held"

// DigestOf returns the SHA-256 digest of the JSON of plain data, in the form of an image digest.
func DigestOf(data any) string {
	b, err := json.Marshal(data)
	if err != nil { // plain data always marshals
		panic(err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ExcludeFromBackup is a label of Velero. With the value "true" it keeps the Pod of an At out of
// backups: a started Pod has no gate, and would run again when it is restored. A sync creates the Pod
// anew, with its gate. Names are no hash of this label, as older versions did not set it.
const ExcludeFromBackup = "velero.io/exclude-from-backup"
