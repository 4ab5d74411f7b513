package warn

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
)

// neverWorking warns of objects that the API server accepts and whose controller never does what they say.
func neverWorking(_ Input, o manifest.Object) []manifest.Problem {
	switch o.GroupVersionKind().GroupKind().String() {
	case "StatefulSet.apps":
		return longStatefulSet(o)
	case "CronJob.batch":
		return neverDue(o)
	case "Service":
		return ignoredSelector(o)
	case "ConfigMap", "Secret":
		return missingContent(o)
	case "HelmRepository.source.toolkit.fluxcd.io":
		return mistypedRepository(o)
	}
	return nil
}

// mistypedRepository warns of a HelmRepository whose URL is not of its type: see buildFromHelmRepository in
// internal/controller/helmchart_controller.go of source-controller.
func mistypedRepository(o manifest.Object) []manifest.Problem {
	url, _ := decoding.At(o.Object, []string{"spec", "url"}).(string)
	is, _ := decoding.At(o.Object, []string{"spec", "type"}).(string)
	isOCI := strings.HasPrefix(url, "oci://")
	switch {
	case is == "oci" && !isOCI && strings.HasPrefix(url, "http"):
		return []manifest.Problem{warning(o, "spec.url",
			"is no registry of type oci, so source-controller gets no chart: write oci://, or leave out spec.type")}
	case isOCI && (is == "" || is == "default"):
		return []manifest.Problem{warning(o, "spec.url",
			"is a registry, so source-controller gets no chart: write type: oci beside it")}
	}
	return nil
}

// longStatefulSet warns of a StatefulSet with too long a name: its Pods get the label controller-revision-hash, of the
// name, a hyphen and a hash of up to 10 characters. See ControllerRevisionName in
// pkg/controller/history/controller_history.go of Kubernetes.
func longStatefulSet(o manifest.Object) []manifest.Problem {
	const most = validation.LabelValueMaxLength - len("-") - 10
	if len(o.GetName()) <= most || strings.Contains(o.GetName(), "$") {
		return nil
	}
	return []manifest.Problem{warning(o, "metadata.name",
		"has %d characters, so no Pod starts: with a hash it is the value of their label controller-revision-hash: "+
			"write at most %d", len(o.GetName()), most)}
}

// neverDue warns of a schedule without a date, such as 30 February.
func neverDue(o manifest.Object) []manifest.Problem {
	text, _ := decoding.At(o.Object, []string{"spec", "schedule"}).(string)
	if !manifest.IsNever(text) {
		return nil
	}
	return []manifest.Problem{warning(o, "spec.schedule", "%q never comes: correct the day or the month", text)}
}

// ignoredSelector warns of a selector of a Service of type ExternalName:
// pkg/controller/endpointslice/endpointslice_controller.go of Kubernetes leaves it alone.
func ignoredSelector(o manifest.Object) []manifest.Problem {
	selector, _ := decoding.At(o.Object, []string{"spec", "selector"}).(map[string]any)
	if decoding.At(o.Object, []string{"spec", "type"}) != "ExternalName" || len(selector) == 0 {
		return nil
	}
	return []manifest.Problem{warning(o, "spec.selector",
		"has no effect on a Service of type ExternalName: remove it, or the type")}
}

// missingContent warns of pointers of Git LFS in place of content: the checkout has no content, and MakePayload in
// pkg/volume/configmap/configmap.go of Kubernetes writes what the object has.
func missingContent(o manifest.Object) (warnings []manifest.Problem) {
	for _, field := range []string{"data", "binaryData", "stringData"} {
		data, _ := o.Object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(data)) {
			value, _ := data[key].(string)
			content := []byte(value)
			if field == "binaryData" || field == "data" && o.GetKind() == "Secret" {
				content, _ = base64.StdEncoding.DecodeString(value)
			}
			if manifest.IsPointer(content) {
				warnings = append(warnings, warningAt(o, []string{field, key},
					"is a pointer of Git LFS, not the file: run git lfs pull before render"))
			}
		}
	}
	return warnings
}

// scaledByTwo warns of a second HorizontalPodAutoscaler of a workload, also by a ScaledObject of KEDA: with two of them
// none scales it. See ambiguousSelector in pkg/controller/podautoscaler/horizontal.go of Kubernetes.
func scaledByTwo(in Input) (warnings []manifest.Problem) {
	first := map[pod.Workload]manifest.Object{}
	for _, o := range in.sources {
		a, scales := pod.ReadAutoscaler(o.Unstructured)
		if !scales || strings.Contains(a.Target.Name, "$") ||
			o.GetAnnotations()["scaledobject.keda.sh/transfer-hpa-ownership"] == "true" {
			continue
		}
		other, isThere := first[a.Target]
		if !isThere {
			first[a.Target] = o
			continue
		}
		warnings = append(warnings, warning(o, "spec.scaleTargetRef.name",
			"%s scales %s %s as well, so neither of the two does: remove one, or join their metrics", other,
			a.Target.Kind, a.Target.Name))
	}
	return warnings
}

