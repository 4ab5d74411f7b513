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

// keepIfNeeded keeps a Namespace or CustomResourceDefinition that still has dependents, except for leaving ones. The
// API server would delete them with it, although no inventory of this environment lists them.
func (r *run) keepIfNeeded(ctx context.Context, o *removal, leaving map[manifest.ID]bool) {
	if o.live == nil || o.live.GetDeletionTimestamp() != nil {
		return
	}
	kinds, namespace, err := r.dependentKinds(o.live)
	var dependents []string
	for _, gvk := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err == nil {
			err = client.IgnoreNotFound(r.cluster.List(ctx, list, client.InNamespace(namespace)))
		}
		for _, d := range list.Items {
			id := manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: d.Namespace, Name: d.Name}
			isAutomatic := automatic[manifest.ID{Group: gvk.Group, Kind: gvk.Kind}] ||
				automatic[manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Name: d.Name}]
			if !leaving[id] && !isAutomatic && d.DeletionTimestamp == nil && len(d.OwnerReferences) == 0 {
				dependents = append(dependents, id.String())
			}
		}
	}
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
