package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

// Each tool reads its own annotations in its own way.
func TestSettingsAreThoseThatAToolReads(t *testing.T) {
	const fluxPrune, hookPolicy = "kustomize.toolkit.fluxcd.io/prune", "argocd.argoproj.io/hook-delete-policy"
	for name, test := range map[string]struct {
		tool        Tool
		annotations string // KEY: VALUE; KEY: VALUE
		isLabel     bool
		want        []Treatment
	}{
		"Flux without case":          {Flux, fluxPrune + ": Disabled", false, []Treatment{Kept}},
		"Flux in labels":             {Flux, fluxPrune + ": disabled", true, []Treatment{Kept}},
		"Flux with another value":    {Flux, fluxPrune + ": disable", false, nil},
		"Flux of Argo CD":            {Flux, syncOptions + ": Prune=false", false, nil},
		"Argo CD with spaces":        {Argo, syncOptions + ": Validate=false , Prune=false", false, []Treatment{Kept, Unchecked}},
		"Argo CD with case":          {Argo, syncOptions + ": prune=False", false, nil},
		"Argo CD in labels":          {Argo, syncOptions + ": Prune=false", true, nil},
		"the first option counts":    {Argo, syncOptions + ": Prune=true,Prune=false", false, nil},
		"Argo CD of Flux":            {Argo, fluxPrune + ": disabled", false, nil},
		"two options recreate":       {Argo, syncOptions + ": Force=true,Replace=true", false, []Treatment{Recreated}},
		"a hook":                     {Argo, ArgoHook + ": PreSync", false, []Treatment{Recreated, Hooked}},
		"a hook of Helm":             {Argo, helmHook + ": pre-install,pre-upgrade", false, []Treatment{Recreated, Hooked}},
		"no hook":                    {Argo, helmHook + ": crd-install", false, nil},
		"an unknown hook":            {Argo, ArgoHook + ": PostDelete", false, []Treatment{Ignored}},
		"a hook that is skipped":     {Argo, ArgoHook + ": Skip; " + helmHook + ": pre-install", false, []Treatment{Ignored}},
		"a hook that is deleted":     {Argo, ArgoHook + ": Sync; " + hookPolicy + ": HookSucceeded", false, []Treatment{Ended}},
		"a hook that is both":        {Argo, ArgoHook + ": Sync; " + hookPolicy + ": BeforeHookCreation,HookFailed", false, []Treatment{Recreated, Ended}},
		"the policy of no hook":      {Argo, hookPolicy + ": HookSucceeded", false, nil},
		"Helm keeps":                 {Helm, resourcePolicy + ": keep", false, []Treatment{Kept, Outlasting}},
		"Argo CD keeps less":         {Argo, resourcePolicy + ": keep", false, []Treatment{Outlasting}},
		"Flux reads nothing of Helm": {Flux, resourcePolicy + ": keep", false, nil},
	} {
		metadata := map[string]string{}
		for pair := range strings.SplitSeq(test.annotations, "; ") {
			key, value, _ := strings.Cut(pair, ": ")
			metadata[key] = value
		}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		if test.isLabel {
			o.SetLabels(metadata)
		} else {
			o.SetAnnotations(metadata)
		}
		var got []Treatment
		for _, s := range Settings(o, test.tool) {
			got = append(got, s.Treatment)
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// As shouldUseServerSideApply of Argo CD.
func TestArgoCDAppliesByTheServerAsAnOption(t *testing.T) {
	for _, test := range []struct {
		apiVersion, kind, all, own string
		want                       bool
	}{
		{"argoproj.io/v1alpha1", "Application", "", "", false},
		{"argoproj.io/v1alpha1", "Application", "ServerSideApply=true", "Prune=false", true},
		{"argoproj.io/v1alpha1", "Application", "", "Prune=false, ServerSideApply=true", true},
		{"argoproj.io/v1alpha1", "Application", "ServerSideApply=true", "ServerSideApply=false", false},
		{"kustomize.toolkit.fluxcd.io/v1", "Kustomization", "", "", true},
	} {
		by := &unstructured.Unstructured{Object: map[string]any{"apiVersion": test.apiVersion, "kind": test.kind,
			"spec": map[string]any{"syncPolicy": map[string]any{"syncOptions": []any{test.all}}}}}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(map[string]string{syncOptions: test.own})
		if got := AppliesByServer(o, manifest.Object{Unstructured: by}); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
	if !AppliesByServer(&unstructured.Unstructured{}, manifest.Object{}) {
		t.Error("nobody delivers")
	}
}

func TestForcedObjectsOfAReplacingApplicationAreRecreated(t *testing.T) {
	for options, want := range map[string]Treatment{"Force=true": Recreated, "Validate=false": Replaced} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(map[string]string{syncOptions: options})
		if Find(Replacing(o, Settings(o, Argo)), want) == nil {
			t.Errorf("%s: no %d", options, want)
		}
	}
}
