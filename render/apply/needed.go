package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/object"
)

// stillNeeded says why an object that others are in, or are of, is not to be deleted: because
// of any that are not going, too. It is empty where it may.
func (a *applier) stillNeeded(ctx context.Context, r removal, going map[object.ID]bool) string {
	if r.live.GetDeletionTimestamp() != nil {
		return ""
	}
	var rest []object.ID
	var err error
	switch {
	case isNamespace(r.id):
		rest, err = a.restOfNamespace(ctx, r.id.Name, going)
	case isCRD(r.id):
		kind := KindOfCRD(r.live)
		version := storageVersion(r.live)
		rest, err = a.restOfKind(ctx, kind.WithVersion(version), "", going)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("whether anything else needs it is not known: %s", messages(err)[0])
	case len(rest) > 0:
		return fmt.Sprintf("there is %s, which this environment does not delete; run this again when that is gone", names(rest))
	}
	return ""
}

func storageVersion(crd *unstructured.Unstructured) string {
	for name, version := range crdVersions(crd) {
		if version["storage"] == true {
			return name
		}
	}
	return ""
}

// restOfNamespace returns objects of a namespace that are not going with it.
func (a *applier) restOfNamespace(ctx context.Context, namespace string, going map[object.ID]bool) ([]object.ID, error) {
	asking, err := discovery.NewDiscoveryClientForConfig(a.cluster.Config)
	if err != nil {
		return nil, err
	}
	lists, err := asking.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	var rest []object.ID
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if isMadeByItself(version.Group, resource.Kind) || strings.Contains(resource.Name, "/") {
				continue
			}
			found, err := a.restOfKind(ctx, version.WithKind(resource.Kind), namespace, going)
			if err != nil {
				return nil, err
			}
			rest = append(rest, found...)
		}
	}
	return sortIDs(rest), nil
}

// isMadeByItself says whether objects of a kind come and go with others, or with what runs.
func isMadeByItself(group, kind string) bool {
	switch kind {
	case "Event", "Lease", "Endpoints", "EndpointSlice":
		return slices.Contains([]string{"", "events.k8s.io", "coordination.k8s.io", "discovery.k8s.io"}, group)
	}
	return false
}

// restOfKind returns objects of a kind, in a namespace or all, that are not going.
func (a *applier) restOfKind(ctx context.Context, kind schema.GroupVersionKind, namespace string, going map[object.ID]bool) (rest []object.ID, err error) {
	const page = 500
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		if err := a.cluster.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			id := object.ID{Group: kind.Group, Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name}
			if !going[id] && !isIncidental(id, o) {
				rest = append(rest, id)
			}
		}
		if list.Continue == "" || len(rest) > 0 {
			return rest, nil
		}
	}
}

// isIncidental says whether an object is being deleted, goes with another, or is in every
// namespace.
func isIncidental(id object.ID, o *metav1.PartialObjectMetadata) bool {
	return o.DeletionTimestamp != nil || len(o.OwnerReferences) > 0 || IsOfCluster(id, o)
}

// IsOfCluster says whether the cluster itself made an object.
func IsOfCluster(id object.ID, o *metav1.PartialObjectMetadata) bool {
	switch (schema.GroupKind{Group: id.Group, Kind: id.Kind}) {
	case schema.GroupKind{Kind: "ConfigMap"}:
		return o.Name == "kube-root-ca.crt" || o.Name == "openshift-service-ca.crt"
	case schema.GroupKind{Kind: "ServiceAccount"}:
		return o.Name == "default"
	case schema.GroupKind{Kind: "Service"}:
		return o.Namespace == metav1.NamespaceDefault && o.Name == "kubernetes"
	case schema.GroupKind{Kind: "Secret"}:
		return o.Annotations["kubernetes.io/service-account.name"] != ""
	}
	return isMadeByItself(id.Group, id.Kind)
}

// names are the names of objects in a sentence.
func names(ids []object.ID) string {
	const most = 3
	var listed []string
	for i, id := range ids {
		if i == most {
			return fmt.Sprintf("%s and more", strings.Join(listed, ", "))
		}
		listed = append(listed, id.String())
	}
	return strings.Join(listed, ", ")
}
