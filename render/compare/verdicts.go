package compare

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// Verdicts is the difference of two verdicts on an environment, by other definitions or another version of
// Kubernetes.
type Verdicts struct {
	// Errors and Warnings are problems of the verdict after only, and Gone problems of the verdict before
	// only.
	Errors   []Refusal          `json:"errors"`
	Warnings []manifest.Problem `json:"warnings"`
	Gone     []manifest.Problem `json:"gone"`
	// Both are the errors of both verdicts.
	Both []manifest.Problem `json:"both"`
	// Stored are objects that are stored with other fields. An object with an error before is not compared.
	Stored []StoredObject `json:"stored"`
}

// Refusal is an error of the verdict after.
type Refusal struct {
	manifest.Problem
	// MayStay reports whether the API server accepts updates of an object that exists already, unless they
	// change the field.
	MayStay bool `json:"mayStay"`
}

// StoredObject is an object with the fields that are stored otherwise if it is new, and if it exists already: it
// keeps its defaults.
type StoredObject struct {
	manifest.Problem
	Fields   []FieldChange `json:"fields"`
	Existing []FieldChange `json:"existing"`
}

// IsEqual reports whether the verdicts are the same.
func (v *Verdicts) IsEqual() bool {
	return v == nil || len(v.Errors)+len(v.Warnings)+len(v.Gone)+len(v.Stored) == 0
}

// OfVerdicts compares two verdicts on the same objects.
func OfVerdicts(before, after *render.Environment) *Verdicts {
	_, hadJudge := before.Definitions()
	_, hasJudge := after.Definitions()
	was := before.Problems
	is := after.Problems
	v := &Verdicts{Errors: []Refusal{}, Gone: without(was, is), Stored: []StoredObject{}}
	refused, warnings := manifest.SplitProblems(without(is, was))
	v.Warnings = warnings
	for _, p := range refused {
		v.Errors = append(v.Errors, Refusal{p, hasJudge && after.Checker().MayStay(p)})
	}
	v.Both, _ = manifest.SplitProblems(without(is, refused))
	if hadJudge && hasJudge {
		v.compareObjects(before, after)
	}
	return v
}

func without(problems, others []manifest.Problem) []manifest.Problem {
	known := map[string]bool{}
	for _, p := range others {
		known[p.String()] = true
	}
	return slices.DeleteFunc(append([]manifest.Problem{}, problems...), func(p manifest.Problem) bool {
		return known[p.String()]
	})
}

// compareObjects adds the objects that are stored with other fields, and warnings of other versions of objects.
func (v *Verdicts) compareObjects(before, after *render.Environment) {
	of := before // after an error rendered objects are missing
	if manifest.HasErrors(before.Problems) {
		of = after
	}
	old := before.Checker()
	current := after.Checker()
	wrong := map[manifest.ID]bool{}
	for _, p := range before.Problems {
		if !p.Warning && p.Subject.Unstructured != nil {
			wrong[p.Subject.ID()] = true
		}
	}
	objects := slices.DeleteFunc(of.Judged(), func(o manifest.Object) bool {
		was, wasKnown := old.IsNamespaced(o.GroupVersionKind())
		is, isKnown := current.IsNamespaced(o.GroupVersionKind())
		return wrong[o.ID()] || !wasKnown || !isKnown || was != is || old.StoresAlike(current, o)
	})
	was := old.Stored(objects)
	is := current.Stored(objects)
	existing := current.Read(was)
	for i, o := range objects {
		if was[i] != nil && is[i] != nil { // or else a version cannot decode it, which is an error
			fields := specFields(was[i], is[i])
			ofExisting := specFields(was[i], existing[i])
			if !current.IsCustom(o) {
				ofExisting = slices.DeleteFunc(slices.Clone(fields), func(f FieldChange) bool {
					return f.Before != nil && f.After != nil
				})
			}
			if all := slices.Concat(ofExisting, fields); len(all) > 0 {
				v.Stored = append(v.Stored,
					StoredObject{of.LocateProblem(manifest.NewProblem(o, all[0].Path, manifest.Value{}, "")), fields,
						ofExisting})
			}
		}
		for _, misfit := range without(current.Misfits(o), old.Misfits(o)) {
			v.Warnings = append(v.Warnings, of.LocateProblem(misfit))
		}
	}
}

// specFields returns the fields that differ, except the generation: a version may count it for more kinds.
func specFields(before, after *unstructured.Unstructured) []FieldChange {
	return slices.DeleteFunc(Change{Before: before, After: after}.Fields(), func(f FieldChange) bool {
		return f.Path == "metadata.generation"
	})
}
