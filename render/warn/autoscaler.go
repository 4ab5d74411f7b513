package warn

import (
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// scaledTwice warns of workloads with both spec.replicas and an autoscaler: each sync undoes the
// autoscaler's changes. The warning is at spec.replicas if that is in a source file, otherwise at
// the autoscaler. Autoscalers ignore a workload with 0 replicas.
func scaledTwice(in Input) (warnings []manifest.Problem) {
	autoscalers := map[pod.Workload][]manifest.Object{}
	for _, o := range in.Objects {
		if a, scales := pod.ReadAutoscaler(o.Unstructured); scales {
			autoscalers[a.Target] = append(autoscalers[a.Target], o)
		}
	}
	if len(autoscalers) == 0 {
		return nil
	}
	for _, o := range in.Objects {
		if pod.Number(o.Unstructured, 0, "spec", "replicas") <= 0 {
			continue
		}
		for _, autoscaler := range autoscalers[pod.WorkloadOf(o.Unstructured)] {
			warnings = append(warnings, scaledBy(autoscaler, o))
		}
	}
	return warnings
}

func scaledBy(autoscaler, workload manifest.Object) manifest.Problem {
	replicas := decoding.At(workload.Object, []string{"spec", "replicas"})
	if !workload.IsRendered() {
		return warning(workload, "spec.replicas", replicas,
			"is %v, and %s scales it: each sync sets it back to %[1]v: leave replicas out", replicas, autoscaler)
	}
	field, name := "spec.scaleTargetRef.name", any(workload.GetName())
	if autoscaler.IsRendered() {
		field, name = "", nil
	}
	return warning(autoscaler, field, name,
		"scales %s, which is rendered from %s with spec.replicas %v: each sync sets it back to %[3]v: remove "+
			"spec.replicas there by a patch in overrides/, or leave the autoscaler out", workload,
		workload.Source(), replicas)
}
