package apiserver

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
)

// Mutable returns an object, of the Go type of the kind, as mutating admission policies see it. Values from
// ServiceAccounts and classes of a cluster are missing.
func (k Kind) Mutable(content map[string]any) (runtime.Object, error) {
	decoded, err := k.Decode(content)
	if err != nil {
		return nil, err
	}
	SetNamespace(decoded, k.IsNamespaced())
	admitByPlugins(decoded)
	return k.versioned(decoded)
}

// Admitted returns an object as validating admission policies see it, with the same values missing.
func (k Kind) Admitted(content map[string]any) (*unstructured.Unstructured, error) {
	decoded, err := k.Decode(content)
	if err != nil {
		return nil, err
	}
	k.complete(decoded)
	return k.encode(decoded)
}

// Stored returns an admitted object as a client reads it later: with the defaults of fields that creation
// sets or clears.
func (k Kind) Stored(admitted map[string]any) (*unstructured.Unstructured, error) {
	decoded, err := k.Decode(admitted)
	if err != nil {
		return nil, err
	}
	return k.encode(decoded)
}

func (k Kind) encode(decoded kind.Object) (*unstructured.Unstructured, error) {
	versioned, err := k.versioned(decoded)
	if err != nil {
		return nil, err
	}
	written, err := json.Marshal(versioned)
	encoded := &unstructured.Unstructured{}
	return encoded, cmp.Or(err, utiljson.Unmarshal(written, &encoded.Object))
}

// versioned returns a decoded object in the version of the kind.
func (k Kind) versioned(decoded kind.Object) (runtime.Object, error) {
	versioned, err := legacyscheme.Scheme.ConvertToVersion(decoded, k.GroupVersion())
	if err == nil {
		versioned.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	}
	return versioned, err
}

// complete sets the fields that a create request sets.
func (k Kind) complete(decoded kind.Object) {
	admitByPlugins(decoded)
	if service, ok := decoded.(*core.Service); ok {
		allocate(&service.Spec)
	}
	k.prepare(k.begin(decoded), decoded)
}

// admitByPlugins sets the fields that admission plugins of every kube-apiserver set, before policies.
func admitByPlugins(decoded kind.Object) {
	switch object := decoded.(type) {
	case *core.Pod:
		completePod(&object.Spec)
	case *core.PersistentVolumeClaim:
		protect(object, "kubernetes.io/pvc-protection")
	case *core.PersistentVolume:
		protect(object, "kubernetes.io/pv-protection")
	case *storage.VolumeAttributesClass:
		protect(object, "kubernetes.io/vac-protection")
	case *core.Node:
		notReady := core.Taint{Key: corev1.TaintNodeNotReady, Effect: core.TaintEffectNoSchedule}
		if !slices.ContainsFunc(object.Spec.Taints, notReady.MatchTaint) {
			object.Spec.Taints = append(object.Spec.Taints, notReady)
		}
	}
}

// completePod sets the fields that admission plugins set in each Pod without them.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
func completePod(spec *core.PodSpec) {
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, "default")
	spec.DeprecatedServiceAccount = spec.ServiceAccountName //nolint:staticcheck // validation compares both
	if priority, isKnown := classPriorities[spec.PriorityClassName]; isKnown {
		spec.Priority = &priority
		spec.PreemptionPolicy = ptr.To(core.PreemptLowerPriority)
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		isTolerated := func(t core.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == core.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(spec.Tolerations, isTolerated) {
			spec.Tolerations = append(spec.Tolerations, core.Toleration{Key: key, Operator: core.TolerationOpExists,
				Effect: core.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(300))})
		}
	}
}

// allocate sets addresses and ports of a Service to examples: the cluster decides about the values.
// Most clusters have IPv4.
func allocate(spec *core.ServiceSpec) {
	synchronize(spec)
	if spec.Type == core.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = "10.96.0.10"
		spec.ClusterIPs = []string{"10.96.0.10"}
	}
	policy := core.IPFamilyPolicySingleStack
	families := []core.IPFamily{core.IPv4Protocol}
	if spec.ClusterIP == core.ClusterIPNone && len(spec.Selector) == 0 {
		policy = core.IPFamilyPolicyRequireDualStack
		families = append(families, core.IPv6Protocol)
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = &policy
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = families
	}
	if spec.Type == core.ServiceTypeNodePort || spec.Type == core.ServiceTypeLoadBalancer &&
		*spec.AllocateLoadBalancerNodePorts {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = cmp.Or(spec.Ports[i].NodePort, int32(30000+i))
		}
	}
}

// protect adds a finalizer.
func protect(object metav1.Object, finalizer string) {
	if !slices.Contains(object.GetFinalizers(), finalizer) {
		object.SetFinalizers(append(object.GetFinalizers(), finalizer))
	}
}

// Resource returns the resource of the kind, its name in the rules of admission policies.
func (k Kind) Resource() schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return resource
}

// Conversion converts admitted objects to any of the versions.
func Conversion(versions runtime.EquivalentResourceMapper) admission.ObjectInterfaces {
	return &admission.RuntimeObjectInterfaces{
		ObjectCreater:            legacyscheme.Scheme,
		ObjectTyper:              legacyscheme.Scheme,
		ObjectDefaulter:          legacyscheme.Scheme,
		ObjectConvertor:          convertor{legacyscheme.Scheme},
		EquivalentResourceMapper: versions,
	}
}

// convertor converts through the internal version, as kube-apiserver does.
type convertor struct{ *runtime.Scheme }

// Convert converts an object, typed or unstructured, to a typed one.
func (c convertor) Convert(in, out, _ any) error {
	typed := in.(runtime.Object)
	if u, ok := in.(*unstructured.Unstructured); ok {
		var err error
		if typed, err = c.New(u.GroupVersionKind()); err != nil {
			return err
		}
		if err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			return err
		}
	}
	internal, err := c.UnsafeConvertToVersion(typed, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	return c.Scheme.Convert(internal, out, nil)
}

// Kinds returns the kinds that the version serves, sorted.
func (v Version) Kinds() (served []Kind) {
	for gvk := range kinds() {
		if k, ok := v.Lookup(gvk); ok {
			served = append(served, k)
		}
	}
	slices.SortFunc(served, func(a, b Kind) int { return cmp.Compare(a.String(), b.String()) })
	return served
}
