package compare

import (
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
)

const web = "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd, finalizers: [FINALIZERS]}\nspec: {SPEC}\n"

// deliveryOf returns the delivery of some objects.
func deliveryOf(of manifest.Object, objects []manifest.Object) *render.Delivery {
	return render.NewDelivery(folder.Place{Of: of, InCluster: of}, objects, nil)
}

// input is an environment with an Application web that delivers objects.
func input(t *testing.T, application, objects string) Input {
	t.Helper()
	in := Input{Objects: read(t, application)}
	if application != "" {
		in.Deliveries = []*render.Delivery{deliveryOf(in.Objects[0], read(t, objects))}
	}
	return in
}

func TestArgoCDKeepsWhatItDoesNotPrune(t *testing.T) {
	kinds, err := registry.New(gatehouse.Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ finalizers, spec, after, want string }{
		"by hand":                    {"", "", "stays", ""},
		"automated":                  {"", "syncPolicy: {automated: {}}", "stays", "spec.syncPolicy of Application argocd/web does not prune"},
		"automated, off":             {"", "syncPolicy: {automated: {enabled: false}}", "stays", ""},
		"automated, pruning":         {"", "syncPolicy: {automated: {prune: true}}", "stays", ""},
		"an option":                  {"", "syncPolicy: {automated: {prune: true}, syncOptions: [Prune=false]}", "stays", "spec.syncPolicy of Application argocd/web does not prune"},
		"removed":                    {"", "syncPolicy: {automated: {prune: true}}", "", "Application argocd/web has no finalizer resources-finalizer.argocd.argoproj.io"},
		"removed, with a finalizer":  {"resources-finalizer.argocd.argoproj.io", "", "", ""},
		"removed, in the background": {"resources-finalizer.argocd.argoproj.io/background", "", "", ""},
	} {
		application := strings.NewReplacer("FINALIZERS", test.finalizers, "SPEC", test.spec).Replace(web)
		before := input(t, application, deployment)
		after := input(t, "", "")
		if test.after != "" {
			after = input(t, application, "")
		}
		got := ""
		for _, c := range Differ(kinds, before, after).Changes {
			if by := KeptBy(c); by != nil && c.Before.GetKind() == "Deployment" {
				got = by.Key
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestFluxKeepsWhatItDoesNotPrune(t *testing.T) {
	kinds, err := registry.New(gatehouse.Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	const kustomization = `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: web, namespace: argocd, annotations: {MARK}}, spec: {path: web, SPEC}}`
	for name, test := range map[string]struct{ mark, was, is, want string }{
		"pruning":                       {"", "prune: true", "prune: true", ""},
		"not pruning":                   {"", "prune: false", "prune: false", "spec.prune of Kustomization argocd/web"},
		"not pruning any more":          {"", "prune: true", "prune: false", "spec.prune of Kustomization argocd/web"},
		"of a wrong type":               {"", "prune: 1", "prune: 1", ""},
		"removed":                       {"", "prune: true", "", ""},
		"removed, not pruning":          {"", "prune: false", "", "spec.prune of Kustomization argocd/web"},
		"removed, orphaning":            {"", "prune: true, deletionPolicy: Orphan", "", "spec.deletionPolicy of Kustomization argocd/web"},
		"removed, deleting":             {"", "prune: false, deletionPolicy: WaitForTermination", "", ""},
		"removed, and kept itself":      {"kustomize.toolkit.fluxcd.io/prune: disabled", "prune: true", "", "kustomize.toolkit.fluxcd.io/prune"},
		"orphaning at its removal only": {"", "prune: true, deletionPolicy: Orphan", "prune: true, deletionPolicy: Orphan", ""},
	} {
		fill := func(spec string) string {
			return strings.NewReplacer("MARK", test.mark, "SPEC", spec).Replace(kustomization)
		}
		after := input(t, "", "")
		if test.is != "" {
			after = input(t, fill(test.is), "")
		}
		got := ""
		for _, c := range Differ(kinds, input(t, fill(test.was), deployment), after).Changes {
			if by := KeptBy(c); by != nil && c.Before.GetKind() == "Deployment" {
				got = by.Key
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestArgoCDLeavesIgnoredFields(t *testing.T) {
	kinds, err := registry.New(gatehouse.Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	const respected = "syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}, "
	const replicas = "ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]"
	more := strings.Replace(deployment, "replicas: 2", "replicas: 5", 1)
	newer := strings.Replace(more, "web:1", "web:2", 1)
	for name, test := range map[string]struct {
		spec, after string
		isLeft      bool
		fields      string
	}{
		"alone":           {respected + replicas, more, true, "spec.replicas"},
		"beside another":  {respected + replicas, newer, false, "spec.template.spec.containers[web].image"},
		"not respected":   {replicas, more, false, "spec.replicas"},
		"of another kind": {respected + strings.Replace(replicas, "Deployment", "StatefulSet", 1), more, false, "spec.replicas"},
		"of a pattern":    {respected + strings.Replace(replicas, "Deployment", "'*'", 1), more, true, "spec.replicas"},
		"of another name": {respected + strings.Replace(replicas, "kind:", "name: api, kind:", 1), more, false, "spec.replicas"},
		"by jq":           {respected + "ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: [.spec.replicas]}]", more, true, "spec.replicas"},
		"an item by jq": {respected + "ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas], jqPathExpressions: " +
			"['.spec.template.spec.containers[] | select(.name == \"web\") | .image']}]", newer, true, "spec.replicas spec.template.spec.containers[web].image"},
		"jq with an error later": {respected + "ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: ['.spec.replicas, .spec.replicas[]']}]", more, false, "spec.replicas"},
		"jq without an end":      {respected + "ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: ['.spec.replicas, (repeat(.spec) | select(false))']}]", more, false, "spec.replicas"},
		"another by jq":          {respected + "ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: ['.spec.x[]?', '(', '.spec.template.spec.containers[9]']}]", more, false, "spec.replicas"},
		"another field":          {respected + strings.Replace(replicas, "/spec/replicas", "/spec/paused", 1), more, false, "spec.replicas"},
		"a field below none":     {respected + strings.Replace(replicas, "/spec/replicas", "/data/a", 1), more, false, "spec.replicas"},
	} {
		application := strings.NewReplacer("FINALIZERS", "", "SPEC", test.spec).Replace(web)
		changes := Differ(kinds, input(t, application, deployment), input(t, application, test.after)).Changes
		var paths []string
		for _, f := range changes[0].Fields() {
			paths = append(paths, f.Path)
		}
		if isLeft := LeftBy(changes[0]) != nil; isLeft != test.isLeft || strings.Join(paths, " ") != test.fields {
			t.Errorf("%s: left %t, %q", name, isLeft, paths)
		}
	}
}

// driftDetection.ignore keeps the controller from correcting drift (Diff in internal/action/diff.go of helm-controller).
// A change in git is an upgrade of the release, which writes all fields.
func TestHelmLeavesNoFieldOfAnUpgrade(t *testing.T) {
	kinds, err := registry.New(gatehouse.Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	const release = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: shop}, " +
		"spec: {driftDetection: {mode: enabled, ignore: [{paths: [/spec/replicas]}]}}}"
	more := strings.Replace(deployment, "replicas: 2", "replicas: 5", 1)
	changes := Differ(kinds, input(t, release, deployment), input(t, release, more)).Changes
	if len(changes) != 1 || LeftBy(changes[0]) != nil {
		t.Errorf("%d changes, left by %v", len(changes), LeftBy(changes[0]))
	}
}

func TestFluxLeavesIgnoredFields(t *testing.T) {
	kinds, err := registry.New(gatehouse.Kinds...)
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Replace(deployment, "replicas: 2", "replicas: 5", 1)
	for rule, want := range map[string]bool{
		"{paths: [/spec/replicas]}":                                        true,
		"{paths: [/spec/replicas], target: {kind: Deployment, name: web}}": true,
		"{paths: [/spec/replicas], target: {kind: Deployment, name: w}}":   false,
		"{paths: [/spec/replicas], target: {labelSelector: none=here}}":    false,
		"{paths: [/spec/paused]}":                                          false,
	} {
		sync := "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web, namespace: flux-system}\nspec: {path: a, prune: true, ignore: [" + rule + "]}\n"
		changes := Differ(kinds, input(t, sync, deployment), input(t, sync, more)).Changes
		if isLeft := LeftBy(changes[0]) != nil; isLeft != want {
			t.Errorf("%s: left %t", rule, isLeft)
		}
	}
}
