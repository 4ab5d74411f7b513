package compare

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// Templates returns the Pod templates of an object, unless it is a source object: its rendered objects have
// templates.
func (both *Comparison) Templates(o *unstructured.Unstructured) []podsecurity.Template {
	if o == nil || both.isSource(o) {
		return nil
	}
	side := both.After()
	id := IDOf(o)
	if known := both.Before().templates[id]; known.of == o {
		side = both.Before()
	}
	known, ok := side.templates[id]
	if !ok || known.of != o {
		known = templates{o, podsecurity.Templates(manifest.Object{Unstructured: o})}
		side.templates[id] = known
	}
	return known.all
}

// HasTemplates reports whether an object has Pod templates, see Templates.
func (both *Comparison) HasTemplates(o *unstructured.Unstructured) bool {
	return len(both.WrittenTemplates(o)) > 0
}

// WrittenTemplates returns the Pod templates of an object as they are written, see Templates.
func (both *Comparison) WrittenTemplates(o *unstructured.Unstructured) (all []map[string]any) {
	if o == nil || both.isSource(o) {
		return nil
	}
	for _, path := range podsecurity.Paths(manifest.Object{Unstructured: o}) {
		written, _ := decoding.At(o.Object, path).(map[string]any)
		all = append(all, written)
	}
	return all
}

func (both *Comparison) isSource(o *unstructured.Unstructured) bool {
	return both.Kinds.Find(o.GroupVersionKind()) != nil
}

// templatesWithTokens returns the templates with the ServiceAccounts' settings for mounting tokens.
func (both *Comparison) templatesWithTokens(s *Side, o *unstructured.Unstructured) []podsecurity.Template {
	templates := slices.Clone(both.Templates(o))
	for i := range templates {
		spec := &templates[i].Spec
		account := manifest.ID{Kind: "ServiceAccount", Namespace: NamespaceOf(o), Name: AccountOf(spec)}
		if spec.AutomountServiceAccountToken == nil && s.Tokenless[account] {
			spec.AutomountServiceAccountToken = ptr.To(false)
		}
	}
	return templates
}

// PodChange is a Pod template before and after a change.
type PodChange struct {
	Was, Is *podsecurity.Template // Was is nil for a new template
}

// PodChanges returns the Pod templates of an object after a change, with their previous versions.
func (both *Comparison) PodChanges(c Change) (changes []PodChange) {
	was := map[string]*podsecurity.Template{}
	for _, t := range both.templatesWithTokens(both.Before(), c.Before) {
		was[t.Field] = &t
	}
	for _, t := range both.templatesWithTokens(both.After(), c.After) {
		changes = append(changes, PodChange{was[t.Field], &t})
	}
	return changes
}

// DigestLost is the risk of an image without the digest that it had.
const DigestLost kind.Sentence = "its digest is removed: a tag may get another image later"

// CloudRoles are the annotations of a ServiceAccount that give its Pods a role or identity in a cloud.
var CloudRoles = []string{"eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account",
	"azure.workload.identity/client-id", "pod-identity.alibabacloud.com/role-name"}

// AccountOf returns the ServiceAccount of Pods.
func AccountOf(spec *corev1.PodSpec) string {
	return cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount, "default")
}

// Audiences returns the audiences of the ServiceAccount's tokens in Pods. Empty stands for the API server.
func Audiences(spec *corev1.PodSpec) (all []string) {
	if ptr.Deref(spec.AutomountServiceAccountToken, true) {
		all = append(all, "")
	}
	for _, volume := range spec.Volumes {
		for _, source := range ptr.Deref(volume.Projected, corev1.ProjectedVolumeSource{}).Sources {
			if source.ServiceAccountToken != nil {
				all = append(all, source.ServiceAccountToken.Audience)
			}
		}
	}
	return all
}

// Judge returns the result of a Pod Security check.
func Judge(id policy.CheckID, spec *corev1.PodSpec) policy.CheckResult {
	return Checks[id].CheckPod(&metav1.ObjectMeta{}, spec)
}

// Checks are the newest versions of the Pod Security checks.
var Checks = func() map[policy.CheckID]policy.VersionedCheck {
	newest := map[policy.CheckID]policy.VersionedCheck{}
	for _, check := range policy.DefaultChecks() {
		newest[check.ID] = check.Versions[len(check.Versions)-1]
	}
	return newest
}()
