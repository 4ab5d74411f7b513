package render

import (
	"time"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/warn"
)

// warnings returns what is accepted and may yet not be what was meant.
func (s *stages) warnings(now time.Time) []manifest.Problem {
	environment := warn.Environment{Kinds: s.kinds, Objects: s.objects, Local: s.local, IsNamespaced: s.checker.IsNamespaced, Now: now}
	for _, k := range s.sources.Kustomizations {
		if k.MetaData != nil {
			environment.Elsewhere = append(environment.Elsewhere, k.MetaData.Annotations[warn.ElsewhereAnnotation])
		}
	}
	return environment.Warnings()
}
