package render

import (
	"fmt"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// Instead returns the hint at what to write for a text that is not the name of an environment:
// the environments of which it has the names, in any case, as environments/prod and
// prod,staging have, or the one whose name is nearest; empty where there is none.
func Instead(text string, environments []string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !strings.ContainsRune(nameCharacters, r) })
	flags := make([]string, len(environments))
	for i, name := range environments {
		flags[i] = "--env " + name
	}
	var meant []string
	for _, word := range words {
		if flag := "--env " + word; slices.Contains(flags, flag) && !slices.Contains(meant, flag) {
			meant = append(meant, flag)
		}
	}
	switch {
	case len(meant) > 0:
		return ": write " + strings.Join(meant, " ")
	case len(words) > 0:
		return manifest.DidYouMean("--env "+words[len(words)-1], flags)
	}
	return ""
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// notAName returns the error of a name that no environment can have.
func (r *Repository) notAName(name string) error {
	if all, _ := r.Environments(); slices.Contains(all, name) {
		return fmt.Errorf("%s/%s: %q is not the name of an environment: rename the folder, with up to 63 lower case letters, digits and '-'", environmentsFolder, name, name)
	}
	return fmt.Errorf("%q is not the name of an environment%s", name, r.unknown(name))
}

// CheckEnvironment returns the error of a name that is not that of an environment.
func (r *Repository) CheckEnvironment(name string) error {
	_, err := r.Select(Selection{Names: []string{name}})
	if err == nil && !r.hasEnvironment(name) {
		err = fmt.Errorf("%s/%s: no such environment%s", environmentsFolder, name, r.unknown(name))
	}
	return err
}

// unknown returns the hint for the name of an environment that there is not.
func (r *Repository) unknown(name string) string {
	environments, _ := r.Environments()
	environments = slices.DeleteFunc(environments, func(name string) bool { return !environmentName.MatchString(name) })
	hint := Instead(name, environments)
	switch {
	case len(environments) == 0:
		return ": make a folder of " + environmentsFolder + "/ with a kustomization.yaml"
	case hint == "":
		return ThereAre(environments)
	case strings.HasSuffix(hint, "?"):
		return hint + strings.Replace(ThereAre(environments), ": t", " T", 1)
	}
	return hint
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
