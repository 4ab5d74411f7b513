package render

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Selection says which environments to render.
type Selection struct {
	// Names are the names of environments.
	Names []string
	// All adds every environment that there is, and those that were rendered and
	// are no more.
	All bool
}

var environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// IsEnvironmentName reports whether an environment can have a name.
func IsEnvironmentName(name string) bool {
	return environmentName.MatchString(name) && name != baseFolder
}

// Select returns the names of the environments to render, sorted, each once.
func (r *Repository) Select(selection Selection) ([]string, error) {
	var errs []error
	names := slices.Clone(selection.Names)
	if len(names) == 0 && !selection.All {
		return nil, errors.New("which environment? write --env NAME, or --all" + r.unknown(""))
	}
	if selection.All {
		all, err := r.Environments()
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s/ has no environment: make a folder there with a kustomization.yaml", tree.EnvironmentsFolder)
		}
		errs = append(errs, err)
		names = append(names, all...)
	}
	for _, name := range names {
		if !environmentName.MatchString(name) {
			errs = append(errs, r.notAName(name))
		} else if name == baseFolder {
			errs = append(errs, fmt.Errorf("%s/%s is what environments build on: render those", tree.EnvironmentsFolder, baseFolder))
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

// instead returns the hint at what to write for a text that is not the name of an environment:
// the environments of which it has the names, in any case, as environments/prod and
// prod,staging have, or one whose name is near; empty where there is none.
func instead(text string, environments []string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !strings.ContainsRune(nameCharacters, r) })
	var flags []string
	known := make([]string, len(environments))
	for i, name := range environments {
		known[i] = "--env " + name
	}
	for _, word := range words {
		if flag := "--env " + word; slices.Contains(known, flag) && !slices.Contains(flags, flag) {
			flags = append(flags, flag)
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

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// notAName returns the error of a name that no environment can have.
func (r *Repository) notAName(name string) error {
	if all, _ := r.Environments(); slices.Contains(all, name) {
		return fmt.Errorf("%s/%s: %q is not the name of an environment: rename the folder, with up to 63 lower case letters, digits and '-'", tree.EnvironmentsFolder, name, name)
	}
	return fmt.Errorf("%q is not the name of an environment%s", name, r.unknown(name))
}

// CheckEnvironment returns the error of a name that is not that of an environment.
func (r *Repository) CheckEnvironment(name string) error {
	_, err := r.Select(Selection{Names: []string{name}})
	if err == nil && !r.hasEnvironment(name) {
		err = errors.New(r.missing(name).String())
	}
	return err
}

// hasEnvironment reports whether there is a folder for an environment, or anything else of
// its name: gone is only what does not exist.
func (r *Repository) hasEnvironment(name string) bool {
	return r.fileSystem().Exists(path.Join("/", tree.EnvironmentsFolder, name))
}

// missing returns the problem of an environment that there is not.
func (r *Repository) missing(name string) manifest.Problem {
	return manifest.Problem{File: path.Join(tree.EnvironmentsFolder, name), Message: "no such environment" + r.unknown(name)}
}

// unknown returns the hint for the name of an environment that there is not.
func (r *Repository) unknown(name string) string {
	environments, _ := r.Environments()
	environments = slices.DeleteFunc(environments, func(name string) bool { return !environmentName.MatchString(name) })
	if len(environments) == 0 {
		return ": make a folder of " + tree.EnvironmentsFolder + "/ with a kustomization.yaml"
	}
	return cmp.Or(instead(name, environments), ThereAre(environments))
}

// ThereAre returns the hint at the names that there are, such as those of environments; empty where
// there are none.
func ThereAre(environments []string) string {
	const most = 12
	switch n := len(environments); {
	case n == 0:
		return ""
	case n == 1:
		return ": there is " + environments[0]
	case n <= most:
		return fmt.Sprintf(": there are %s and %s", strings.Join(environments[:n-1], ", "), environments[n-1])
	default:
		return fmt.Sprintf(": there are %s and %d more", strings.Join(environments[:most], ", "), n-most)
	}
}
