package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Spec is an object to add to an environment.
type Spec struct {
	Kind        *kind.Kind
	Name        string
	Environment string
	// Namespace is empty to take the one that the kustomization sets, or default.
	Namespace string
	// Values are the fields of the spec to set, by name, as Field.Parse returns them.
	Values map[string]any
}

// Addition is what adding an object changes.
type Addition struct {
	// File is the file of the object, relative to the root.
	File string
	// Object is the object, as "Kind namespace/name".
	Object string
	// Kustomization is the kustomization of the environment, which lists File, relative to the root.
	Kustomization string
	// Unlisted is the entry for File that people have to add to resources of the kustomization
	// themselves, where that is not a list with one entry a line; empty otherwise.
	Unlisted string
	// Problems are the errors of the environment with the object, and the warnings of the object.
	Problems []manifest.Problem
}

// Failed reports whether a problem is an error: then nothing is written.
func (a *Addition) Failed() bool { return manifest.HasErrors(a.Problems) }

// Add writes the manifest of an object and lists it in the kustomization of an environment, unless
// the environment does not render with it. The caller holds the lock of the repository.
func Add(ctx context.Context, repository *render.Repository, s Spec, progress func(step string)) (*Addition, error) {
	outline, err := NewOutline(s.Kind)
	if err != nil {
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
	e, err := readEnvironment(source.NewFileSystem(root, repository.Dir()), s.Environment)
	if err != nil {
		return nil, err
	}
	if s.Namespace != "" && e.Namespace != "" && s.Namespace != e.Namespace {
		return nil, fmt.Errorf("--namespace %s: %s sets the namespace %s for all objects: leave the flag out", s.Namespace, source.Relative(e.file), e.Namespace)
	}
	written := cmp.Or(s.Namespace, "default")
	if e.Namespace != "" { // the kustomization sets it
		written = ""
	}
	a := &Addition{Object: s.Kind.GVK().Kind + " " + cmp.Or(e.Namespace, written) + "/" + s.Name, Kustomization: source.Relative(e.file)}
	sample := append(modeline(e.folder, s.Environment), newSample(s.Kind, outline, written, s.Name, s.Values)...)
	entry, err := s.fileName(root, e, sample)
	if err != nil {
		return nil, err
	}
	edited, keepsRest, err := withResource(e.content, entry)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Kustomization, err)
	}
	if !keepsRest {
		a.Unlisted = entry
	}
	file := path.Join(e.folder, entry)
	a.File = source.Relative(file)

	progress("rendering the environment with the object")
	_, problems := render.Render(repository.With(map[string][]byte{file: sample, e.file: edited}), s.Environment, func(string) {})
	a.keep(problems)
	if err := ctx.Err(); err != nil || a.Failed() {
		return a, err
	}
	progress("writing")
	return a, a.write(root, sample, edited)
}

// modeline returns the comment by which editors find the schema of an environment:
// https://github.com/redhat-developer/yaml-language-server#using-inlined-schema.
func modeline(folder, environment string) []byte {
	up := strings.Repeat("../", strings.Count(folder, "/"))
	return []byte("# yaml-language-server: $schema=" + up + path.Join(tree.Folder, environment, tree.SchemaFile) + "\n")
}

// keep keeps the errors, and the warnings of the new file. The file does not exist if there are
// errors, so that its own name the object only.
func (a *Addition) keep(problems []manifest.Problem) {
	failed := manifest.HasErrors(problems)
	for _, p := range problems {
		isNew := p.File == a.File
		if isNew && failed {
			p.File, p.Line = "", 0
		}
		if isNew || p.IsError() {
			a.Problems = append(a.Problems, p)
		}
	}
}

// check returns an error with every name that is malformed.
func (s Spec) check(repository *render.Repository) error {
	errs := []error{repository.CheckEnvironment(s.Environment)}
	if wrong := validation.NameIsDNSSubdomain(s.Name, false); len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("NAME %q: %s", s.Name, strings.Join(wrong, ", ")))
	}
	if wrong := validation.ValidateNamespaceName(s.Namespace, false); s.Namespace != "" && len(wrong) > 0 {
		errs = append(errs, fmt.Errorf("--namespace %q: %s", s.Namespace, strings.Join(wrong, ", ")))
	}
	return errors.Join(errs...)
}

// environment is the folder of an environment and its kustomization.
type environment struct {
	folder, file string // paths from the root, with a slash first and without links
	content      []byte // of the kustomization

	Namespace string // that the kustomization sets for all objects
	Resources []string
}

func readEnvironment(files *source.FileSystem, name string) (e environment, err error) {
	if e.folder, _, err = files.Resolve("/environments/" + name); err != nil {
		return e, err
	}
	if e.file, _, err = files.Resolve(files.KustomizationFile(e.folder)); err != nil {
		return e, err
	}
	if e.content, err = files.ReadFile(e.file); err != nil {
		return e, err
	}
	return e, yaml.Unmarshal(e.content, &e)
}

// fileName returns the name of the file of the object. It has the namespace that was asked for
// where the name without it is taken. A file with the same content that nothing lists is one that
// an interrupted run left.
func (s Spec) fileName(root *os.Root, e environment, sample []byte) (name string, err error) {
	prefix := strings.ToLower(s.Kind.GVK().Kind) + "-"
	names := []string{prefix + s.Name + ".yaml"}
	if s.Namespace != "" {
		names = append(names, prefix+s.Namespace+"-"+s.Name+".yaml")
	}
	for _, name = range names {
		content, err := root.ReadFile(path.Join(source.Relative(e.folder), name))
		isListed := slices.ContainsFunc(e.Resources, func(resource string) bool { return path.Clean(resource) == name })
		if !isListed && (errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(content, sample)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s exists: edit it, or choose another name", path.Join(source.Relative(e.folder), name))
}

// write writes the object, then the kustomization that lists it. Interrupted between the two, the
// next run completes it.
func (a *Addition) write(root *os.Root, sample, kustomization []byte) error {
	if err := replaceFile(root, a.File, sample); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if a.Unlisted != "" {
		return nil
	}
	if err := replaceFile(root, a.Kustomization, kustomization); err != nil {
		return fmt.Errorf("%w: %s was written and is not listed: run this again", err, a.File)
	}
	return nil
}

// replaceFile writes a file by renaming one beside it.
func replaceFile(root *os.Root, name string, content []byte) error {
	staged := path.Join(path.Dir(name), ".render-new") // the lock keeps other runs off
	_ = root.Remove(staged)
	err := root.WriteFile(staged, content, 0o644)
	if err == nil {
		err = root.Rename(staged, name)
	}
	if err != nil {
		_ = root.Remove(staged)
		return fmt.Errorf("write %s: %w", name, cmp.Or(errors.Unwrap(err), err)) // without the name of the staged file
	}
	return nil
}
