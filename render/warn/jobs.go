package warn

import (
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// repeatedJobs warns of Jobs that the cluster deletes when they have ended. A kind decides about its own.
func repeatedJobs(in Input) (warnings []manifest.Problem) {
	const field = "spec.ttlSecondsAfterFinished"
	for _, o := range in.Objects {
		if !o.IsRendered() && delivery.RunsAgain(o.Unstructured) {
			ttl := decoding.At(o.Object, manifest.SplitField(field))
			warnings = append(warnings, warning(o, field, ttl,
				"the cluster deletes the Job after its end, and each sync creates it again, so it runs again and "+
					"again: "+
					"leave the field out, or write a CronJob"))
		}
	}
	return warnings
}
