package render

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/advice"
	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// report notes problems with objects, with their files and lines.
func (r *renderer) report(problems []object.Problem) {
	for _, p := range problems {
		if p.File == "" {
			p = r.locate(p)
		}
		r.problems = append(r.problems, p)
	}
}

// advise reports what is accepted and may yet not be what was meant.
func (r *renderer) advise(objects []object.Object, now time.Time) {
	environment := advice.Environment{Kinds: r.kinds, Objects: objects, Local: r.local, IsNamespaced: r.checker.IsNamespaced, Now: now}
	for _, k := range r.sources.Kustomizations {
		if k.MetaData != nil {
			environment.Elsewhere = append(environment.Elsewhere, k.MetaData.Annotations[advice.ElsewhereAnnotation])
		}
	}
	r.report(environment.Warnings())
}

// reportInexact reports the values of built objects that cannot be kept, but for those
// that are known from what people wrote.
func (r *renderer) reportInexact(objects []object.Object) {
	for _, o := range objects {
		for _, p := range o.Inexact {
			p = r.locate(p)
			if !slices.ContainsFunc(r.inexact, func(known object.Problem) bool { return known.Position() == p.Position() }) {
				r.problems = append(r.problems, p)
			}
		}
	}
}

// locate gives a problem the file and line of what is wrong.
func (r *renderer) locate(p object.Problem) object.Problem {
	if p.Field == "" && p.Subject.IsRendered() {
		p.Subject = object.Object{Unstructured: p.Subject.Written, Written: p.Subject.Written}
	}
	origin := r.folder
	if p.Subject.Written != nil {
		origin = r.originOf(p.Subject.Written, p.Warning)
	} else if r.overrides != "" { // it has added the object
		origin = r.overrideOf(p)
	}
	return r.sources.Locate(p, origin)
}

// overrideOf is the file of the overrides that a problem comes from: that of an object which
// they add, or their kustomization.
func (r *renderer) overrideOf(p object.Problem) string {
	file := r.sources.Kustomizations[r.overrides].File
	if p.Subject.Unstructured != nil && p.Subject.Written == nil {
		return cmp.Or(r.sources.OnlyFile(p.Subject.ID()), file)
	}
	return file
}

// position is where people find an object.
func (r *renderer) position(o object.Object) string {
	return r.locate(object.NewProblem(o, "", object.Value{}, "")).Position()
}

// originOf is the file that a built object comes from or, where kustomize cannot tell, that
// has one of its name. Asking kustomize takes a build: for a warning the only file that has
// one of its name will do.
func (r *renderer) originOf(built *unstructured.Unstructured, forWarning bool) string {
	if forWarning && r.origins == nil {
		if file := r.sources.OnlyFile(object.Object{Unstructured: built}.ID()); file != "" {
			return file
		}
	}
	if r.origins == nil {
		r.origins = build.Origins(r.sources, r.folder, r.built)
	}
	if file := r.origins[built]; file != "" {
		return file
	}
	if written := r.sources.Written(object.Object{Unstructured: built}.ID(), 1); len(written) > 0 {
		return written[0].File
	}
	return r.sources.Kustomizations[r.folder].File
}

// reportErrors reports the errors of objects, each of several by itself. One that begins with
// the path of a field is of that.
func (r *renderer) reportErrors(objects []object.Object, errs []error) {
	for i, err := range errs {
		title := objects[i].GetKind() + " " + objects[i].GetName() + ": " // which a problem says anyway
		for _, one := range split(err) {
			message := strings.TrimPrefix(one.Error(), title)
			r.report([]object.Problem{object.NewProblem(objects[i], fieldIn(message), object.Value{}, message)})
		}
	}
}

// split are the errors that one is joined from.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

var fieldPath = regexp.MustCompile(`^(spec|metadata)[.\[][^\s:]*`)

// fieldIn is the path of the field that an error begins with; empty where it names none.
func fieldIn(message string) string { return fieldPath.FindString(message) }

// reportRefused reports what keeps objects out of a cluster. Of what is rendered, and nobody
// wrote that field of, it is a problem with the spec.
func (r *renderer) reportRefused(problems []object.Problem) {
	for _, p := range problems {
		if p.Subject.IsRendered() && p.Field != "" && r.locate(p).Line == 0 {
			p = problemOfWritten(p, "")
		}
		r.report([]object.Problem{p})
	}
}

