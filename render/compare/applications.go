package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gobwas/glob"
	"github.com/itchyny/gojq"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/delivery/release"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/node"
)

// applications are the objects that deliver, such as Applications of Argo CD, before and after a change, and the
// delivery of each object.
type applications struct {
	was, is map[manifest.ID]manifest.Object
	by      map[manifest.ID]manifest.ID
}

func newApplications(was, is []manifest.Object, by map[manifest.ID]manifest.ID) applications {
	find := func(objects []manifest.Object) map[manifest.ID]manifest.Object {
		found := map[manifest.ID]manifest.Object{}
		for _, o := range objects {
			if delivery.IsApplication(o) || folder.IsKustomization(o) || release.Is(o) {
				found[o.IDInNamespace()] = o
				found[o.Committed().ID()] = o
			}
		}
		return found
	}
	return applications{find(was), find(is), by}
}

// applicationSpec has the fields of an Application that decide about live objects.
type applicationSpec struct {
	SyncPolicy struct {
		Automated *struct {
			Enabled *bool
			Prune   bool
		}
		SyncOptions []string
	}
	IgnoreDifferences []struct {
		Group, Kind, Name, Namespace string
		ignored
	}
}

// ignored are fields that Argo CD ignores.
type ignored struct{ JSONPointers, JQPathExpressions []string }

// paths returns the paths of the ignored fields that an object has.
func (i ignored) paths(content map[string]any) (all [][]string) {
	for _, pointer := range i.JSONPointers {
		all = append(all, node.JSONPointer(pointer))
	}
	for _, expression := range i.JQPathExpressions {
		all = append(all, jqPaths(expression, content)...)
	}
	return all
}

// jqPaths returns the paths that an expression of jq selects in content, as in
// util/argo/normalizers/diff_normalizer.go. A wrong one selects nothing, and so does one with an error, or that has no
// end: there it runs for a second, here for a number of steps, which is the same everywhere.
func jqPaths(expression string, content map[string]any) (all [][]string) {
	const mostSteps, mostPaths = 1_000_000, 1000
	query, err := gojq.Parse("path(" + expression + ")")
	if err != nil {
		return nil
	}
	var plain any // the library knows no int64
	encoded, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(encoded, &plain)
	}
	if err != nil {
		return nil
	}
	found := query.RunWithContext(&steps{context.Background(), mostSteps}, plain)
	for {
		value, isThere := found.Next()
		keys, isPath := value.([]any)
		switch {
		case !isThere:
			return all
		case !isPath || len(all) == mostPaths:
			return nil
		}
		path := make([]string, len(keys))
		for i, key := range keys {
			path[i] = fmt.Sprint(key)
		}
		all = append(all, path)
	}
}

// steps is the context of a program of jq, which asks it at each step whether to go on.
type steps struct {
	context.Context
	left int
}

// ended is a closed channel.
var ended = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done implements context.Context.
func (s *steps) Done() <-chan struct{} {
	if s.left--; s.left < 0 {
		return ended
	}
	return nil
}

