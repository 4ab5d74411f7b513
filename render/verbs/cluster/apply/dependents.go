package apply

import (
	"context"
	"fmt"
	"slices"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
)

// keepIfNeeded keeps a Namespace or CustomResourceDefinition that still has dependents. The API
// server would delete them with it, although no inventory of this environment lists them.
func (r *run) keepIfNeeded(ctx context.Context, o *removal, leaving map[manifest.ID]bool) {
	if o.live == nil || o.live.GetDeletionTimestamp() != nil {
		return
	}
	dependents, err := r.findDependents(ctx, o.live, leaving)
	slices.Sort(dependents)
	const most = 3
	switch {
	case err != nil:
		o.keep("objects that need it cannot be listed: "+cluster.Messages(err)[0], true)
	case len(dependents) > 0:
		o.keep(fmt.Sprintf("there is %s, which this environment does not delete; run this again when that is gone",
			manifest.FirstOf(most, dependents)), true)
	}
}

// findDependents names the objects in a Namespace, or of the kind of a CustomResourceDefinition,
// except for objects that are leaving.
func (r *run) findDependents(ctx context.Context, live *unstructured.Unstructured,
	leaving map[manifest.ID]bool) (names []string, err error) {
	kinds, namespace, err := r.dependentKinds(live)
	for _, gvk := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := client.IgnoreNotFound(r.cluster.List(ctx, list, client.InNamespace(namespace))); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			id := manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace, Name: o.Name}
			isAutomatic := automatic[manifest.ID{Group: gvk.Group, Kind: gvk.Kind}] ||
				automatic[manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Name: o.Name}]
			if !leaving[id] && !isAutomatic && o.DeletionTimestamp == nil && len(o.OwnerReferences) == 0 {
				names = append(names, id.String())
			}
		}
	}
	return names, err
}

// dependentKinds returns the kinds of possible dependents, and their namespace if they have one.
func (r *run) dependentKinds(live *unstructured.Unstructured) (kinds []schema.GroupVersionKind, namespace string,
	err error) {
	switch {
	case ssautils.IsCRD(live):
		mapping, err := r.cluster.RESTMapper().RESTMapping(crd.Kind(live))
		if err != nil {
			return nil, "", err
		}
		return []schema.GroupVersionKind{mapping.GroupVersionKind}, "", nil
	case !ssautils.IsNamespace(live):
		return nil, "", nil
	}
	lists, err := r.cluster.Discovery.ServerPreferredNamespacedResources()
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists) {
		for _, resource := range list.APIResources {
			kinds = append(kinds, schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind))
		}
	}
	return kinds, live.GetName(), err
}

// automatic lists objects that the cluster itself creates in each namespace, and kinds whose
// objects come and go with others.
var automatic = map[manifest.ID]bool{
	{Kind: "ConfigMap", Name: "kube-root-ca.crt"}: true,
	{Kind: "ServiceAccount", Name: "default"}:     true,
	{Kind: "Event"}:                                    true,
	{Group: "events.k8s.io", Kind: "Event"}:            true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:      true,
	{Kind: "Endpoints"}:                                true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: true,
}
