package live

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fluxcd/pkg/ssa/normalize"
	ssautils "github.com/fluxcd/pkg/ssa/utils"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// finding is what a cluster has of an object.
type finding struct {
	wanted diff.Manifest
	found  *unstructured.Unstructured // as it is in the cluster; nil where it is not
	// live is found, and after what a sync makes of it, without what the server keeps.
	live, after *unstructured.Unstructured
	// admitted is what the server would make of an object that is not there yet.
	admitted *unstructured.Unstructured
	notes    []string
	problem  *object.Problem
	missing  right // that keeps the object from being compared; zero where none is
}

// differs says whether a sync changes the object.
func (f finding) differs() bool {
	return f.live == nil || !sameJSON(f.live.Object, f.after.Object)
}

// failed is the finding of an object that cannot be compared.
func (f finding) failed(message string, args ...any) finding {
	p := object.NewProblem(object.Object{Unstructured: f.wanted.Unstructured}, "", object.Value{}, fmt.Sprintf(message, args...))
	f.problem = &p
	return f
}

// compare compares an object with that of the cluster. An error is for what keeps everything
// from being compared.
func (c *comparison) compare(ctx context.Context, m diff.Manifest) (finding, error) {
	f := finding{wanted: m, after: m.Unstructured}
	gvk := m.GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return c.compareUnserved(ctx, f)
	}
	if err != nil {
		return f, err
	}
	wanted := m.DeepCopy()
	inNamespace(wanted, mapping)
	if ns := wanted.GetNamespace(); ns != "" && !c.namespaces[ns].isThere {
		return f, nil // all that is in it is added, unless the namespace is a problem
	}
	return c.compareServed(ctx, f, wanted, mapping)
}

// inNamespace puts an object where the server would look for it.
func inNamespace(o *unstructured.Unstructured, mapping *meta.RESTMapping) {
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		o.SetNamespace("")
	case o.GetNamespace() == "":
		o.SetNamespace(metav1.NamespaceDefault)
	}
}

// attempts are how often an object is looked at that changes meanwhile.
const attempts = 5

func (c *comparison) compareServed(ctx context.Context, f finding, wanted *unstructured.Unstructured, mapping *meta.RESTMapping) (finding, error) {
	for range attempts {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(wanted.GroupVersionKind())
		err := c.Get(ctx, keyOf(wanted), found)
		if apierrors.IsNotFound(err) {
			return c.compareAbsent(ctx, f, wanted, mapping)
		}
		if err != nil {
			return c.refused(f, "get", mapping, err)
		}
		f.found, f.live = found, cleaned(found)
		if onlyIfAbsent(wanted) {
			return present(f), nil
		}
		after, err := c.dryRun(ctx, wanted, found)
		if err != nil {
			return c.refused(f, "patch", mapping, err)
		}
		f.after, f.notes = cleaned(after), c.notes(wanted, found, after)
		if after.GetResourceVersion() == found.GetResourceVersion() {
			break
		}
	}
	return f, nil
}

// onlyIfAbsent says whether an object is made where it is not, and never changed.
func onlyIfAbsent(o *unstructured.Unstructured) bool {
	return ssautils.AnyInMetadata(o, map[string]string{fluxDomain + "/ssa": "IfNotPresent"})
}

// present is the finding of an object that is made where it is not: as it is there, a sync
// leaves it alone, and the API server would let none of a started Pod be changed. It is
// another one only if it was made from another spec.
func present(f finding) finding {
	f.after = f.live.DeepCopy()
	digest, other := f.wanted.GetAnnotations()[kind.DigestAnnotation], f.live.GetAnnotations()[kind.DigestAnnotation]
	if digest != other {
		annotations := f.after.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[kind.DigestAnnotation] = digest
		f.after.SetAnnotations(annotations)
		f.notes = append(f.notes, "it was not made from the spec in git, and a sync leaves it alone: delete it, and the next sync makes the one in git")
	}
	return f
}

// compareAbsent asks for the server's verdict on an object that is not there.
func (c *comparison) compareAbsent(ctx context.Context, f finding, wanted *unstructured.Unstructured, mapping *meta.RESTMapping) (finding, error) {
	admitted, err := c.dryRun(ctx, wanted, nil)
	if err != nil {
		return c.refused(f, "patch", mapping, err)
	}
	f.admitted = cleaned(admitted)
	return f, nil
}

// compareUnserved compares an object of a kind, or a version of it, that the cluster does not
// know until the environment's definition is applied.
func (c *comparison) compareUnserved(ctx context.Context, f finding) (finding, error) {
	gvk := f.wanted.GroupVersionKind()
	if !c.defined[gvk.GroupKind()] {
		return f.failed("the cluster does not know %s of %s: install its CustomResourceDefinition, or have the environment bring it", gvk.Kind, gvk.GroupVersion()), nil
	}
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind())
	if meta.IsNoMatchError(err) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(mapping.GroupVersionKind)
	wanted := f.wanted.DeepCopy()
	inNamespace(wanted, mapping)
	err = c.Get(ctx, keyOf(wanted), found)
	if apierrors.IsNotFound(err) {
		return f, nil
	}
	if err != nil {
		return c.refused(f, "get", mapping, err)
	}
	f.found, f.live = found, cleaned(found)
	return f.predicted(fmt.Sprintf("the cluster does not serve %s yet", gvk.GroupVersion())), nil
}

// predicted is the finding of an object of which the server cannot say what it becomes, and
// why.
func (f finding) predicted(why string) finding {
	if f.live != nil {
		f.after = overlaid(f.live, f.wanted.Unstructured)
	}
	f.notes = append(f.notes, "this is an estimate, without what the API server adds or removes: "+why)
	return f
}

// dryRun is what the API server would make of an object, if what git has were applied to what
// is found: as the tool would that applied it, taking fields that others own, and without
// fields that people, or a tool before, set and git does not have.
func (c *comparison) dryRun(ctx context.Context, wanted, found *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	after := readable(wanted, found)
	if err := normalize.Unstructured(after); err != nil {
		return nil, err
	}
	ssautils.RemoveCABundleFromCRD(after)
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(after), client.FieldOwner(c.manager(found)), client.ForceOwnership, client.DryRunAll)
	if err != nil || found == nil {
		return after, err
	}
	without, ok := c.withoutLeftovers(found, after)
	if !ok {
		return after, nil
	}
	// What is left out may have a default, which only the API server knows.
	patch, err := mergePatch(found, without)
	if err != nil {
		return nil, err
	}
	defaulted := found.DeepCopy()
	err = c.Patch(ctx, defaulted, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(c.own()), client.DryRunAll)
	if err != nil && isFatal(err) {
		return nil, err
	}
	if err != nil {
		return after, nil //nolint:nilerr // what was left out has to be there
	}
	return defaulted, nil
}

// mergePatch makes one object of another, but for what the server keeps.
func mergePatch(from, to *unstructured.Unstructured) ([]byte, error) {
	was, err := json.Marshal(withoutServerFields(from).Object)
	if err != nil {
		return nil, err
	}
	is, err := json.Marshal(withoutServerFields(to).Object)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(was, is)
}
