package render

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/advice"
	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// renderer renders one environment and collects what is wrong.
type renderer struct {
	kinds     *registry.Kinds
	folder    string
	overrides string // the folder of overrides; empty where there is none
	sources   *source.Sources
	images    []source.DefaultImage // that objects leave to their defaults
	built     []object.Object
	local     []object.Object                       // CustomResourceDefinitions that something else brings
	stored    []object.Object                       // those of the built that are valid, defaults filled in
	origins   map[*unstructured.Unstructured]string // files that built objects come from
	checker   *check.Checker
	problems  []object.Problem
	inexact   []object.Problem // those of numbers that people wrote
	rendered  []object.Problem // those of rendered objects, of which the causes are reported
}

// read reads what the environment is built from, and its overrides.
func (r *renderer) read(files *source.FileSystem) {
	var onTop []string
	overrides := path.Join(r.folder, overridesFolder)
	switch {
	case !files.Exists(overrides):
	case files.KustomizationFile(overrides) == "":
		r.problems = append(r.problems, object.Problem{File: source.Relative(overrides), Message: "no kustomization.yaml: write one of kind Component"})
	default:
		r.overrides = overrides
		onTop = append(onTop, overrides)
	}
	r.sources = source.Read(files, r.written(), r.folder, onTop...)
	r.problems = append(r.problems, r.sources.Problems...)
	r.inexact = r.sources.NumberProblems()
	r.problems = append(r.problems, r.inexact...)
	for _, kind := range r.kinds.All {
		if kind.TimeField != "" {
			r.problems = append(r.problems, r.sources.TimeProblems(kind.GVK.Group, kind.GVK.Kind, kind.TimeField)...)
		}
	}
}

// written are the kinds that people write, as sources know them.
func (r *renderer) written() source.Kinds {
	return source.Kinds{GVKs: r.kinds.GVKs(), Configuration: r.kinds.KustomizeConfig()}
}

// build builds the environment, as far as it can be.
func (r *renderer) build(files *source.FileSystem) []object.Object {
	r.checker, _ = check.New(r.kinds, nil)
	if !r.sources.CanBuild(r.folder) {
		return nil
	}
	images := r.defaultImages()
	objects, problems := r.buildFolder(images)
	var wrong []object.Problem
	r.local = r.localDefinitions(files)
	r.checker, wrong = check.New(r.kinds, slices.Concat(objects, r.local))
	// The environment may define a kind with another image.
	if own := r.defaultImages(); !reflect.DeepEqual(own, images) {
		objects, problems = r.buildFolder(own)
	}
	r.built = objects
	if len(r.sources.Problems) == 0 {
		r.report(problems)
	}
	r.report(wrong)
	return objects
}

// buildFolder builds the environment, in which objects may leave images to defaults.
func (r *renderer) buildFolder(images []source.DefaultImage) ([]object.Object, []object.Problem) {
	r.images = images
	r.sources.FillImages(images)
	objects, problems := build.Folder(r.sources, r.folder)
	for _, o := range objects {
		for _, image := range images {
			image.Restore(o.Unstructured)
		}
	}
	return objects, problems
}

// defaultImages are the images that objects have where they say nothing else.
func (r *renderer) defaultImages() (images []source.DefaultImage) {
	for _, field := range r.sources.ImageFields() {
		keys := strings.Split(field.Path, "/")
		if image := r.checker.Default(schema.GroupKind{Group: field.Group, Kind: field.Kind}, keys); image != "" {
			images = append(images, source.DefaultImage{Group: field.Group, Kind: field.Kind, Field: keys, Image: image})
		}
	}
	return images
}

// check returns the objects, each once, and those that are valid, defaults filled in.
// It reports what is wrong with the others.
func (r *renderer) check(built []object.Object) (written, stored []object.Object) {
	for _, p := range r.place(built) {
		written = append(written, p.Object)
	}
	stored, problems := r.checker.Objects(written)
	r.report(problems)
	r.reportInexact(written)
	r.report(r.checker.ReservedFields(written))
	return written, stored
}

// keepDefaults writes the defaults of the environment into objects that leave them out, for
// the fields that say so: the API server would fill them in once, when an object is created,
// and keep them when the environment says something else.
func (r *renderer) keepDefaults(stored []object.Object) {
	for _, o := range stored {
		kind := r.kinds.Find(o.GroupVersionKind())
		if kind == nil {
			continue
		}
		for _, name := range kind.KeepDefaults {
			field := strings.Split(name, ".")
			value, isSet, _ := unstructured.NestedFieldCopy(o.Object, field...)
			own, _, _ := unstructured.NestedFieldNoCopy(o.Written.Object, field...)
			if isSet && own == nil {
				_ = unstructured.SetNestedField(o.Written.Object, value, field...) // a valid object has mappings there
			}
		}
	}
}

// convert makes objects of versions that people still write ones of the version that is
// rendered.
func (r *renderer) convert(stored []object.Object) {
	errs := make([]error, len(stored))
	for i, o := range stored {
		converted, err := r.kinds.Convert(o.Unstructured)
		errs[i] = err
		if converted == nil {
			continue
		}
		o.Written.Object = converted.Object
		valid, problems := r.checker.Objects([]object.Object{{Unstructured: o.Written, Written: o.Written}})
		for _, p := range problems {
			p.Message = "is converted to an invalid " + converted.GetAPIVersion() + ": " + p.Message
			r.report([]object.Problem{p})
		}
		if len(valid) > 0 {
			stored[i] = valid[0]
		}
	}
	r.reportErrors(stored, errs)
}

