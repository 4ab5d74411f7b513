// Package delivery knows the tools that deliver objects to a cluster: how they treat an object by its annotations
// and labels.
package delivery

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

// Tool applies or prunes objects.
type Tool string

// The tools. Helm stands for Flux's helm-controller, which installs the objects of a HelmRelease by Helm.
const (
	Flux Tool = "Flux"
	Argo Tool = "Argo CD"
	Helm Tool = "Helm"
)

// Treatment is a way to treat an object.
type Treatment int

// The treatments.
const (
	// Ignored is an object that the tool does not apply.
	Ignored Treatment = iota
	// CreatedOnce is an object that the tool creates, and does not change.
	CreatedOnce
	// Kept is an object that stays in the cluster when it leaves git.
	Kept
	// Confirmed is an object that stays in the cluster when it leaves git, until somebody confirms its removal.
	Confirmed
	// Hooked is a hook, which its tool does not prune.
	Hooked
	// Outlasting is an object that stays in the cluster when its Application or release is deleted.
	Outlasting
	// Forced is an object that the tool deletes and creates again when the API server refuses a change.
	Forced
	// Recreated is an object that the tool deletes and creates again at each sync.
	Recreated
	// Replaced is an object that the tool overwrites as a whole.
	Replaced
	// Merged is an object whose other fields the tool leaves to their managers.
	Merged
	// Ended is a hook that the tool deletes when it has ended.
	Ended
	// Unchecked is an object that the tool applies without some of its checks.
	Unchecked
)

// Setting is an annotation or label that makes a tool treat an object in some way.
type Setting struct {
	Tool
	Treatment
	Key, Value string
	// Path is the field of the object: metadata.annotations[helm.sh/hook].
	Path string
}

const (
	flux        = "kustomize.toolkit.fluxcd.io/"
	syncOptions = "argocd.argoproj.io/sync-options"
	// ArgoHook is the annotation of a hook of Argo CD.
	ArgoHook        = "argocd.argoproj.io/hook"
	argoHookDeleted = "argocd.argoproj.io/hook-delete-policy"
	helmHook        = "helm.sh/hook"
	helmHookDeleted = "helm.sh/hook-delete-policy"
	resourcePolicy  = "helm.sh/resource-policy"
)

// settings has the annotations and labels that tools read, but for hooks.
//
// https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/
// https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource
var settings = []Setting{
	{Tool: Flux, Key: flux + "reconcile", Value: "disabled", Treatment: Ignored},
	{Tool: Flux, Key: flux + "ssa", Value: "Ignore", Treatment: Ignored},
	{Tool: Flux, Key: flux + "ssa", Value: "IfNotPresent", Treatment: CreatedOnce},
	{Tool: Flux, Key: flux + "ssa", Value: "Merge", Treatment: Merged},
	{Tool: Flux, Key: flux + "prune", Value: "disabled", Treatment: Kept},
	{Tool: Flux, Key: flux + "force", Value: "enabled", Treatment: Forced},
	{Tool: Argo, Key: syncOptions, Value: "Prune=false", Treatment: Kept},
	{Tool: Argo, Key: syncOptions, Value: "Prune=confirm", Treatment: Confirmed},
	{Tool: Argo, Key: syncOptions, Value: "Delete=false", Treatment: Outlasting},
	{Tool: Argo, Key: syncOptions, Value: "Force=true", Treatment: Forced},
	{Tool: Argo, Key: syncOptions, Value: "Replace=true", Treatment: Replaced},
	{Tool: Argo, Key: syncOptions, Value: "Validate=false", Treatment: Unchecked},
	{Tool: Argo, Key: syncOptions, Value: "SkipDryRunOnMissingResource=true", Treatment: Unchecked},
	{Tool: Argo, Key: resourcePolicy, Value: "keep", Treatment: Outlasting},
	{Tool: Helm, Key: resourcePolicy, Value: "keep", Treatment: Kept},
	{Tool: Helm, Key: resourcePolicy, Value: "keep", Treatment: Outlasting},
}

// FluxSelector returns the annotations and labels that make Flux treat objects in some way.
func FluxSelector(t Treatment) map[string]string {
	selector := map[string]string{}
	for _, s := range settings {
		if s.Tool == Flux && s.Treatment == t {
			selector[s.Key] = s.Value
		}
	}
	return selector
}