// Err implements context.Context.
func (s *steps) Err() error {
	if s.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// restore sets the ignored fields of an object to those that it had before, and reports whether there are any.
func (i ignored) restore(applied, before map[string]any) (isRestored bool) {
	for _, keys := range i.paths(before) {
		live := decoding.At(before, keys)
		if live == nil || len(keys) == 0 || decoding.At(applied, keys[:len(keys)-1]) == nil {
			continue
		}
		decoding.Replace(applied, keys, live)
		isRestored = true
	}
	return isRestored
}

func specOf(o manifest.Object) (spec applicationSpec) {
	if o.Unstructured != nil {
		_ = manifest.Decode(o.Object["spec"], &spec) // a wrong type is an error of the definition
	}
	return spec
}

// keeping returns the reason, as a setting, why a tool leaves an object in the cluster that a delivery does not bring
// any more, or nil. A delivery that is gone itself may stay in the cluster, with its objects.
func (a applications) keeping(of manifest.ID) *delivery.Setting {
	for range len(a.was) { // one may deliver itself
		was, isThere := a.was[of]
		if !isThere {
			return nil
		}
		is, stays := a.is[of]
		keeps := keepingOfFlux(was, is)
		if delivery.IsApplication(was) {
			keeps = keepingOfArgo(was, is)
		}
		if keeps == nil && !stays {
			keeps = delivery.Keeping(delivery.Settings(was.Unstructured, delivery.Flux, delivery.Argo))
		}
		if keeps != nil || stays {
			return keeps
		}
		of = a.by[was.IDInNamespace()]
	}
	return nil
}

// keepingOfFlux is keeping of a Kustomization itself, which is empty if it is gone.
func keepingOfFlux(was, is manifest.Object) *delivery.Setting {
	keeps := &delivery.Setting{Tool: delivery.Flux, Treatment: delivery.Kept, Key: "spec.prune of " + was.String(),
		Value: "false"}
	isGone := is.Unstructured == nil
	placeOf := func(o manifest.Object) folder.Place {
		return append(folder.Places(o), folder.Place{})[0] // a field of a wrong type is an error elsewhere
	}
	switch {
	case !folder.IsKustomization(was), !isGone && placeOf(is).Prunes(), isGone && placeOf(was).Deletes():
		return nil
	case isGone && placeOf(was).Prunes():
		keeps.Key = "spec.deletionPolicy of " + was.String()
		keeps.Value = "Orphan"
	}
	return keeps
}

// keepingOfArgo is keeping of an Application itself, which is empty if it is gone: nothing prunes, or it is gone and
// has no finalizer. See finalizeApplicationDeletion and autoSync in controller/appcontroller.go. The controller of an
// ApplicationSet adds the finalizer to its Applications.
func keepingOfArgo(was, is manifest.Object) *delivery.Setting {
	keeps := &delivery.Setting{Tool: delivery.Argo, Treatment: delivery.Outlasting}
	isGone := is.Unstructured == nil
	policy := specOf(is).SyncPolicy
	automated := policy.Automated
	isAutomated := automated != nil && (automated.Enabled == nil || *automated.Enabled)
	switch {
	case !delivery.IsApplication(was.Committed()):
		return nil
	case isGone && !slices.ContainsFunc(was.GetFinalizers(), isCascading):
		keeps.Key = was.String() + " has no finalizer " + cascading
		return keeps
	case slices.Contains(policy.SyncOptions, "Prune=false"), isAutomated && !automated.Prune:
		keeps.Key = "spec.syncPolicy of " + is.String() + " does not prune"
		return keeps
	}
	return nil
}

// replaces reports whether an Application replaces its objects as a whole.
func (a applications) replaces(by manifest.ID) bool {
	is := a.is[by]
	return is.Unstructured != nil && delivery.IsApplication(is) &&
		slices.Contains(specOf(is).SyncPolicy.SyncOptions, "Replace=true")
}

// cascading is the finalizer that deletes the objects of an Application with it.
const cascading = "resources-finalizer.argocd.argoproj.io"

func isCascading(finalizer string) bool {
	return slices.Contains([]string{cascading, cascading + "/foreground", cascading + "/background"}, finalizer)
}

// ignore sets the fields of a changed object that its Application ignores to those of the live object, for which those
// before stand in: see normalizeTargetResources in controller/sync.go. It returns a setting if nothing else changes,
// and then the object as it is in git.
func (a applications) ignore(c *Change) *delivery.Setting {
	by := a.is[c.InstalledBy]
	if c.Action() != Changed || by.Unstructured == nil {
		return nil
	}
	spec := specOf(by)
	if !slices.Contains(spec.SyncPolicy.SyncOptions, "RespectIgnoreDifferences=true") {
		return nil
	}
	applied := c.After.DeepCopy()
	isIgnored := false
	for _, entry := range spec.IgnoreDifferences {
		kind := manifest.ID{Group: entry.Group, Kind: entry.Kind}
		if !isOfKind(c.Object(), kind) || entry.Name != "" && entry.Name != c.After.GetName() ||
			entry.Namespace != "" && entry.Namespace != c.After.GetNamespace() {
			continue
		}
		isIgnored = entry.restore(applied.Object, c.Before.Object) || isIgnored
	}
	switch {
	case !isIgnored:
	case Equal(c.Before, applied):
		return &delivery.Setting{Tool: delivery.Argo, Treatment: delivery.Ignored,
			Key: "spec.ignoreDifferences of " + by.String(), Value: "respected"}
	default:
		c.After = applied
	}
	return nil
}

// isOfKind reports whether patterns select the group and kind of an object.
func isOfKind(o manifest.Object, patterns manifest.ID) bool {
	matches := func(pattern, text string) bool {
		compiled, err := glob.Compile(pattern)
		return err == nil && compiled.Match(text)
	}
	return matches(patterns.Group, o.GroupVersionKind().Group) && matches(patterns.Kind, o.GetKind())
}
