package application

import (
	"maps"
	"reflect"
)

// alone are the options of kustomize that say nothing without others: see IsZero of ApplicationSourceKustomize in
// pkg/apis/application/v1alpha1/types.go.
var alone = []string{"forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst",
	"labelWithoutSelector", "labelIncludeTemplates"}

// normalized returns the only source of an Application without options that say nothing, such as directory: {}, which
// would choose its type. The controller removes them, but from several sources it does not: see NormalizeApplicationSpec
// in util/argo/argo.go.
func (s Source) normalized() Source {
	s.written = maps.Clone(s.written)
	if s.isIdle(OfKustomize) {
		s.Kustomize = nil
		delete(s.written, string(OfKustomize))
	}
	if s.isIdle(OfHelm) && s.Helm.ValuesObject == nil {
		s.Helm = nil
		delete(s.written, string(OfHelm))
	}
	if s.isIdle(OfDirectory) {
		s.Directory = nil
		delete(s.written, string(OfDirectory))
	}
	return s
}

// isIdle reports whether the source has options of a type that say nothing.
func (s Source) isIdle(of Type) bool {
	written, isMap := s.written[string(of)].(map[string]any)
	options := maps.Clone(written)
	jsonnet, _ := options["jsonnet"].(map[string]any)
	switch {
	case of == OfKustomize:
		for _, name := range alone {
			delete(options, name)
		}
	case areEmpty(jsonnet):
		delete(options, "jsonnet")
	}
	return isMap && areEmpty(options)
}

// areEmpty reports whether options are zero, or have no entries.
func areEmpty(options map[string]any) bool {
	for _, value := range options {
		is := reflect.ValueOf(value)
		switch is.Kind() {
		case reflect.Map, reflect.Slice:
			if is.Len() > 0 {
				return false
			}
		case reflect.Invalid: // null
		default:
			if !is.IsZero() {
				return false
			}
		}
	}
	return true
}