// Settings returns the settings of an object that some tools read.
func Settings(o *unstructured.Unstructured, tools ...Tool) (found []Setting) {
	if o == nil {
		return nil
	}
	for _, s := range settings {
		if slices.Contains(tools, s.Tool) && s.isIn(o) {
			found = append(found, s.at(o))
		}
	}
	if slices.Contains(tools, Argo) {
		found = append(recreate(o, found), argoHooks(o)...)
	}
	if value, isHook := o.GetAnnotations()[helmHook]; isHook && slices.Contains(tools, Helm) {
		found = append(found, hooks(o, Setting{Tool: Helm, Key: helmHook, Value: value})...)
	}
	return found
}

// Find returns the first setting of an object that has one of the treatments, or nil.
func Find(settings []Setting, treatments ...Treatment) *Setting {
	i := slices.IndexFunc(settings, func(s Setting) bool { return slices.Contains(treatments, s.Treatment) })
	if i < 0 {
		return nil
	}
	return &settings[i]
}

// Keeping returns the first setting by which a tool does not prune an object, or nil. Flux prunes no object that it
// ignores. Argo CD ignores an object by git, and prunes it by the cluster.
func Keeping(settings []Setting) *Setting {
	i := slices.IndexFunc(settings, func(s Setting) bool {
		isIgnored := s.Treatment == Ignored && s.Tool == Flux
		return s.Treatment == Kept || s.Treatment == Confirmed || isIgnored
	})
	if i < 0 {
		return nil
	}
	return &settings[i]
}

// isIn reports whether a tool finds a setting in an object. Flux reads labels as well, and compares without case.
func (s Setting) isIn(o *unstructured.Unstructured) bool {
	value := o.GetAnnotations()[s.Key]
	switch s.Tool {
	case Flux:
		return strings.EqualFold(value, s.Value) || strings.EqualFold(o.GetLabels()[s.Key], s.Value)
	case Helm:
		return value == s.Value
	}
	given := items(value)
	name, _, _ := strings.Cut(s.Value, "=")
	if name != "Prune" && name != "Delete" {
		return slices.Contains(given, s.Value)
	}
	first := slices.IndexFunc(given, func(option string) bool { return strings.HasPrefix(option, name+"=") })
	return first >= 0 && given[first] == s.Value
}

// at returns the setting with its place in an object.
func (s Setting) at(o *unstructured.Unstructured) Setting {
	s.Path = "metadata.annotations[" + s.Key + "]"
	if _, isAnnotation := o.GetAnnotations()[s.Key]; !isAnnotation {
		s.Path = "metadata.labels[" + s.Key + "]"
	}
	return s
}

// items returns the values of an annotation of Argo CD.
func items(text string) (values []string) {
	for value := range strings.SplitSeq(text, ",") {
		values = append(values, strings.TrimSpace(value))
	}
	return values
}

// recreate joins Replace and Force of Argo CD, which recreate an object together. Argo CD forces no replacement of
// a Namespace or a CustomResourceDefinition.
func recreate(o *unstructured.Unstructured, found []Setting) []Setting {
	isOfArgo := func(s Setting) bool {
		return s.Key == syncOptions && (s.Treatment == Forced || s.Treatment == Replaced)
	}
	isShared := o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition"
	i := slices.IndexFunc(found, isOfArgo)
	if i < 0 || isShared || !slices.ContainsFunc(found[i+1:], isOfArgo) {
		return found
	}
	both := found[i]
	both.Treatment = Recreated
	both.Value = "Replace=true,Force=true"
	return append(slices.DeleteFunc(found, isOfArgo), both)
}

// Replacing returns the settings of an object whose Application replaces all its objects (applyObject in
// gitops-engine/pkg/sync/sync_context.go of Argo CD): a forced one is recreated.
func Replacing(o *unstructured.Unstructured, found []Setting) []Setting {
	if o == nil || Find(found, Replaced, Recreated) != nil {
		return found
	}
	return recreate(o, append(found, Setting{Tool: Argo, Treatment: Replaced, Key: syncOptions, Value: "Replace=true"}))
}

