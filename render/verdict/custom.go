package verdict

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery/definitions"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/structural"
	"example.com/gatehouse/render/verdict/zone"
)

// check returns the defaulted object, and the problems that `kubectl apply --validate=strict` has
// with it. A problem by a definition of this program names the release. It is a warning, as the cluster may have
// another release, unless the type of a value is wrong, which no release of a version changes. But Argo Workflows has
// definitions without schemas, too. Metadata does not depend on the definition.
func (k *customKind) check(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	stored, problems := k.judge(o)
	if release := k.definition.Annotations[definitions.ReleaseAnnotation]; release != "" {
		for i, p := range problems {
			if strings.HasPrefix(p.Field, "metadata.") && p.Field != "metadata.namespace" {
				continue
			}
			isSure := problems[i].Code == metav1.CauseTypeTypeInvalid && !strings.HasPrefix(release, "argo-workflows ")
			problems[i].Warning = problems[i].Warning || !isSure
			problems[i].Message += fmt.Sprintf(" (in %s; if the cluster has another version, copy its definition to "+
				"environments/definitions)", release)
		}
	}
	return stored, problems
}

func (k *customKind) judge(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	if err := k.compiled().err; err != nil {
		return o.Unstructured, []manifest.Problem{problem.OfObject(o, err.Error())}
	}
	stored, problems := k.defaulted(o)
	if errs := k.hugeQuantities(stored); len(errs) > 0 {
		return stored, append(problems, problem.FromErrors(o, errs)...)
	}
	created := k.created(stored)
	errs := k.validate(created)
	isKnown := len(problems) > 0 // metadata that cannot be read, without the name of its field
	for _, err := range errs {
		if !repeats(err, errs) && (!isKnown || err.Field != "metadata") {
			problems = append(problems, problem.FromError(o, err))
		}
	}
	if len(problems) > 0 {
		return stored, problems
	}
	for _, warning := range slices.Concat(k.warnings,
		k.compiled().strategy.WarningsOnCreate(context.Background(), created)) {
		if !strings.Contains(warning, `finalizer.argocd.argoproj.io": prefer`) { // it is the documented name
			problems = append(problems, problem.FromWarning(o, warning))
		}
	}
	return stored, problems
}

// validate returns the errors of the API server for a complete object.
func (k *customKind) validate(created *unstructured.Unstructured) field.ErrorList {
	errs := withFields(created, k.compiled().strategy.Validate(context.Background(), created))
	if !k.compiled().hasZones {
		return errs
	}
	for _, err := range zone.Errors(k.compiled().structural, created.Object) {
		if !hasCause(errs, err.Field) {
			errs = append(errs, err)
		}
	}
	return errs
}

// misformatted matches the error, without a field, of a number that does not fit its format.
var misformatted = regexp.MustCompile(`^Checked value (must be of type .+) in (\S+)$`)

// withFields moves each error of a number that does not fit its format to the field, and drops it if the
// field has another one.
func withFields(created *unstructured.Unstructured, errs field.ErrorList) (all field.ErrorList) {
	for _, err := range errs {
		match := misformatted.FindStringSubmatch(err.Detail)
		switch {
		case match == nil:
			all = append(all, err)
		case !hasCause(errs, match[2]):
			all = append(all, &field.Error{Type: field.ErrorTypeInvalid, Field: match[2],
				BadValue: decoding.At(created.Object, manifest.SplitField(match[2])), Detail: match[1]})
		}
	}
	return all
}

// defaulted returns an object with its defaults and without unknown fields, and the problems of
// these.
func (k *customKind) defaulted(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	stored := o.DeepCopy()
	problems := k.pruneUnknown(o, stored)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored.Object, k.compiled().structural)
	defaulting.Default(stored.Object, k.compiled().structural)
	return stored, problems
}

// hugeQuantities returns the errors of texts that a rule or a function of a kind would take minutes
// to parse as quantities.
func (k *customKind) hugeQuantities(stored *unstructured.Unstructured) (errs field.ErrorList) {
	structural.Walk(k.compiled().structural, stored.Object, func(s *schema.Structural, value any, path []string) {
		text, _ := value.(string)
		if (s.XIntOrString || k.compiled().parsesQuantities) && decoding.IsHugeQuantity(text) {
			errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: manifest.JoinField(path),
				BadValue: text, Detail: decoding.QuantityForm})
		}
	})
	return errs
}

// created returns an object as a request to create it completes it.
func (k *customKind) created(stored *unstructured.Unstructured) *unstructured.Unstructured {
	created := &unstructured.Unstructured{Object: maps.Clone(stored.Object)}
	metadata, _ := created.Object["metadata"].(map[string]any)
	created.Object["metadata"] = maps.Clone(metadata)
	apiserver.SetNamespace(created, isNamespaced(k.definition))
	k.compiled().strategy.PrepareForCreate(context.Background(), created)
	return created
}

// pruneUnknown removes unknown fields from stored, a copy of an object, and returns their problems.
func (k *customKind) pruneUnknown(o manifest.Object, stored *unstructured.Unstructured) (problems []manifest.Problem) {
	unknown := pruning.PruneWithOptions(stored.Object, k.compiled().structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	err, unknownMeta := objectmeta.CoerceWithOptions(nil, stored.Object, k.compiled().structural, true,
		objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if err != nil { // the error names no field
		problems = misfitProblems(o, map[string]any{"metadata": o.Object["metadata"]},
			reflect.TypeFor[metav1.PartialObjectMetadata](), apiserver.Kind{})
		if len(problems) == 0 {
			problems = []manifest.Problem{problem.FromError(o, err)}
		}
	}
	for _, path := range append(unknown, unknownMeta...) {
		problems = append(problems, problem.UnknownField(o, path, k.siblings(path), ""))
	}
	return problems
}

// siblings returns the known fields beside an unknown one.
func (k *customKind) siblings(path string) []string {
	s := k.compiled().structural
	keys := manifest.SplitField(path)
	for _, key := range keys[:max(0, len(keys)-1)] {
		property, ok := s.Properties[key]
		switch {
		case ok:
			s = &property
		case s.Items != nil:
			s = s.Items
		default:
			return nil
		}
	}
	return slices.Collect(maps.Keys(s.Properties))
}

// Default returns the default of a text field of a kind, in any version; empty for none.
func (c *Checker) Default(kind apischema.GroupKind, field []string) string {
	for _, version := range c.versions(kind) {
		s := *c.custom[apischema.FromAPIVersionAndKind(version, kind.Kind)].compiled().structural
		for _, key := range field {
			s = s.Properties[key]
		}
		if text, ok := s.Default.Object.(string); ok {
			return text
		}
	}
	return ""
}

// evaluating is in the errors of rules that cannot be evaluated.
const evaluating = " evaluating rule: "

// repeats reports whether an error adds nothing to the others: a rule cannot be evaluated on a value
// with an error of its own, or some rules were not checked.
func repeats(err *field.Error, errs field.ErrorList) bool {
	if !strings.Contains(err.Detail, evaluating) {
		return strings.HasPrefix(err.Detail, "some validation rules were not checked")
	}
	return hasCause(errs, err.Field)
}

// hasCause reports whether errors have one of a field that is not about the evaluation of a rule.
func hasCause(errs field.ErrorList, name string) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool {
		return err.Field == name && !strings.Contains(err.Detail, evaluating)
	})
}
