package application

import (
	"maps"
	"reflect"
	"slices"
)

// telling are the options that say something: see IsZero of each type in pkg/apis/application/v1alpha1/types.go. Those
// of a directory are without jsonnet.
var telling = map[Type][]string{
	OfKustomize: {"namePrefix", "nameSuffix", "version", "namespace", "images", "replicas", "commonLabels",
		"commonAnnotations", "patches", "components", "kubeVersion", "apiVersions", "ignoreMissingComponents"},
	OfHelm: {"version", "releaseName", "valueFiles", "parameters", "fileParameters", "values", "passCredentials",
		"ignoreMissingValueFiles", "skipCrds", "skipTests", "skipSchemaValidation", "kubeVersion", "apiVersions",
		"namespace"},
	OfDirectory: {"recurse", "include", "exclude"},
}

// normalized returns the only source of an Application without options that say nothing, such as directory: {}, which
// would choose its type. The controller removes them, but not from several sources: see NormalizeApplicationSpec in
// util/argo/argo.go.
func (s Source) normalized() Source {
	s.written = maps.Clone(s.written)
	if s.isIdle(OfKustomize) {
		s.Kustomize = nil
		delete(s.written, string(OfKustomize))
	}
	if s.isIdle(OfHelm) {
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
	options, isMap := s.written[string(of)].(map[string]any)
	jsonnet, _ := options["jsonnet"].(map[string]any)
	says := func(options map[string]any, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !isEmpty(options[name]) })
	}
	return isMap && !says(options, telling[of]...) && options["valuesObject"] == nil &&
		!says(jsonnet, "extVars", "tlas", "libs")
}

// isEmpty reports whether a value is zero, or has no entries.
func isEmpty(value any) bool {
	is := reflect.ValueOf(value)
	if is.Kind() == reflect.Map || is.Kind() == reflect.Slice {
		return is.Len() == 0
	}
	return !is.IsValid() || is.IsZero()
}