// The hooks that Argo CD knows. It ignores an object with other hooks alone.
var (
	argoHookTypes = []string{"PreSync", "Sync", "PostSync", "SyncFail"}
	helmHookTypes = []string{"pre-install", "pre-upgrade", "post-install", "post-upgrade"}
)

// IsArgoHook reports whether annotations make an object a hook of Argo CD.
func IsArgoHook(annotations map[string]string) bool {
	o := &unstructured.Unstructured{}
	o.SetAnnotations(annotations)
	return argoHooks(o) != nil
}

// argoHooks returns the settings of a hook of Argo CD, which reads the hooks of Helm unless it has its own.
func argoHooks(o *unstructured.Unstructured) []Setting {
	own, isOwn := o.GetAnnotations()[ArgoHook]
	of, isHelm := o.GetAnnotations()[helmHook]
	isHelm = isHelm && of != "crd-install"
	isKnown := func(known ...string) func(string) bool {
		return func(hook string) bool { return slices.Contains(known, hook) }
	}
	hook := Setting{Tool: Argo, Key: ArgoHook, Value: own}
	runs := slices.ContainsFunc(items(own), isKnown(argoHookTypes...))
	isSkipped := !runs && slices.Contains(items(own), "Skip")
	switch {
	case !isOwn && !isHelm:
		return nil
	case !runs && !isSkipped && isHelm:
		hook.Key = helmHook
		hook.Value = of
		runs = slices.ContainsFunc(items(of), isKnown(helmHookTypes...))
	}
	if !runs {
		hook.Treatment = Ignored
		return []Setting{hook.at(o)}
	}
	return hooks(o, hook)
}

// hooks returns the settings of a hook that runs. It stays in the cluster when it leaves git, unless its tool deletes
// it when it has ended.
func hooks(o *unstructured.Unstructured, hook Setting) (found []Setting) {
	policies := items(o.GetAnnotations()[helmHookDeleted])
	if hook.Tool == Argo {
		policies = append(policies, items(o.GetAnnotations()[argoHookDeleted])...)
	}
	isDeleted := func(names ...string) bool {
		return slices.ContainsFunc(policies, func(policy string) bool { return slices.Contains(names, policy) })
	}
	treat := func(t Treatment) {
		hook.Treatment = t
		found = append(found, hook.at(o))
	}
	ends := isDeleted("HookSucceeded", "hook-succeeded", "HookFailed", "hook-failed")
	if !ends || isDeleted("BeforeHookCreation", "before-hook-creation") {
		treat(Recreated)
	}
	if !ends {
		treat(Hooked)
		return found
	}
	hook.Key = argoHookDeleted
	if _, isOwn := o.GetAnnotations()[argoHookDeleted]; !isOwn || hook.Tool == Helm {
		hook.Key = helmHookDeleted
	}
	hook.Value = o.GetAnnotations()[hook.Key]
	treat(Ended)
	return found
}

// RunsAgain reports whether the cluster deletes a Job when it has ended, so that each sync creates it again. A hook
// runs at each sync anyway.
func RunsAgain(job *unstructured.Unstructured) bool {
	if job == nil || job.GroupVersionKind().Group != "batch" || job.GetKind() != "Job" {
		return false
	}
	_, hasTTL, _ := unstructured.NestedFieldNoCopy(job.Object, "spec", "ttlSecondsAfterFinished")
	isSuspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	_, isArgoHook := job.GetAnnotations()[ArgoHook]
	_, isHelmHook := job.GetAnnotations()[helmHook]
	return hasTTL && !isSuspended && !isArgoHook && !isHelmHook && Find(Settings(job, Flux), Ignored) == nil
}

// AppliesByServer reports whether a tool applies an object by server-side apply: Argo CD does so as an option (see
// shouldUseServerSideApply in gitops-engine/pkg/sync/sync_context.go), and Flux always.
func AppliesByServer(o *unstructured.Unstructured, by manifest.Object) bool {
	if by.Unstructured == nil || !IsApplication(by) {
		return true
	}
	const option = "ServerSideApply="
	own := items(o.GetAnnotations()[syncOptions])
	all, _, _ := unstructured.NestedStringSlice(by.Object, "spec", "syncPolicy", "syncOptions")
	return !slices.Contains(own, option+"false") && slices.Contains(append(own, all...), option+"true")
}