// expand returns what valid, defaulted objects are rendered to, several at a time.
func (r *renderer) expand(stored []object.Object) []object.Object {
	expanded := make([][]object.Object, len(stored))
	errs := make([]error, len(stored))
	parallel.For(len(stored), func(i int) {
		objects, err := r.kinds.Expand(stored[i].Unstructured)
		errs[i] = err
		for _, u := range objects {
			expanded[i] = append(expanded[i], object.Object{Unstructured: u, Written: stored[i].Written})
		}
	})
	r.reportErrors(stored, errs)
	return slices.Concat(expanded...)
}

// override builds what was rendered with the environment's overrides, if it has any. It
// completes the names of what was rendered, and checks all of it.
func (r *renderer) override(rendered []object.Object) []object.Object {
	final, isComplete := rendered, r.overrides == ""
	var before map[*unstructured.Unstructured]object.Object
	if r.overrides != "" && !object.HasErrors(r.problems) { // an override of half of the objects misses the others
		unchanged, overridden, problems := build.Override(r.sources, r.overrides, rendered)
		r.report(problems)
		if object.HasErrors(problems) {
			return rendered
		}
		_, wrong := check.New(r.kinds, overridden)
		r.report(wrong)
		r.reportInexact(overridden)
		final, isComplete = slices.Concat(unchanged, overridden), true
		before = unoverridden(rendered, final)
		r.reportOverridden(r.checker.Overridden(rendered, final))
	}
	if !object.HasErrors(r.problems) {
		r.report(build.UnmatchedPatches(r.sources, r.folder, r.overrides, r.built, slices.Concat(rendered, final)))
	}
	errs := make([]error, len(final))
	parallel.For(len(final), func(i int) { errs[i] = r.kinds.HashName(final[i].Unstructured, final[i].Written) })
	r.reportErrors(final, errs)
	if isComplete {
		r.reportRendered(final, before)
	}
	return final
}

// unoverridden returns what was rendered of those of the final objects that overrides
// changed.
func unoverridden(rendered, final []object.Object) map[*unstructured.Unstructured]object.Object {
	byID := map[object.ID]object.Object{}
	for _, o := range rendered {
		byID[o.ID()] = o
	}
	before := map[*unstructured.Unstructured]object.Object{}
	for _, o := range final {
		if was, ok := byID[o.ID()]; ok && was.Unstructured != o.Unstructured {
			before[o.Unstructured] = was
		}
	}
	return before
}

// admit reports what keeps objects, as they are to be, out of a cluster.
func (r *renderer) admit(objects []object.Object) {
	refused, rest := r.checker.Apply(objects, r.problems, r.rendered)
	r.problems = rest
	r.reportRefused(refused)
	r.checker.DropNothing(objects)
	r.reportRefused(check.PodSecurity(objects, func(p object.Problem) string { return r.locate(p).Position() }))
	r.report(r.checker.PolicyUsers(objects, advice.IsController))
	if faulty, areAll := r.faulty(); areAll { // policies judge what is otherwise valid
		r.reportRefused(r.checker.Policies(objects, faulty, r.position))
	}
}

// faulty are the objects with errors, as they were written, and whether these are all that
// is wrong: else others may be missing, or not be what overrides make of them.
func (r *renderer) faulty() (written map[*unstructured.Unstructured]bool, areAll bool) {
	written = map[*unstructured.Unstructured]bool{}
	for _, p := range r.problems {
		if p.Warning {
			continue
		}
		if p.Subject.Written == nil || r.overrides != "" {
			return nil, false
		}
		written[p.Subject.Written] = true
	}
	return written, true
}

// place returns objects with their files, and reports and leaves out those whose file
// is another's.
func (r *renderer) place(objects []object.Object) (placed []tree.Placed) {
	for _, p := range tree.Layout(objects, r.checker.IsNamespaced) {
		if p.Taken != nil {
			r.reportDuplicate(p)
			continue
		}
		placed = append(placed, p)
	}
	return placed
}

// isSorted says whether the environment says in which order its objects are applied.
func (r *renderer) isSorted() bool { return r.sources.Kustomizations[r.folder].SortOptions != nil }

// files returns the objects in apply order, and a file for each.
func (r *renderer) files(objects []object.Object) (kept []object.Object, files []tree.File) {
	placed := r.place(objects)
	positions, problems := build.Order(r.sources, r.folder, r.built, objects)
	r.report(problems)
	slices.SortStableFunc(placed, func(a, b tree.Placed) int { return cmp.Compare(positions[a.Unstructured], positions[b.Unstructured]) })
	kept, files = make([]object.Object, len(placed)), make([]tree.File, len(placed))
	errs := make([]error, len(placed))
	parallel.For(len(placed), func(i int) {
		kept[i], files[i].Path = placed[i].Object, placed[i].Path
		files[i].Content, errs[i] = placed[i].YAML()
		if !tree.IsOwnable(placed[i].Path) { // the names of a valid object make no such path
			errs[i] = fmt.Errorf("its kind, namespace or name make no file name: %s", placed[i].Path)
		}
	})
	r.reportErrors(kept, errs)
	return kept, files
}
