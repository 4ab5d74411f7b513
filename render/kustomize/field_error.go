package kustomize

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// considered matches how kustomize says which field of which object it cannot change.
var considered = regexp.MustCompile(`considering field '([^']*)' of object (\S+): `)

// fieldProblem returns the problem of a field of an object that kustomize cannot change, if that
// is what its error is about.
func fieldProblem(s *source.Sources, kustomization string, err error, message string) (manifest.Problem, bool) {
	all := considered.FindAllStringSubmatch(err.Error(), -1)
	if all == nil {
		return manifest.Problem{}, false
	}
	last := all[len(all)-1]
	if !resID.MatchString(last[2]) {
		return manifest.Problem{}, false
	}
	id, subject, origin := resid.FromString(last[2]), &unstructured.Unstructured{}, kustomization
	subject.SetAPIVersion(id.ApiVersion())
	subject.SetKind(id.Kind)
	subject.SetName(id.Name)
	subject.SetNamespace(id.Namespace)
	if written := s.Written(manifest.Object{Unstructured: subject}.ID()); len(written) > 0 {
		origin = written[0].File
	}
	field := strings.ReplaceAll(last[1], "/", ".")
	p := manifest.NewProblem(manifest.Object{Unstructured: subject}, field, manifest.Value{}, field+": kustomize cannot change this: "+message)
	return s.Locate(p, origin), true
}
