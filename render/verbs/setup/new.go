package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Spec is an object to add to an environment.
type Spec struct {
	Kind        *kind.Kind
	Name        string
	Environment string
	// Namespace may be empty: then the one of the kustomization, or the only one of the environment, or default
	// applies.
	Namespace string
	// Values are the results of Field.Parse by the names of fields.
	Values map[string]any
}

// Addition describes an added object.
type Addition struct {
	// File is the file of the object, relative to the root.
	File string
	// Object is the object, as "Kind namespace/name".
	Object string
	// Kustomization is the kustomization of the environment, relative to the root.
	Kustomization string
	// Unlisted is an entry that users must add to resources: of the kustomization, or empty. Add cannot
	// edit a list without one entry per line.
	Unlisted string
	// Problems are the errors of the environment with the object, and the warnings of the object.
	Problems []manifest.Problem
}

// Add writes the manifest of an object and lists it in the kustomization of an environment, unless the
// environment would not render. The caller holds the lock of the repository.
func Add(ctx context.Context, repository *render.Repository, s Spec, progress func(step string)) (*Addition, error) {
	if err := s.check(repository); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repository.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := source.NewFileSystem(source.Disk(root, repository.Dir()), repository.Dir(), nil)
	e, err := readOverlay(root, files, s.Environment)
	if err != nil {
		return nil, err
	}
	if s.Namespace != "" && e.Namespace != "" && s.Namespace != e.Namespace {
		return nil, fmt.Errorf("--namespace %s: %s sets the namespace %s for all objects: omit the flag", s.Namespace,
			source.Relative(e.file), e.Namespace)
	}
	namespace := s.Namespace
	if e.Namespace == "" && namespace == "" {
		namespace = cmp.Or(onlyNamespace(repository, s.Environment, e.folder), "default")
	}
	if e.Namespace != "" { // the kustomization sets it
		namespace = ""
	}
	a := &Addition{Object: s.Kind.GVK().Kind + " " + cmp.Or(e.Namespace, namespace) + "/" + s.Name,
		Kustomization: source.Relative(e.file)}
	sample := append(modeline(e.folder, s.Environment),
		newSample(s.Kind, NewOutline(s.Kind), namespace, s.Name, s.Values)...)
	entry, err := s.chooseFile(root, e, sample)
	if err != nil {
		return nil, err
	}
	edited, keepsRest := addResource(e.content, entry)
	if !keepsRest {
		a.Unlisted = entry
	}
	file := path.Join(e.folder, entry)
	a.File = source.Relative(file)

	progress("rendering the environment with the object")
	edits := repository.With(map[string][]byte{file: sample, e.file: edited})
	a.addProblems(edits.Load(s.Environment, render.LoadOptions{}).Problems)
	if err := ctx.Err(); err != nil || manifest.HasErrors(a.Problems) {
		return a, err
	}
	progress("writing")
	return a, a.write(root, sample, edited)
}

// onlyNamespace returns the namespace of all objects in the files of an environment, or nothing if they have several.
func onlyNamespace(repository *render.Repository, environment, folder string) (namespace string) {
	for _, o := range repository.Judge(environment, render.LoadOptions{}).Known() {
		own := o.GetNamespace()
		if o.GetKind() == "Namespace" {
			own = o.GetName()
		}
		switch {
		case own == "" || o.IsRendered() || !source.IsWithin(path.Join("/", o.Origin), folder), own == namespace:
		case namespace != "":
			return ""
		default:
			namespace = own
		}
	}
	return namespace
}

// modeline returns the comment that names the schema of an environment for editors:
// https://github.com/redhat-developer/yaml-language-server#using-inlined-schema.
func modeline(folder, environment string) []byte {
	up := strings.Repeat("../", strings.Count(folder, "/"))
	return []byte("# yaml-language-server: $schema=" + up + path.Join(tree.Folder, environment, tree.SchemaFile) + "\n")
}

// addProblems adds all errors, and the warnings of the new file. If there are errors, the file is not
// written, so its problems have no position.
func (a *Addition) addProblems(problems []manifest.Problem) {
	failed := manifest.HasErrors(problems)
	for _, p := range problems {
		isNew := p.File == a.File
		if isNew && failed {
			p.File = ""
			p.Line = 0
		}
		if isNew || p.IsError() {
			a.Problems = append(a.Problems, p)
		}
	}
}

// check returns an error with every invalid name.
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

// overlay is the folder of an environment and its kustomization.
type overlay struct {
	folder, file string // absolute paths in the repository
	content      []byte // the kustomization

	Namespace string // the namespace for all objects
	Resources []string
}

func readOverlay(root *os.Root, files *source.FileSystem, name string) (e overlay, err error) {
	e.folder = path.Join("/", tree.EnvironmentsFolder, name)
	e.file = files.KustomizationFile(e.folder)
	if e.file == "" {
		return e, fmt.Errorf("%s/kustomization.yaml does not exist: write one that lists the resources of the "+
			"environment", source.Relative(e.folder))
	}
	if e.content, err = regular.ReadReal(root, source.Relative(e.file)); err != nil {
		return e, err
	}
	return e, yaml.Unmarshal(e.content, &e)
}

// chooseFile returns a free name for the file of the object. The name contains the namespace only if
// needed. An unlisted file with the same content comes from an interrupted run, and is free.
func (s Spec) chooseFile(root *os.Root, e overlay, sample []byte) (name string, err error) {
	prefix := strings.ToLower(s.Kind.GVK().Kind) + "-"
	names := []string{prefix + s.Name + ".yaml"}
	if s.Namespace != "" {
		names = append(names, prefix+s.Namespace+"-"+s.Name+".yaml")
	}
	for _, name = range names {
		content, err := regular.ReadReal(root, path.Join(source.Relative(e.folder), name))
		isListed := slices.ContainsFunc(e.Resources, func(resource string) bool { return path.Clean(resource) == name })
		if !isListed && err == nil && (content == nil || bytes.Equal(content, sample)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s exists already: edit it, or choose another name",
		path.Join(source.Relative(e.folder), name))
}

// write writes the object and then the kustomization. If it is interrupted between the two, the next run
// completes it.
func (a *Addition) write(root *os.Root, sample, kustomization []byte) error {
	if err := regular.ReplaceFile(root, a.File, sample); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if a.Unlisted != "" {
		return nil
	}
	if err := regular.ReplaceFile(root, a.Kustomization, kustomization); err != nil {
		return fmt.Errorf("%w: %s was written, but not listed: run this again", err, a.File)
	}
	return nil
}
