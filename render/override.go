package render

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/contract"
)

// overridden is what was rendered, once overrides are done with it.
type overridden struct {
	objects []manifest.Object
	// before has the objects that overrides changed as they were.
	before map[*unstructured.Unstructured]manifest.Object
	// forbidden are changes that overrides must not make.
	forbidden []manifest.Problem
}

// override returns what the overrides of the environment make of expanded objects, whose names
// it completes.
func (e *environment) override(b built, expanded []manifest.Object) (o overridden, problems []manifest.Problem) {
	o.objects = expanded
	if e.overrides != "" {
		result, problems := b.ways.Override(e.overrides, expanded)
		if manifest.HasErrors(problems) {
			return o, problems
		}
		o.objects, o.before = slices.Concat(result.Unchanged, result.Changed), result.Before
		for _, p := range contract.Overridden(e.kinds, expanded, o.objects) {
			o.forbidden = append(o.forbidden, e.locateInOverrides(p))
		}
		_, invalid := verdict.New(nil, e.kinds, e.kubernetes, result.Changed)
		o.forbidden = append(o.forbidden, invalid...)
	}
	o.forbidden = append(o.forbidden, e.completeNames(o.objects)...)
	rendered := slices.Concat(expanded, o.objects)
	return o, slices.Concat(b.ways.UnmatchedPatches(e.overrides, b.objects, rendered), b.ways.UnmatchedImages(e.overrides, b.objects, rendered, b.checker.Default))
}

// completeNames gives rendered objects that are immutable their final names.
func (e *environment) completeNames(objects []manifest.Object) []manifest.Problem {
	errs := make([]error, len(objects))
	parallel.For(len(objects), func(i int) { errs[i] = e.kinds.HashName(objects[i].Unstructured, objects[i].Written) })
	return problemsOfErrors(objects, errs)
}

// judgeRendered returns what is wrong with rendered objects, where it was written: in the
// overrides, where these gave a field its value, or in the spec.
func (e *environment) judgeRendered(checker *verdict.Checker, o overridden) (problems []manifest.Problem) {
	_, found := checker.Objects(o.objects)
	refused, warned := manifest.SplitProblems(found)
	specs := specs{e.kinds, checker, map[*unstructured.Unstructured]int{}}
	known := map[string]bool{}
	for _, p := range slices.Concat(refused, warned) {
		was, isOverridden := o.before[p.Subject.Unstructured]
		switch {
		case isOverridden && !sameField(was, p):
			p.Object = was.String() // the name that overrides know
			problems = append(problems, e.locateInOverrides(p))
		case !p.Subject.IsRendered():
			problems = append(problems, p)
		default:
			p = problemOfSpec(p, specs.sourceField(p))
			if cause := p.Object + " " + p.Field; !known[cause] {
				known[cause] = true
				problems = append(problems, p)
			}
		}
	}
	return append(problems, o.forbidden...)
}

// sameField reports whether the field of a problem has the value that it had before.
func sameField(before manifest.Object, p manifest.Problem) bool {
	path := manifest.SplitField(p.Field)
	return reflect.DeepEqual(decoding.At(before.Object, path), decoding.At(p.Subject.Object, path))
}
