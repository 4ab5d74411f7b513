package apiserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/network/defaultingressclass"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// Admission completes objects as kube-apiserver does before admission policies see them:
// by its plugins that change objects and are on unless it is told otherwise. Of a cluster
// they know what an environment brings.
type Admission struct {
	known   informers.SharedInformerFactory
	plugins []admission.MutationInterface
}

// plugins are in the order in which kube-apiserver calls them. Not among them are those of
// storage, which would need all of its code here, and LimitRanger: what they add to objects
// is mostly the cluster's to say.
var plugins = []struct {
	name     string
	register func(*admission.Plugins)
}{
	{serviceaccount.PluginName, serviceaccount.Register},
	{priority.PluginName, priority.Register},
	{defaulttolerationseconds.PluginName, defaulttolerationseconds.Register},
	{runtimeclass.PluginName, runtimeclass.Register},
	{defaultingressclass.PluginName, defaultingressclass.Register},
}

// consulted are the kinds that plugins look up.
var consulted = []schema.GroupKind{
	{Kind: "ServiceAccount"},
	{Group: "networking.k8s.io", Kind: "IngressClass"},
	{Group: "node.k8s.io", Kind: "RuntimeClass"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
}

// NewAdmission returns an Admission of an environment of valid objects.
func NewAdmission(objects []*unstructured.Unstructured) (*Admission, error) {
	client, err := kubernetes.NewForConfigAndClient(&clientrest.Config{QPS: -1}, &http.Client{Transport: offline{}})
	if err != nil {
		return nil, err
	}
	a := &Admission{known: informers.NewSharedInformerFactory(client, 0)}
	initialize := initializer.New(client, nil, a.known, nil, utilfeature.DefaultFeatureGate, nil, nil, nil)
	all := admission.NewPlugins()
	for _, p := range plugins {
		p.register(all)
		plugin, err := all.InitPlugin(p.name, io.MultiReader(), initialize)
		if err != nil {
			return nil, err
		}
		a.plugins = append(a.plugins, plugin.(admission.MutationInterface))
	}
	for _, class := range schedulingv1.SystemPriorityClasses() {
		if err := a.known.Scheduling().V1().PriorityClasses().Informer().GetIndexer().Add(class); err != nil {
			return nil, err
		}
	}
	for _, u := range objects {
		if gvk := u.GroupVersionKind(); slices.Contains(consulted, gvk.GroupKind()) {
			if err := a.learn(gvk, u); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// offline is the connection of plugins that look for what the environment does not bring.
type offline struct{}

// RoundTrip says that there is no cluster.
func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no cluster") }

// learn has plugins know an object.
func (a *Admission) learn(gvk schema.GroupVersionKind, u *unstructured.Unstructured) error {
	kind, ok := Lookup(gvk)
	if !ok {
		return nil
	}
	encoded, err := json.Marshal(u)
	if err != nil {
		return err
	}
	decoded, err := kind.Decode(encoded)
	if err != nil {
		return err
	}
	kind.begin(decoded.(metav1.Object))
	versioned, err := kind.scheme.ConvertToVersion(decoded, gvk.GroupVersion())
	if err != nil {
		return err
	}
	informer, err := a.known.ForResource(kind.Resource())
	if err != nil {
		return err
	}
	return informer.Informer().GetIndexer().Add(versioned)
}

// Admit returns the object that JSON is as kube-apiserver shows it to admission policies.
func (a *Admission) Admit(k Kind, encoded []byte) (*unstructured.Unstructured, error) {
	decoded, err := k.Decode(encoded)
	if err != nil {
		return nil, err
	}
	object, err := meta.Accessor(decoded)
	if err != nil {
		return nil, err
	}
	ctx := k.begin(object)
	if pod, ok := decoded.(*core.Pod); ok {
		if err := a.ensureAccount(pod); err != nil {
			return nil, err
		}
	}
	attributes := admission.NewAttributesRecord(decoded, nil, k.GroupVersionKind, object.GetNamespace(), object.GetName(), k.Resource(), "", admission.Create, &metav1.CreateOptions{}, false, nil)
	for _, plugin := range a.plugins {
		// What a plugin misses may be in the cluster.
		_ = plugin.Admit(ctx, attributes, k.Conversion(nil))
	}
	switch object := decoded.(type) {
	case *core.Service:
		allocate(&object.Spec)
	case *core.PersistentVolumeClaim:
		protect(object, "kubernetes.io/pvc-protection")
	case *core.PersistentVolume:
		protect(object, "kubernetes.io/pv-protection")
	}
	k.strategy.PrepareForCreate(ctx, decoded)
	versioned, err := k.scheme.ConvertToVersion(decoded, k.GroupVersion())
	if err != nil {
		return nil, err
	}
	versioned.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
	return &unstructured.Unstructured{Object: content}, err
}

// ensureAccount has plugins know the ServiceAccount of a Pod: if the environment does not
// bring it, the cluster has it.
func (a *Admission) ensureAccount(pod *core.Pod) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace,
		Name:      cmp.Or(pod.Spec.ServiceAccountName, serviceaccount.DefaultServiceAccountName),
	}}
	indexer := a.known.Core().V1().ServiceAccounts().Informer().GetIndexer()
	if _, known, err := indexer.Get(account); known || err != nil {
		return err
	}
	return indexer.Add(account)
}

// allocate gives a Service addresses and ports, if not those that it will have: their
// ranges are the cluster's, mostly of IPv4.
func allocate(spec *core.ServiceSpec) {
	if spec.Type == core.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = "10.96.0.10"
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	policy, families := core.IPFamilyPolicySingleStack, []core.IPFamily{core.IPv4Protocol}
	if spec.ClusterIP == core.ClusterIPNone && len(spec.Selector) == 0 {
		policy, families = core.IPFamilyPolicyRequireDualStack, append(families, core.IPv6Protocol)
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = &policy
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = families
	}
	if spec.Type == core.ServiceTypeNodePort || spec.Type == core.ServiceTypeLoadBalancer && *spec.AllocateLoadBalancerNodePorts {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = cmp.Or(spec.Ports[i].NodePort, int32(30000+i))
		}
	}
	allocateHealthCheck(spec)
}