// blockedEvictions warns of a PodDisruptionBudget that requires all Pods of the only workload that it selects: no
// node can be drained. See getExpectedPodCount in pkg/controller/disruption/disruption.go of Kubernetes.
func blockedEvictions(in Input, o manifest.Object) []manifest.Problem {
	selectors := references.SelectorsOf(o)
	if o.GetKind() != "PodDisruptionBudget" || len(selectors) == 0 {
		return nil
	}
	selected := in.index.Selected(selectors[0])
	if len(selected) != 1 || len(in.autoscalers[pod.WorkloadOf(selected[0].Unstructured)]) > 0 {
		return nil
	}
	workload := selected[0].GetKind()
	replicas := pod.Number(selected[0].Unstructured, 1, "spec", "replicas")
	field, advice := requiresAll(o, int(replicas))
	if workload != "Deployment" && workload != "StatefulSet" || field == "" {
		return nil
	}
	return []manifest.Problem{warning(o, "spec."+field,
		"%s has %s, so no node with one of them can be drained: %s %s, or run more", selected[0].Object,
		kind.Count(replicas, "Pod"), advice, field)}
}

// requiresAll returns the field by which a PodDisruptionBudget requires all Pods of a number, and what to do with it.
func requiresAll(budget manifest.Object, replicas int) (field, advice string) {
	number := func(field string) (int, bool) {
		value := decoding.At(budget.Object, []string{"spec", field})
		parsed := intstr.Parse(fmt.Sprint(value))
		scaled, err := intstr.GetScaledValueFromIntOrPercent(&parsed, replicas, true)
		return scaled, value != nil && err == nil
	}
	most, isMost := number("maxUnavailable")
	least, isLeast := number("minAvailable")
	switch {
	case replicas > 0 && isMost && most == 0:
		return "maxUnavailable", "raise"
	case replicas > 0 && isLeast && least >= replicas:
		return "minAvailable", "lower"
	}
	return "", ""
}

// unspreadPods warns of a topology spread constraint whose labels no Pods of the environment have, also not those
// that it is to spread: it spreads nothing. See calPreFilterState in
// pkg/scheduler/framework/plugins/podtopologyspread/filtering.go of Kubernetes.
func unspreadPods(in Input, o manifest.Object) (warnings []manifest.Problem) {
	const selectors = "topologySpreadConstraints[].labelSelector"
	references.VisitPods(o, selectors, func(selector map[string]any, at []string) {
		wanted, _, err := unstructured.NestedStringMap(selector, "matchLabels")
		s := references.Selector{From: o, Labels: wanted, Selects: "Pod", Namespaces: []string{o.NamespaceOrDefault()}}
		if err != nil || len(wanted) == 0 || len(selector) > 1 || strings.Contains(fmt.Sprint(wanted), "$") ||
			len(in.index.Selected(s)) > 0 {
			return
		}
		template, _ := manifest.PodTemplatePath(o.GetKind())
		own, _, _ := unstructured.NestedStringMap(o.Object, slices.Concat(template, []string{"metadata", "labels"})...)
		warnings = append(warnings, warningAt(o, at,
			"selects no Pods here, also not its own, so it spreads nothing: write labels of the Pods, %s",
			metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: own})))
	})
	return warnings
}

// repeatedJobs warns of Jobs that the cluster deletes when they have ended. A kind decides about its own.
func repeatedJobs(_ Input, o manifest.Object) []manifest.Problem {
	if !delivery.RunsAgain(o.Unstructured) {
		return nil
	}
	return []manifest.Problem{warning(o, "spec.ttlSecondsAfterFinished",
		"the cluster deletes the Job after its end, and each sync creates it again, so it runs again and again: "+
			"leave the field out, or write a CronJob")}
}

// scaledTwice warns of workloads with both spec.replicas and an autoscaler: each sync undoes the
// autoscaler's changes. The warning is at spec.replicas if that is in a source file, otherwise at
// the autoscaler. Autoscalers ignore a workload with 0 replicas.
func scaledTwice(in Input) (warnings []manifest.Problem) {
	if len(in.autoscalers) == 0 {
		return nil
	}
	for _, o := range in.Objects {
		if pod.Number(o.Unstructured, 0, "spec", "replicas") <= 0 {
			continue
		}
		for _, autoscaler := range in.autoscalers[pod.WorkloadOf(o.Unstructured)] {
			warnings = append(warnings, scaledBy(autoscaler, o))
		}
	}
	return warnings
}

func scaledBy(autoscaler, workload manifest.Object) manifest.Problem {
	replicas := decoding.At(workload.Object, []string{"spec", "replicas"})
	if !workload.IsRendered() {
		return warning(workload, "spec.replicas",
			"is %v, and %s scales it: each sync sets it back to %[1]v: leave replicas out", replicas, autoscaler)
	}
	field := "spec.scaleTargetRef.name"
	if autoscaler.IsRendered() {
		field = ""
	}
	return warning(autoscaler, field, "scales %s, which is rendered from %s with spec.replicas %v: each sync sets it "+
		"back to %[3]v: remove spec.replicas there by a patch in overrides/, or leave the autoscaler out", workload,
		workload.Source(), replicas)
}

// unreadSettings warns of annotations, labels and sync options that Flux or Argo CD do not know. Argo CD applies no
// object of an unknown hook.
func unreadSettings(_ Input, o manifest.Object) (warnings []manifest.Problem) {
	settings := delivery.Settings(o.Unstructured, delivery.Argo)
	for _, u := range delivery.FindUnread(o.Unstructured) {
		effect := "so it has no effect"
		if s := delivery.Find(settings, delivery.Ignored); s != nil && slices.Contains(u.Keys, s.Key) {
			effect = "and never applies the object"
		}
		warnings = append(warnings, warningAt(o, u.Keys, "%s does not know %q, %s: write %s", u.Tool, u.Text, effect,
			u.Meant))
	}
	return warnings
}
