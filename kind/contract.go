package kind

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Everything that is rendered has this label, and so have the Pods that others make of it as
// far as a status depends on them: with it one watch sees what all kinds are rendered to.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "gatehouse"
)

// RecommendedLabels returns those of
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ for what
// is rendered from an object of a name and kind.
func RecommendedLabels(name, kind string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":     strings.ToLower(kind),
		"app.kubernetes.io/instance": name,
		ManagedByLabel:               ManagedBy,
	}
}

// DigestAnnotation is on what a status is decided by; its value is the digest of what the
// object was rendered from.
const DigestAnnotation = "gatehouse.example.com/digest"

// HeldAnnotation is on a Pod whose start was put on record and taken back before it happened;
// its value is the resourceVersion of the object that had the record. It is there to change
// that of the Pod, so that a request to open the Pod which is still under way is a conflict.
const HeldAnnotation = "gatehouse.example.com/held"

// DigestOf returns the SHA-256 digest of the JSON of plain data, written like an image digest.
func DigestOf(data any) string {
	b, err := json.Marshal(data)
	if err != nil { // a spec is plain data: its fields all marshal
		panic(err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ExcludeFromBackup is the label of what Velero leaves out of its backups, with the value
// "true": the Pod of an At. The one in a backup has no gate once its command was started, and
// would start it again when it is restored, whatever its At says. The tool that syncs brings
// the Pod back with its gate. Pods were without the label once, and no name is a hash of it.
const ExcludeFromBackup = "velero.io/exclude-from-backup"