// reportRendered reports what is wrong with rendered objects, where it was written: in the
// spec that one was rendered from or, unless what was rendered before had the same problem,
// in the overrides.
func (r *renderer) reportRendered(objects []object.Object, before map[*unstructured.Unstructured]object.Object) {
	_, problems := r.checker.Objects(objects)
	slices.SortStableFunc(problems, func(a, b object.Problem) int { return cmp.Compare(order(a), order(b)) })
	causes := newCauses(r.kinds, r.checker, problems)
	for _, p := range problems {
		was, isOverridden := before[p.Subject.Unstructured]
		if isOverridden && !r.hasProblem(was, p) || !p.Subject.IsRendered() {
			if isOverridden {
				p.Object = was.String() // by the name that overrides know
				r.reportOverridden([]object.Problem{p})
			} else {
				r.report([]object.Problem{p})
			}
			continue
		}
		r.rendered = append(r.rendered, p)
		if cause, ok := causes.next(p); ok {
			r.report([]object.Problem{cause})
		}
	}
}

// reportBehind reports what would be wrong with what invalid specs are rendered to, if they
// had not the errors that are known: it comes of other fields.
func (r *renderer) reportBehind(written []object.Object) {
	known := map[*unstructured.Unstructured][]string{} // the fields that are wrong
	for _, p := range r.problems {
		if p.IsError() && p.Subject.Unstructured == p.Subject.Written {
			known[p.Subject.Written] = append(known[p.Subject.Written], p.Field)
		}
	}
	var behind []object.Object
	for _, o := range written {
		if len(known[o.Written]) == 0 {
			continue
		}
		rendered, err := r.kinds.Expand(r.checker.Defaulted(o))
		if err != nil {
			continue // it is of types that cannot be read
		}
		for _, u := range rendered {
			behind = append(behind, object.Object{Unstructured: u, Written: o.Written})
		}
	}
	_, problems := r.checker.Objects(behind)
	causes := newCauses(r.kinds, r.checker, problems)
	for _, p := range problems {
		cause, isNew := causes.next(p)
		isKnown := slices.ContainsFunc(known[p.Subject.Written], func(field string) bool {
			return strings.HasPrefix(cause.Field, field) || strings.HasPrefix(field, cause.Field)
		})
		if p.IsError() && isNew && !isKnown {
			r.report([]object.Problem{cause})
		}
	}
}

// order has errors before warnings.
func order(p object.Problem) int {
	if p.Warning {
		return 1
	}
	return 0
}

// hasProblem says whether an object has a problem that another has.
func (r *renderer) hasProblem(o object.Object, p object.Problem) bool {
	_, problems := r.checker.Objects([]object.Object{o})
	return slices.ContainsFunc(problems, func(other object.Problem) bool { return other.Message == p.Message })
}

// reportOverridden reports what overrides must not do, where they do it.
func (r *renderer) reportOverridden(problems []object.Problem) {
	for _, p := range problems {
		r.problems = append(r.problems, r.sources.Locate(p, r.overrideOf(p)))
	}
}

// reportDuplicate reports an object whose file is another's.
func (r *renderer) reportDuplicate(p tree.Placed) {
	problem := r.locate(object.NewProblem(p.Object, "", object.Value{}, ""))
	other := r.locate(object.NewProblem(*p.Taken, "", object.Value{}, ""))
	if other.File > problem.File || other.File == problem.File && other.Line > problem.Line {
		problem, other = other, problem
	}
	switch {
	case problem.Object != other.Object:
		problem.Message = fmt.Sprintf("duplicate object: %s in %s would be the same file, %s; remove or rename one", other.Object, other.Position(), p.Path)
	case other.Subject.String() != other.Object:
		problem.Message = fmt.Sprintf("duplicate object: %s in %s is rendered to it as well; remove or rename one", other.Subject, other.Position())
	default:
		problem.Message = object.Duplicate(other.Position()).Message
	}
	r.report([]object.Problem{problem})
}
