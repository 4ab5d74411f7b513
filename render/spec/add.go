// Package spec adds a spec of any kind to an environment: its file, and the entry in the
// kustomization.
package spec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validation"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// Spec is an object that is to be added to an environment.
type Spec struct {
	Kind        *kind.Kind
	Name        string
	Environment string
	// Namespace is empty where the environment says which.
	Namespace string
	// Values are those of fields of the spec, by name, as Field.Parse returns them.
	Values map[string]any

	outline *Outline
}

// Addition is what adding a spec changes.
type Addition struct {
	// File is the file of the object, and Kustomization the file that lists it, relative to
	// the root.
	File, Kustomization string
	// Object is the object, as "Kind namespace/name".
	Object string
	// Problems are what is wrong with the object, or with the environment because of it, and
	// warnings.
	Problems []object.Problem
	// Before are errors that the environment has anyway.
	Before []object.Problem

	manifest, list []byte // of the two files; the list is nil where the kustomization has the entry
}

// Failed says whether there is anything wrong, and nothing was written.
func (a *Addition) Failed() bool { return object.HasErrors(a.Problems) }

// Add adds a spec to an environment, unless anything is wrong with it. Whoever calls holds the
// lock of the repository. Progress is told what is being done.
func Add(ctx context.Context, repository *render.Repository, s Spec, progress func(step string)) (*Addition, error) {
	var err error
	if s.outline, err = NewOutline(s.Kind); err != nil {
		return nil, err
	}
	if err := s.check(repository); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repository.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := source.NewFileSystem(root, repository.Dir())
	e, err := openEnvironment(files, s.Environment)
	if err != nil {
		return nil, err
	}
	progress("rendering as it is")
	before, problems := render.Render(repository, s.Environment, func(string) {})
	namespace, err := s.namespace(e, before, problems)
	if err != nil {
		return nil, err
	}
	a, err := s.compose(e, files, before, namespace)
	if err != nil {
		return nil, err
	}
	progress("rendering what it is to be")
	stands := map[string][]byte{"/" + a.File: a.manifest}
	if a.list != nil {
		stands["/"+a.Kustomization] = a.list
	}
	_, after := render.Render(repository.With(stands), s.Environment, func(string) {})
	a.divide(problems, after)
	a.nameFlags(s.outline)
	if err := ctx.Err(); err != nil || a.Failed() {
		return a, err
	}
	progress("writing")
	return a, a.write(root)
}

// check returns all that is wrong with what is given, of what would lead elsewhere.
func (s Spec) check(repository *render.Repository) error {
	errs := []error{repository.CheckEnvironment(s.Environment)}
	if wrong := validation.NameIsDNSSubdomain(s.Name, false); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("NAME %q: %s", s.Name, strings.Join(wrong, ", ")))
	}
	if wrong := validation.ValidateNamespaceName(s.Namespace, false); s.Namespace != "" && len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("--namespace %q: %s", s.Namespace, strings.Join(wrong, ", ")))
	}
	for _, f := range s.outline.Fields {
		if text, ok := s.Values[f.Name].(string); ok && !utf8.ValidString(text) {
			errs = append(errs, fmt.Errorf("--%s %q: is not UTF-8", f.Flag, text))
		}
	}
	return errors.Join(errs...)
}

// environment is the folder of an environment and its kustomization.
type environment struct {
	folder, file string // paths from the root, with a slash first and without links
	content      []byte
	root         *yaml.Node // of the kustomization, nil where it is empty
	namespace    string     // that it gives to all objects
}

func openEnvironment(files *source.FileSystem, name string) (environment, error) {
	folder, _, err := files.Resolve("/environments/" + name)
	if err != nil {
		return environment{}, err
	}
	e := environment{folder: folder, file: files.KustomizationFile(folder)}
	if e.file == "" {
		return e, fmt.Errorf("%s: no kustomization.yaml: write one that lists the resources of the environment", source.Relative(folder))
	}
	if e.file, _, err = files.Resolve(e.file); err != nil {
		return e, err
	}
	if e.content, err = files.ReadFile(e.file); err != nil {
		return e, err
	}
	if e.root, err = onlyDocument(e.content); err != nil {
		return e, fmt.Errorf("%s: %w", source.Relative(e.file), err)
	}
	if namespace := source.Field(e.root, "namespace"); namespace != nil {
		e.namespace = namespace.Value
	}
	return e, nil
}

