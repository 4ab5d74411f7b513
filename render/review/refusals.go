package review

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// refusals are the changes that the API server refuses, as it does where a field cannot be
// changed. It is said of nothing else what else would come of such a change.
func (w *world) refusals() (effects []Effect) {
	checker := w.checker()
	for _, c := range w.Changes {
		if c.Action() != diff.Changed {
			continue
		}
		errs := checker.Update(object.Object{Unstructured: c.Before}, object.Object{Unstructured: c.After})
		if len(errs) == 0 {
			continue
		}
		o := idOf(c.After)
		w.refused[o] = true
		effects = append(effects, Effect{Type: UpdateRefused, Object: o,
			What: say("the API server refuses this change: %s", reasonOf(errs)),
			Risk: adviceOn(c.After)})
	}
	return effects
}

// adviceOn says what comes of a change that is refused, and how to have it, where nothing is
// lost by that.
func adviceOn(o *unstructured.Unstructured) Sentence {
	if tool, by := replacer(o); by != "" {
		return say("%s deletes it and makes it anew, by %s; without that it is not applied", tool, quoted(by))
	}
	switch o.GetKind() {
	case "ClusterRoleBinding", "ConfigMap", "DaemonSet", "Deployment", "Job", "Pod", "RoleBinding", "Secret":
		return "Flux and Argo CD fail to apply it: with another name it is a new one"
	}
	return "Flux and Argo CD fail to apply it"
}

// replacer is the GitOps tool, and the annotation or label of an object by which it deletes
// what cannot be changed.
func replacer(o *unstructured.Unstructured) (tool Sentence, by string) {
	const flux, options = "kustomize.toolkit.fluxcd.io/force", "argocd.argoproj.io/sync-options"
	annotations := o.GetAnnotations()
	switch {
	case strings.EqualFold(annotations[flux], "enabled") || strings.EqualFold(o.GetLabels()[flux], "enabled"):
		return "Flux", flux
	case hasSyncOption(o, "Force=true"):
		return "Argo CD", options
	}
	for _, hook := range []string{"argocd.argoproj.io/hook", "helm.sh/hook"} {
		if annotations[hook] != "" {
			return "Argo CD", hook
		}
	}
	return "", ""
}

// checker knows the kinds that the environment defines, of which objects change.
func (w *world) checker() *check.Checker {
	groups := map[string]bool{}
	for _, c := range w.Changes {
		groups[c.Object().GroupVersionKind().Group] = true
	}
	var definitions []object.Object
	for _, o := range w.after.objects {
		if o.GetKind() == "CustomResourceDefinition" && groups[text(o, "spec", "group")] {
			definitions = append(definitions, object.Object{Unstructured: o})
		}
	}
	checker, _ := check.New(w.Kinds, definitions)
	return checker
}

// reasonOf is why the API server refuses, on one line. It has no values: these may be
// secret.
func reasonOf(errs field.ErrorList) Sentence {
	detail, _, _ := strings.Cut(errs[0].Detail, "\n")
	reason := quoted(fmt.Sprintf("%s: %s", errs[0].Field, detail))
	if len(errs) > 1 {
		reason += say(" and %d more", len(errs)-1)
	}
	return reason
}
