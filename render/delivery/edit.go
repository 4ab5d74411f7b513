package delivery

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
)

// Argo CD adds the fields of an Application to a kustomization as `kustomize edit` does: see Build in
// util/kustomize/kustomize.go there, and kustomize/commands/edit of kustomize.

// RefusedError says that a tool refuses a field of kustomize.
type RefusedError struct {
	Field string // below kustomize
	Err   error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// CheckEdit returns a RefusedError if Argo CD cannot add the fields to a kustomization.
func (o Overlay) CheckEdit(k types.Kustomization) error {
	for n, i := range o.Images {
		if i.NewName+i.NewTag+i.Digest == "" {
			return refused(fmt.Errorf("%s sets neither a name, a tag nor a digest, and kustomize refuses that: write "+
				"NAME:TAG, NAME@DIGEST or NAME=NEW", i.Name), fmt.Sprintf("images[%d]", n))
		}
	}
	for n, r := range o.Replicas {
		if _, err := strconv.Atoi(r.Count.StrVal); err != nil && r.Count.Type == intstr.String {
			return refused(fmt.Errorf("%s is no number, and Argo CD takes only numbers: write one", r.Count.StrVal),
				fmt.Sprintf("replicas[%d].count", n))
		}
	}
	if o.LabelIncludeTemplates && !o.LabelWithoutSelector && len(o.CommonLabels) > 0 {
		return refused(errors.New("kustomize refuses it without labelWithoutSelector: true: add that"),
			"labelIncludeTemplates")
	}
	labels := k.CommonLabels //nolint:staticcheck // Argo CD sets it
	if o.LabelWithoutSelector {
		labels = nil
		if at := o.labelsIn(k); at >= 0 {
			labels = k.Labels[at].Pairs
		}
	}
	if err := checkNew("commonLabels", o.CommonLabels, labels, o.ForceCommonLabels); err != nil {
		return err
	}
	return checkNew("commonAnnotations", o.CommonAnnotations, k.CommonAnnotations, o.ForceCommonAnnotations)
}

func refused(err error, field string) error { return &RefusedError{field, err} }

// checkNew returns the error of the first of entries that a kustomization has already.
func checkNew(field string, entries, own map[string]string, isForced bool) error {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if _, isThere := own[key]; isThere && !isForced {
			return refused(fmt.Errorf("%s is in the kustomization as well, and kustomize refuses to add it: remove "+
				"one, or set force%s: true", key, "C"+field[1:]), manifest.JoinField([]string{field, key}))
		}
	}
	return nil
}

// setMetadata adds the labels and annotations of Argo CD.
func (o Overlay) setMetadata(k *types.Kustomization) {
	k.CommonAnnotations = merged(k.CommonAnnotations, o.CommonAnnotations)
	if !o.LabelWithoutSelector {
		k.CommonLabels = merged(k.CommonLabels, o.CommonLabels) //nolint:staticcheck // Argo CD sets it
		return
	}
	if len(o.CommonLabels) == 0 {
		return
	}
	if at := o.labelsIn(*k); at >= 0 {
		k.Labels = slices.Clone(k.Labels)
		k.Labels[at].Pairs = merged(k.Labels[at].Pairs, o.CommonLabels)
		return
	}
	k.Labels = append(k.Labels, types.Label{Pairs: o.CommonLabels, IncludeTemplates: o.LabelIncludeTemplates})
}

// labelsIn returns the index of the entry of labels that takes the labels, or a negative one (findLabelIndex in
// kustomize/commands/edit/add/addmetadata.go of kustomize).
func (o Overlay) labelsIn(k types.Kustomization) int {
	return slices.IndexFunc(k.Labels, func(l types.Label) bool {
		return !l.IncludeSelectors && l.IncludeTemplates == o.LabelIncludeTemplates
	})
}

// merged returns entries with more of them, which win.
func merged(entries, more map[string]string) map[string]string {
	if len(more) == 0 {
		return entries
	}
	all := map[string]string{}
	maps.Copy(all, entries)
	maps.Copy(all, more)
	return all
}

// over returns the image in place of an entry: a * keeps the part of it (kustomize/commands/edit/set/setimage.go of
// kustomize).
func (i Image) over(entry types.Image) types.Image {
	kept := func(part, own string) string {
		if part == "*" {
			return own
		}
		return part
	}
	return types.Image{Name: i.Name, NewName: kept(i.NewName, entry.NewName), NewTag: kept(i.NewTag, entry.NewTag),
		Digest: kept(i.Digest, entry.Digest)}
}
