package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/apply"
	"example.com/gatehouse/render/object"
)

// extra is an object that the cluster has and git has not.
type extra struct {
	live    *unstructured.Unstructured // nil of one that is not there
	note    string
	isStray bool // rather than pruned
	problem *object.Problem
}

// candidate is an object that may be an extra.
type candidate struct {
	gvk             schema.GroupVersionKind // without a version for the preferred one
	namespace, name string
	note            string
	isStray         bool
}

func (c candidate) id() object.ID {
	return object.ID{Group: c.gvk.Group, Kind: c.gvk.Kind, Namespace: cmp.Or(c.namespace, metav1.NamespaceDefault), Name: c.name}
}

// findExtras finds what the tools that sync the environment would prune, and what nobody
// applied from git.
func (c *comparison) findExtras(ctx context.Context, findings []finding) ([]extra, []object.Problem, error) {
	syncers := syncersOf(findings)
	inventories, problems, err := c.inventories(ctx, syncers)
	if err != nil {
		return nil, nil, err
	}
	var candidates []candidate
	for _, i := range inventories {
		for id, version := range i.entries {
			gvk := schema.GroupVersionKind{Group: id.Group, Version: version, Kind: id.Kind}
			candidates = append(candidates, candidate{gvk, id.Namespace, id.Name, i.note, i.stays})
		}
	}
	strays, warnings, err := c.strays(ctx, syncers)
	if err != nil {
		return nil, nil, err
	}
	candidates = c.unknown(append(candidates, strays...))
	extras := make([]extra, len(candidates))
	err = concurrently(ctx, len(candidates), func(ctx context.Context, i int) (err error) {
		extras[i], err = c.extra(ctx, candidates[i])
		return err
	})
	problems = append(problems, warnings...)
	for _, x := range extras {
		if x.problem != nil {
			problems = append(problems, *x.problem)
		}
	}
	return slices.DeleteFunc(extras, func(x extra) bool { return x.live == nil }), problems, err
}

// unknown are candidates that no environment has, each once.
func (c *comparison) unknown(candidates []candidate) (unknown []candidate) {
	for _, one := range candidates {
		if id := one.id(); !c.known[id] {
			c.known[id] = true
			unknown = append(unknown, one)
		}
	}
	return unknown
}

// extra reads a candidate.
func (c *comparison) extra(ctx context.Context, one candidate) (extra, error) {
	if one.gvk.Version == "" {
		mapping, err := c.RESTMapper().RESTMapping(one.gvk.GroupKind())
		if meta.IsNoMatchError(err) {
			return extra{}, nil
		}
		if err != nil {
			return extra{}, err
		}
		one.gvk = mapping.GroupVersionKind
	}
	found := newObject(one.gvk.GroupVersion().String(), one.gvk.Kind, one.namespace, one.name)
	err := c.Get(ctx, keyOf(found), found)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return extra{}, nil
	case err != nil && isFatal(err):
		return extra{}, err
	case err != nil:
		p := object.NewProblem(object.Object{Unstructured: found}, "", object.Value{}, fmt.Sprintf("git does not have it, and whether the cluster has is not known: %v", err))
		p.Warning = true
		return extra{problem: &p}, nil
	case found.GetDeletionTimestamp() != nil: // it is about to go
		return extra{}, nil
	}
	return extra{live: cleaned(found), note: one.note, isStray: one.isStray}, nil
}

// madeByHand are kinds of which people make objects by kubectl, and of which controllers do,
// too: of those, only what kubectl made is listed.
var madeByHand = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// listing is a kind to look for in a namespace.
type listing struct {
	gvk       schema.GroupVersionKind
	namespace string
	onlyHand  bool // what kubectl made
}

// strays are the objects that nobody applied from git, in the Namespaces that the environment
// brings.
func (c *comparison) strays(ctx context.Context, s syncers) (strays []candidate, problems []object.Problem, err error) {
	listings := c.listings()
	found, lacking := make([][]candidate, len(listings)), make([]bool, len(listings))
	err = concurrently(ctx, len(listings), func(ctx context.Context, i int) error {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listings[i].gvk)
		err := c.eachPage(ctx, list, listings[i].namespace, func(o *metav1.PartialObjectMetadata) {
			o.SetGroupVersionKind(listings[i].gvk)
			if stray, ok := c.stray(o, s, listings[i].onlyHand); ok {
				found[i] = append(found[i], stray)
			}
		})
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			return nil
		case err != nil && isFatal(err):
			return err
		}
		lacking[i] = err != nil && !listings[i].onlyHand
		return nil
	})
	kinds := map[string][]string{}
	for i, l := range listings {
		if strays = append(strays, found[i]...); lacking[i] {
			kinds[l.namespace] = append(kinds[l.namespace], l.gvk.Kind)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(kinds)) {
		problems = append(problems, object.Problem{Warning: true, Object: "Namespace " + namespace,
			Message: fmt.Sprintf("you have no right to list each %s in it: those that git does not have do not show", strings.Join(kinds[namespace], ", "))})
	}
	return strays, problems, err
}