// compose is what is to be written: of the object no namespace where the kustomization gives
// it one.
func (s Spec) compose(e environment, files *source.FileSystem, before *render.Rendering, namespace string) (*Addition, error) {
	name := s.fileName(e.root, before)
	file := path.Join(e.folder, name)
	a := &Addition{File: source.Relative(file), Kustomization: source.Relative(e.file)}
	a.Object = s.Kind.GVK.Kind + " " + namespace + "/" + s.Name
	if e.namespace != "" {
		namespace = ""
	}
	a.manifest = manifest(s.Kind, s.outline, namespace, s.Name, s.Values)
	isListed := lists(e.root, name)
	switch content, err := files.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist): // also where it is listed, and was lost
	case err != nil:
		return nil, err
	case isListed || !bytes.Equal(content, a.manifest): // else it is what a run left that was killed
		return nil, fmt.Errorf("%s exists: edit it, or choose another name", a.File)
	}
	if isListed {
		return a, nil
	}
	var err error
	if a.list, err = addResource(e.content, name); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Kustomization, err)
	}
	return a, nil
}

// fileName is the name of the file: with the namespace that was asked for where a file without
// has an object of the same name in another.
func (s Spec) fileName(kustomization *yaml.Node, before *render.Rendering) string {
	prefix := strings.ToLower(s.Kind.GVK.Kind)
	name := prefix + "-" + s.Name + ".yaml"
	if s.Namespace == "" || before == nil || !lists(kustomization, name) {
		return name
	}
	inNamespace := prefix + "-" + s.Namespace + "-" + s.Name + ".yaml"
	isThere := slices.ContainsFunc(before.Objects, func(o object.Object) bool {
		return o.GetKind() == s.Kind.GVK.Kind && o.GetName() == s.Name && o.GetNamespace() == s.Namespace
	})
	if isThere && !lists(kustomization, inNamespace) {
		return name
	}
	return inNamespace
}

// divide tells what is wrong because of the spec from what was wrong before.
func (a *Addition) divide(before, after []object.Problem) {
	withoutLine := func(p object.Problem) string { // the kustomization has one more
		p.Line = 0
		return p.String()
	}
	wasBefore := map[string]bool{}
	for _, p := range before {
		wasBefore[withoutLine(p)] = true
	}
	for _, p := range after {
		wasThere := p.File != a.File && wasBefore[withoutLine(p)]
		switch {
		case !wasThere:
			a.Problems = append(a.Problems, p)
		case p.IsError():
			a.Before = append(a.Before, p)
		}
	}
}

// nameFlags has errors of the object be at what was given: there is no file.
func (a *Addition) nameFlags(o *Outline) {
	if !a.Failed() {
		return
	}
	for i, p := range a.Problems {
		if p.File == a.File {
			a.Problems[i].Line = 0
			a.Problems[i].File = o.given(p.Field)
		}
	}
}

// given is the flag that gives a field of an object its value, or the argument.
func (o *Outline) given(field string) string {
	if field == "metadata.namespace" {
		return "--namespace"
	}
	name, isOfSpec := strings.CutPrefix(field, "spec.")
	if end := strings.IndexAny(name, ".["); end >= 0 {
		name = name[:end]
	}
	for _, f := range o.Fields {
		if isOfSpec && f.Name == name && f.Flag != "" {
			return "--" + f.Flag
		}
	}
	return "NAME"
}

// write writes the object, then the list, each at once: what is killed in between leaves a
// file that nothing lists, and running again goes on from there.
func (a *Addition) write(root *os.Root) error {
	if err := replace(root, a.File, a.manifest); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if a.list == nil {
		return nil
	}
	if err := replace(root, a.Kustomization, a.list); err != nil {
		return fmt.Errorf("%w: %s was written and is not listed: run this again", err, a.File)
	}
	return nil
}

// replace writes a file at once. One that is there keeps its mode.
func replace(root *os.Root, name string, content []byte) error {
	mode := fs.FileMode(0o644)
	info, err := root.Stat(name)
	if err == nil {
		mode = info.Mode().Perm()
	}
	staged := path.Join(path.Dir(name), ".render-new") // whoever writes holds the lock
	_ = root.Remove(staged)                            // of a run that was killed, or a link
	if err = root.WriteFile(staged, content, mode); err == nil && info != nil {
		err = root.Chmod(staged, mode)
	}
	if err == nil {
		err = root.Rename(staged, name)
	}
	if err != nil {
		_ = root.Remove(staged)
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	return nil
}

// cause is an error without the name of the temporary file.
func cause(err error) error {
	var ofPath *fs.PathError
	var ofLink *os.LinkError
	switch {
	case errors.As(err, &ofPath):
		return ofPath.Err
	case errors.As(err, &ofLink):
		return ofLink.Err
	}
	return err
}