// allocateHealthCheck gives a Service the port that says on which nodes it has Pods, which
// it may leave to the API server.
func allocateHealthCheck(spec *core.ServiceSpec) {
	if spec.Type == core.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = cmp.Or(spec.HealthCheckNodePort, 32767)
	}
}

// protect adds a finalizer to an object of storage.
func protect(object metav1.Object, finalizer string) {
	if !slices.Contains(object.GetFinalizers(), finalizer) {
		object.SetFinalizers(append(object.GetFinalizers(), finalizer))
	}
}

// Resource is the name that the kind has in the rules of admission policies.
func (k Kind) Resource() schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	return resource
}

// Conversion converts what Admit returns to any of the versions.
func (k Kind) Conversion(versions runtime.EquivalentResourceMapper) admission.ObjectInterfaces {
	return &admission.RuntimeObjectInterfaces{
		ObjectCreater:            k.scheme,
		ObjectTyper:              k.scheme,
		ObjectDefaulter:          k.scheme,
		ObjectConvertor:          convertor{k.scheme},
		EquivalentResourceMapper: versions,
	}
}

// convertor converts by way of the internal version, as kube-apiserver does.
type convertor struct{ *runtime.Scheme }

// Convert converts an unstructured object to a typed one.
func (c convertor) Convert(in, out, _ any) error {
	u := in.(*unstructured.Unstructured)
	typed, err := c.New(u.GroupVersionKind())
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
		return err
	}
	internal, err := c.UnsafeConvertToVersion(typed, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	return c.Scheme.Convert(internal, out, nil)
}

// All are the kinds that are served, in the order of their names and versions.
func All() []Kind {
	return slices.SortedFunc(maps.Values(kinds()), func(a, b Kind) int { return cmp.Compare(a.String(), b.String()) })
}