// listings are what is to be listed: in each Namespace of the environment that is there, the
// kinds that it has, those that render writes for what people write, and those that people make.
func (c *comparison) listings() (listings []listing) {
	kinds := map[schema.GroupKind]listing{}
	for _, k := range c.Kinds.All {
		for _, child := range k.Children {
			kinds[child.GVK.GroupKind()] = listing{gvk: child.GVK}
		}
	}
	for _, gvk := range madeByHand {
		kinds[gvk.GroupKind()] = listing{gvk: gvk, onlyHand: true}
	}
	var namespaces []string
	for _, m := range c.Objects {
		if ssautils.IsNamespace(m.Unstructured) && c.namespaces[m.GetName()].isThere {
			namespaces = append(namespaces, m.GetName())
		}
		if m.GetNamespace() != "" {
			kinds[m.GroupVersionKind().GroupKind()] = listing{gvk: m.GroupVersionKind()}
		}
	}
	sorted := slices.SortedFunc(maps.Values(kinds), func(a, b listing) int { return strings.Compare(a.gvk.String(), b.gvk.String()) })
	for _, namespace := range namespaces {
		for _, kind := range sorted {
			kind.namespace = namespace
			listings = append(listings, kind)
		}
	}
	return listings
}

// eachPage reads a list, some objects at a time.
func (c *comparison) eachPage(ctx context.Context, list *metav1.PartialObjectMetadataList, namespace string, do func(*metav1.PartialObjectMetadata)) error {
	const page = 500
	for {
		if err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return err
		}
		for i := range list.Items {
			do(&list.Items[i])
		}
		if list.Continue == "" {
			return nil
		}
	}
}

// stray returns an object of a Namespace of the environment as a candidate, unless something
// else than people made it, or another tool has it.
func (c *comparison) stray(o *metav1.PartialObjectMetadata, s syncers, onlyHand bool) (candidate, bool) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetLabels(o.Labels)
	u.SetAnnotations(o.Annotations)
	one := candidate{o.GroupVersionKind(), o.Namespace, o.Name, "nobody applied it from git, and a sync leaves it alone: delete it, or write it in environments/" + c.Name, true}
	switch application, kustomization := applicationOf(u), kustomizationOf(u); {
	case apply.IsOfCluster(one.id(), o), len(o.OwnerReferences) > 0, o.DeletionTimestamp != nil, onlyHand && !isByHandAtAll(o):
		return one, false
	case s.applications[application]:
		one.note, one.isStray = "Application "+application+" prunes it", false
	case s.kustomizations[kustomization]:
		one.note = "Kustomization " + kustomization + " applied it once, and does not prune it: delete it"
		if onlyIfAbsent(u) {
			one.note = "Flux does not prune what it makes only where it is not (" + fluxDomain + "/ssa: IfNotPresent): delete it"
		}
	case application != "", kustomization != "", o.Labels["helm.toolkit.fluxcd.io/name"] != "", c.isApplied(o):
		return one, false
	case hasOption(o.Annotations[argoDomain+"/compare-options"], "IgnoreExtraneous"):
		return one, false
	}
	return one, true
}

// isByHandAtAll says whether kubectl made or changed an object; nobody is known of one that has
// no fields.
func isByHandAtAll(o *metav1.PartialObjectMetadata) bool {
	return len(o.ManagedFields) == 0 || slices.ContainsFunc(o.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return isByHand(entry.Manager) })
}

// isApplied says whether render apply applied an object, be it from another environment, or
// keeps it for itself.
func (c *comparison) isApplied(o *metav1.PartialObjectMetadata) bool {
	gvk := o.GroupVersionKind()
	isListed := c.applied[object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace, Name: o.Name}]
	isInventory := o.Namespace == metav1.NamespaceDefault && strings.HasPrefix(o.Name, apply.Manager("")) && o.Labels["app.kubernetes.io/managed-by"] == "gatehouse"
	return isListed || isInventory
}

func hasOption(options, option string) bool {
	return slices.Contains(strings.FieldsFunc(options, func(r rune) bool { return r == ',' || r == ' ' }), option)
}
