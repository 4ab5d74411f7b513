package build

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

// Folder builds the kustomization in a folder of sources.
func Folder(s *source.Sources, folder string) (objects []object.Object, problems []object.Problem) {
	k := s.Kustomizations[folder]
	var err error
	isolate(s, func() {
		if objects, err = folderObjects(s, k); err != nil {
			problems = kustomizeProblems(s, k, err)
		}
	})
	switch {
	case err != nil:
		return nil, problems
	case len(objects) == 0:
		return nil, []object.Problem{{File: source.Relative(k.File), Message: "builds to nothing: list resources"}}
	}
	return objects, nil
}

// Origins returns the files that the objects of a folder come from. It builds them
// again: only where something is wrong with one is it asked where it comes from.
func Origins(s *source.Sources, folder string, objects []object.Object) map[*unstructured.Unstructured]string {
	var files []string
	isolate(s, func() {
		k := s.Kustomizations[folder]
		if d := divide(s, folder, partSize); d != nil {
			files = d.originsOfAll()
		}
		if len(files) != len(objects) {
			files, _ = buildOrigins(s.FS, k, nil) // it was built before, without an error
		}
	})
	of := map[*unstructured.Unstructured]string{}
	if len(files) == len(objects) {
		for i, o := range objects {
			of[o.Unstructured] = files[i]
		}
	}
	return of
}

// folderObjects builds a folder in parts, or as a whole where it has none or one of
// them fails: then the whole is the judge of what is wrong.
func folderObjects(s *source.Sources, k *source.Kustomization) ([]object.Object, error) {
	if d := divide(s, k.Folder, partSize); d != nil {
		return d.buildAll()
	}
	return buildFolder(s.FS, k.Folder, nil)
}

// buildAll builds the parts of a division, after what cannot be parted. Where some fail
// they are built again with that: either both fail, at what the whole fails at first,
// and that is the error, or the division was wrong.
func (d *division) buildAll() ([]object.Object, error) {
	objects, err := d.buildPart(d.rest)
	built, failed := d.buildParts()
	switch {
	case len(failed) > 0:
		if _, err := d.buildPart(d.with(failed[:min(len(failed), maxFailed)])); err != nil {
			return nil, err
		}
		return buildFolder(d.sources.FS, d.folder, nil)
	case err != nil:
		return nil, err
	}
	for _, part := range built {
		objects = append(objects, part...)
	}
	return objects, nil
}

// buildParts builds the parts, several at a time. It returns those that fail.
func (d *division) buildParts() (built [][]object.Object, failed []*part) {
	openapi.Schema() // its first use is not safe for several at a time
	defer mute()()
	built = make([][]object.Object, len(d.parts))
	errs := make([]error, len(d.parts))
	parallel.For(len(d.parts), func(i int) { built[i], errs[i] = d.buildPart(d.parts[i]) })
	for i, err := range errs {
		if err != nil {
			failed = append(failed, d.parts[i])
		}
	}
	return built, failed
}

// originsOfAll returns the files that the objects come from, in the order of buildAll; nil
// where a part fails.
func (d *division) originsOfAll() []string {
	files := make([][]string, 1+len(d.parts))
	failed := make([]bool, len(files))
	openapi.Schema()
	defer mute()()
	parallel.For(len(files), func(i int) {
		p := d.rest
		if i > 0 {
			p = d.parts[i-1]
		}
		fs, root, err := d.prune(p)
		if err == nil && root != nil {
			files[i], err = buildOrigins(fs, root, p.keep(d.sources.Kinds))
		}
		failed[i] = err != nil
	})
	if slices.Contains(failed, true) {
		return nil
	}
	return slices.Concat(files...)
}
