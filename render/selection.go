package render

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Selection selects environments to render.
type Selection struct {
	// Names are the names of environments.
	Names []string
	// All adds every repository environment and every rendered environment. A rendered
	// environment may be the only trace of a repository environment that is gone.
	All bool
	// Written leaves out the entries outside of environments/, which are rendered nowhere.
	Written bool
	// Changed, if not nil, selects the environments that these files may change. Their paths are
	// relative to the root.
	Changed []string
}

var (
	environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	word            = regexp.MustCompile(`[-a-z0-9]+`)
)

// IsEnvironmentName reports whether name is a valid name of an environment.
func IsEnvironmentName(name string) bool {
	return environmentName.MatchString(name) && name != baseFolder
}

// Select returns the names of the environments to render, sorted, each once.
func (r *Repository) Select(selection Selection) ([]string, error) {
	var errs []error
	var names []string
	for _, name := range selection.Names {
		names = append(names, entry.CleanName(name))
	}
	if len(names) == 0 && !selection.All {
		return nil, errors.New("which environment? write --env NAME, or --all" + r.unknown(""))
	}
	if selection.All {
		find := r.Environments
		if selection.Written {
			find = r.ownEnvironments
		}
		all, err := find()
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s/ has no environment: make a folder there with a kustomization.yaml",
				tree.EnvironmentsFolder)
		}
		errs = append(errs, err)
		names = append(names, all...)
	}
	for _, name := range names {
		switch {
		case IsFolder(name) && r.fileSystem().IsDir(folderOf(name)):
			errs = append(errs, r.checkFolder(name))
		case !environmentName.MatchString(name):
			errs = append(errs, r.invalidName(name))
		case name == baseFolder:
			errs = append(errs, fmt.Errorf("%s/%s is not an environment: render the environments that build on it",
				tree.EnvironmentsFolder, baseFolder))
		}
	}
	if selection.All {
		rendered, err := tree.Environments(r.root)
		errs = append(errs, err)
		for _, name := range rendered {
			if IsEnvironmentName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...)
}

// CheckedOut splits names into names of the work tree, which may be gone, and of environments that a sparse
// checkout leaves out. A warning lists the latter.
func (r *Repository) CheckedOut(names []string) (checkedOut, leftOut []string, warnings []manifest.Problem) {
	for _, name := range names {
		if r.options.IsLeftOut != nil && !r.HasEnvironment(name) && r.options.IsLeftOut(name) {
			leftOut = append(leftOut, name)
		} else {
			checkedOut = append(checkedOut, name)
		}
	}
	if len(leftOut) > 0 {
		message := "the sparse checkout leaves out environments, which are neither rendered nor compared" +
			ListNames(leftOut)
		warnings = []manifest.Problem{{Code: manifest.MissingEnvironment,
			Warning: true, File: tree.EnvironmentsFolder, Message: message}}
	}
	return checkedOut, leftOut, warnings
}

// suggestFlags returns a hint at the flags for a text that is not the name of an environment: the
// environments that it contains, as in environments/prod or prod,staging, or one with a similar
// name. It returns "" without a suggestion.
func suggestFlags(text string, environments []string) string {
	words := word.FindAllString(strings.ToLower(text), -1)
	var flags []string
	known := make([]string, len(environments))
	for i, name := range environments {
		known[i] = "--env " + name
		if slices.Contains(words, name) {
			flags = append(flags, known[i])
		}
	}
	if len(flags) > 0 {
		return ": write " + strings.Join(flags, " ")
	}
	for _, word := range words {
		if hint := manifest.DidYouMean("--env "+word, known); hint != "" {
			return hint
		}
	}
	return ""
}

// invalidName returns the error of an invalid name.
func (r *Repository) invalidName(name string) error {
	if all, _ := r.Environments(); slices.Contains(all, name) {
		return fmt.Errorf("%s/%s: %q is not the name of an environment: rename the folder, with up to 63 lower case "+
			"letters, digits and '-'", tree.EnvironmentsFolder, name, name)
	}
	return fmt.Errorf("%q is not the name of an environment%s", name, r.unknown(name))
}

// CheckEnvironment returns an error unless name is a repository environment.
func (r *Repository) CheckEnvironment(name string) error {
	selection := Selection{Names: []string{name}}
	_, err := r.Select(selection)
	if err == nil {
		err = r.CheckRendered(selection)
	}
	if err == nil && !r.HasEnvironment(name) {
		err = errors.New(r.missing(name).String())
	}
	return err
}

// HasEnvironment reports whether environments/ has a folder, or any other file, of a name. A file
// that is no folder is an error, not an environment that is gone. A folder outside of environments/ is gone if only
// other entries in it are left.
func (r *Repository) HasEnvironment(name string) bool {
	files := r.fileSystem()
	folder := folderOf(name)
	switch {
	case !files.Exists(folder):
		return false
	case !IsFolder(name) || files.KustomizationFile(folder) != "" && !entry.HasCluster(name):
		return true
	}
	isOther := func(e entry.Entry) bool { return source.IsWithin(folderOf(e.Name), folder) }
	isEntry := slices.Contains(r.entryNames(), name) || slices.Contains(namesOf(r.found().leftOut), name)
	return isEntry || !entry.HasCluster(name) && !slices.ContainsFunc(r.found().all, isOther)
}

// missing returns the problem of a missing environment.
func (r *Repository) missing(name string) manifest.Problem {
	return manifest.Problem{Code: manifest.MissingEnvironment, File: source.Relative(folderOf(name)),
		Message: "no such environment" + r.unknown(name)}
}

// unknown returns a hint for the name of a missing environment.
func (r *Repository) unknown(name string) string {
	environments, _ := r.Environments()
	environments = slices.DeleteFunc(environments, func(name string) bool {
		return !IsFolder(name) && !environmentName.MatchString(name)
	})
	if len(environments) == 0 {
		return ": make a folder of " + tree.EnvironmentsFolder + "/ with a kustomization.yaml"
	}
	return cmp.Or(suggestFlags(name, environments), ListNames(environments))
}

// ListNames returns a hint that lists names, as of environments: ": there are dev and prod". It
// returns "" without names.
func ListNames(names []string) string {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return ": there is " + names[0]
	case n <= most:
		return fmt.Sprintf(": there are %s and %s", strings.Join(names[:n-1], ", "), names[n-1])
	default:
		return fmt.Sprintf(": there are %s and %d more", strings.Join(names[:most], ", "), n-most)
	}
}
