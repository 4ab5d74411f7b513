package cluster

import (
	"context"
	"fmt"
	"slices"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/manifest"
)

// stillNeeded returns why a Namespace or CustomResourceDefinition must not be deleted: other
// objects are in it, or of its kind, that do not go with it. It is empty where it may go.
func (a *applier) stillNeeded(ctx context.Context, r *removal, going map[manifest.ID]bool) string {
	if r.live == nil || r.live.GetDeletionTimestamp() != nil {
		return ""
	}
	var others []string
	var err error
	switch {
	case ssautils.IsNamespace(r.live):
		others, err = a.othersInNamespace(ctx, r.id.Name, going)
	case ssautils.IsCRD(r.live):
		var defined *meta.RESTMapping
		if defined, err = a.cluster.RESTMapper().RESTMapping(definedKind(r.live)); err == nil {
			others, err = a.othersOfKind(ctx, defined.GroupVersionKind, "", going)
		}
	}
	slices.Sort(others)
	const most = 3
	switch {
	case err != nil:
		return fmt.Sprintf("whether anything else needs it is not known: %s", messages(err)[0])
	case len(others) > 0:
		return fmt.Sprintf("there is %s, which this environment does not delete; run this again when that is gone", manifest.FirstOf(most, others))
	}
	return ""
}

// othersInNamespace names objects of a namespace that do not go with it.
func (a *applier) othersInNamespace(ctx context.Context, namespace string, going map[manifest.ID]bool) (others []string, err error) {
	lists, err := a.cluster.api.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists) {
		for _, resource := range list.APIResources {
			kind := schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind)
			if slices.Contains(ofCluster, manifest.ID{Group: kind.Group, Kind: kind.Kind}) {
				continue
			}
			found, err := a.othersOfKind(ctx, kind, namespace, going)
			if err != nil {
				return nil, err
			}
			others = append(others, found...)
		}
	}
	return others, nil
}

// othersOfKind names objects of a kind, in a namespace or all, that are not going.
func (a *applier) othersOfKind(ctx context.Context, kind schema.GroupVersionKind, namespace string, going map[manifest.ID]bool) (others []string, err error) {
	const page = 500
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		if err := a.cluster.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			id := manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name}
			isGoing := going[id] || o.DeletionTimestamp != nil || len(o.OwnerReferences) > 0
			if !isGoing && !slices.Contains(ofCluster, manifest.ID{Group: id.Group, Kind: id.Kind, Name: id.Name}) {
				others = append(others, id.String())
			}
		}
		if list.Continue == "" {
			return others, nil
		}
	}
}

// ofCluster lists what a cluster makes in each namespace, by its name, or, without a name, what comes
// and goes with others.
var ofCluster = []manifest.ID{
	{Kind: "ConfigMap", Name: "kube-root-ca.crt"},
	{Kind: "ServiceAccount", Name: "default"},
	{Kind: "Event"},
	{Group: "events.k8s.io", Kind: "Event"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
	{Kind: "Endpoints"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
}
