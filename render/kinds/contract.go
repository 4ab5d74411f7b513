// Package kinds turns the kinds that users write into the Kubernetes objects
// that run them. It is the contract between rendering and the controller: the
// names, labels, annotations and digests by which the controller knows what was
// rendered from what. Its functions are pure.
package kinds

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// ScheduleGate is the scheduling gate that a rendered Pod waits behind. The
	// controller removes it, and nothing else, when the Pod is due.
	ScheduleGate = "cnat.programming-kubernetes.info/schedule"

	// AtLabel is on the Pod that was rendered from an At; its value is the name of
	// the At.
	AtLabel = "cnat.programming-kubernetes.info/at"

	// MemcachedLabel is on everything that was rendered from a Memcached, and on
	// its Pods; its value is the name of the Memcached.
	MemcachedLabel = "cache.example.com/memcached"

	// CommandContainer is the container of an At's Pod that runs its command.
	CommandContainer = "command"

	// DigestAnnotation is on what the controller compares with a spec, the Pod of an At
	// and the Deployment of a Memcached; its value is the digest of the spec that it was
	// rendered from (see AtDigest and MemcachedDigest).
	DigestAnnotation = "gatehouse.example.com/digest"
)

// digest is the SHA-256 digest of the JSON of a defaulted spec, written like an
// image digest: sha256:<64 hexadecimal digits>.
func digest(spec any) string {
	b, err := json.Marshal(spec)
	if err != nil { // a spec is plain data: its fields all marshal
		panic(err)
	}
	return "sha256:" + hash(b)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// HashName gives a rendered object of an immutable kind its final name, that of its
// owner and a hash of all that the object is but for its wave and what backups make of it,
// so that it never has to be changed. It comes after everything else that may change the
// manifest. Other objects keep their names.
func HashName(object *unstructured.Unstructured) error {
	kind := RenderedFrom(object)
	if kind == nil || !kind.Immutable {
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
	delete(labels, excludeFromBackup)
	hashed.SetLabels(labels)
	b, err := json.Marshal(hashed.Object)
	if err != nil {
		return fmt.Errorf("hash %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	object.SetName(object.GetLabels()[kind.Label] + "-" + hash(b)[:hashLength])
	return nil
}

// waveAnnotation says to Argo CD after what else to apply an object. A sync waits until
// one wave is healthy before it applies the next, and neither a Memcached nor an At is
// before it has what is rendered from it: that is in the same wave.
const waveAnnotation = "argocd.argoproj.io/sync-wave"

// hashedWave is the wave that a name is a hash of, whatever the wave is: the one that
// all Pods were in once. Another name would have a tool delete a Pod that runs.
const hashedWave = "1000"

// excludeFromBackup is the label of what Velero leaves out of its backups, with the value
// "true": the Pod of an At. The one in a backup has no gate once its command was started, and
// would start it again when it is restored, whatever its At says. The tool that syncs brings
// the Pod back with its gate. Pods were without the label once, and no name is a hash of it.
const excludeFromBackup = "velero.io/exclude-from-backup"

// hashLength is how many hexadecimal digits a name has of a hash.
const hashLength = 10

// IsHashName says whether a name has the form of those that HashName gives to what is
// rendered from an owner of a name. In a cluster the form is all that can be told: the
// hash is of the manifest, and the API server and admission added to that.
func IsHashName(name, owner string) bool {
	digits, ok := strings.CutPrefix(name, owner+"-")
	return ok && len(digits) == hashLength && strings.Trim(digits, "0123456789abcdef") == ""
}

// objectMeta is the metadata of an object that is rendered from owner: owner's
// name and namespace, its labels and annotations but for those of deploy tools, its wave,
// the recommended labels where owner does not set them, and the label of the contract,
// which owner cannot change.
func objectMeta(owner metav1.ObjectMeta, kind, label string) metav1.ObjectMeta {
	labels := recommendedLabels(owner.Name, kind)
	copyShared(labels, owner.Labels)
	labels[label] = owner.Name

	annotations := map[string]string{}
	copyShared(annotations, owner.Annotations)
	delete(annotations, DigestAnnotation)
	if wave, ok := owner.Annotations[waveAnnotation]; ok {
		annotations[waveAnnotation] = wave
	}

	return metav1.ObjectMeta{
		Name:        owner.Name,
		Namespace:   owner.Namespace,
		Labels:      labels,
		Annotations: annotations,
	}
}

// withDigest is the metadata of an object that the controller compares with the spec of
// a digest.
func withDigest(meta metav1.ObjectMeta, digest string) metav1.ObjectMeta {
	meta = *meta.DeepCopy()
	meta.Annotations[DigestAnnotation] = digest
	return meta
}

// recommendedLabels are those of
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/.
func recommendedLabels(name, kind string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       kind,
		"app.kubernetes.io/instance":   name,
		"app.kubernetes.io/managed-by": "gatehouse",
	}
}

// deployTools are the domains of tools that apply objects, order, hook, replace and
// prune them, or note down what they applied. Their labels and annotations are about
// one object and would be wrong on another: what hooks or forces an At would run its
// Pod again. Flux and others read labels as they read annotations.
var deployTools = []string{
	"argoproj.io",
	"carvel.dev",
	"cli-utils.sigs.k8s.io",
	"config.k8s.io",
	"config.kubernetes.io",
	"configmanagement.gke.io",
	"configsync.gke.io",
	"fleet.cattle.io",
	"fluxcd.io",
	"helm.sh", // Argo CD obeys its hooks, too
	"k14s.io",
	"kpt.dev",
	"kubectl.kubernetes.io",
	"objectset.rio.cattle.io",
	"pulumi.com",
	"skaffold.dev",
	"spinnaker.io",
	"werf.io",
}

// isForDeployTool says whether the key of a label or annotation is of a domain of a
// tool that applies objects, or below it.
func isForDeployTool(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.ContainsFunc(deployTools, func(tool string) bool {
		return domain == tool || strings.HasSuffix(domain, "."+tool)
	})
}

// copyShared copies the labels or annotations of an owner that what is rendered from it
// shares.
func copyShared(to, owner map[string]string) {
	for key, value := range owner {
		if !isForDeployTool(key) {
			to[key] = value
		}
	}
}
