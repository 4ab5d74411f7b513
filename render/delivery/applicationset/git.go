package applicationset

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery/application"
)

// gitGenerator makes parameters of folders, or of files and their content.
type gitGenerator struct {
	RepoURL, Revision  string
	Directories, Files []pattern
	PathParamPrefix    string
	Values             map[string]string
}

// pattern selects folders or files, or excludes them.
type pattern struct {
	Path    string
	Exclude bool
}

// NoMatchError says that no file or folder of the repository matches. Perhaps one of another repository does, unless it
// is surely the one of the generator.
type NoMatchError struct {
	sort, patterns string
	IsSure         bool
}

// Error implements error.
func (e NoMatchError) Error() string {
	return fmt.Sprintf("no %s of this repository matches %s", e.sort, e.patterns)
}

// ofGit returns the parameters of the folders or files that a generator selects (applicationset/generators/git.go).
func (e *expansion) ofGit(g gitGenerator, at *field.Path) (all []params, err error) {
	elsewhere := e.Origin.Elsewhere(application.Source{RepoURL: g.RepoURL, TargetRevision: g.Revision})
	switch {
	case elsewhere != "":
		return nil, AskingError(elsewhere + ": " + g.RepoURL)
	case len(g.Directories) > 0:
		for _, name := range e.folders(g.Directories) {
			all = append(all, e.withPath(params{}, name, "", g.PathParamPrefix))
		}
	case len(g.Files) > 0:
		for _, name := range e.matching(g.Files) {
			found, err := e.readFile(name, g.PathParamPrefix, at.Child("files"))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	default:
		return nil, field.Required(at, "has neither directories nor files: write the paths of one")
	}
	if len(all) > 0 {
		return all, e.addValues(all, g.Values, at.Child("values"))
	}
	sort := "file"
	if len(g.Directories) > 0 {
		sort = "folder"
	}
	var patterns []string
	for _, p := range slices.Concat(g.Directories, g.Files) {
		if !p.Exclude {
			patterns = append(patterns, p.Path)
		}
	}
	return nil, NoMatchError{sort, strings.Join(patterns, ", "), e.Origin.IsThis(g.RepoURL)}
}

// candidates returns the files that a pattern may match: below its folder, up to its first wildcard.
func (e *expansion) candidates(p pattern) []string {
	literal := p.Path
	if i := strings.IndexAny(p.Path, `*?[\`); i >= 0 {
		literal = p.Path[:i]
	}
	folder := path.Dir(literal)
	if _, isKnown := e.below[folder]; !isKnown {
		e.below[folder] = e.files.Below(folder)
	}
	return e.below[folder]
}

// folders returns the folders that patterns of package path select, without hidden ones (filterApps, and
// GetGitDirectories in reposerver/repository).
func (e *expansion) folders(patterns []pattern) []string {
	found := map[string]bool{}
	for _, p := range patterns {
		if p.Exclude {
			continue
		}
		for _, file := range e.candidates(p) {
			for folder := path.Dir(file); folder != "." && !found[folder]; folder = path.Dir(folder) {
				matches, err := path.Match(p.Path, folder)
				if err == nil && matches && !strings.Contains("/"+folder, "/.") {
					found[folder] = true
				}
			}
		}
	}
	for _, p := range patterns {
		maps.DeleteFunc(found, func(folder string, _ bool) bool {
			matches, err := path.Match(p.Path, folder)
			return p.Exclude && err == nil && matches
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// matching returns the files that patterns select, as git ls-files lists them (LsFiles in util/git/client.go).
func (e *expansion) matching(patterns []pattern) []string {
	found := map[string]bool{}
	for _, p := range patterns {
		if p.Exclude {
			continue
		}
		matches := pathspec(p.Path)
		for _, file := range e.candidates(p) {
			if matches(file) {
				found[file] = true
			}
		}
	}
	for _, p := range patterns {
		if p.Exclude {
			matches := pathspec(p.Path)
			maps.DeleteFunc(found, func(file string, _ bool) bool { return matches(file) })
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// pathspec matches a file with a pattern as git does (match_pathspec_item in dir.c, wildmatch.c): a folder stands
// for all files below it, and a wildcard for slashes as well. A broken pattern matches nothing.
func pathspec(pattern string) func(file string) bool {
	cleaned := path.Clean(pattern)
	if strings.HasSuffix(pattern, "/") {
		cleaned += "/"
	}
	expression, err := regexp.Compile("^(?s:" + wildcard.ReplaceAllStringFunc(cleaned, asExpression) + ")$")
	below := strings.TrimSuffix(cleaned, "/") + "/"
	return func(file string) bool {
		return cleaned == "." || file == cleaned || strings.HasPrefix(file, below) ||
			err == nil && expression.MatchString(file)
	}
}

// wildcard matches the parts of a pattern of git: a class of characters, and each other character.
var wildcard = regexp.MustCompile(`(?s)\[[!^]?\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*\]|\\.|.`)

// asExpression returns a part of a pattern of git as a regular expression.
func asExpression(part string) string {
	switch {
	case part == "*":
		return ".*"
	case part == "?":
		return "."
	case len(part) > 2 && part[0] == '[':
		if part[1] == '!' {
			part = "[^" + part[2:]
		}
		return part
	case len(part) > 1 && part[0] == '\\':
		part = part[1:]
	case part == "[":
		return "[" // not closed: no expression
	}
	return regexp.QuoteMeta(part)
}

// readFile returns the parameters in a file: one mapping, or a list of them.
func (e *expansion) readFile(name, prefix string, at *field.Path) (all []params, err error) {
	content, err := e.files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []map[string]any
	var one map[string]any
	if err := yaml.Unmarshal(content, &one); err == nil {
		list = append(list, one)
	} else if err := yaml.Unmarshal(content, &list); err != nil {
		return nil, field.Invalid(at, name, fmt.Sprintf("is neither a mapping of YAML nor a list of them: %v", err))
	}
	for _, values := range list {
		p := params{}
		if e.GoTemplate {
			maps.Copy(p, values)
		} else {
			for key, value := range flat(values) {
				p[key] = value
			}
		}
		all = append(all, e.withPath(p, path.Dir(name), path.Base(name), prefix))
	}
	return all, nil
}

// withPath adds the path of a folder to parameters, and a file in it if there is one.
func (e *expansion) withPath(p params, folder, file, prefix string) params {
	segments := strings.Split(folder, "/")
	at := map[string]any{"basename": path.Base(folder), "basenameNormalized": normalize(path.Base(folder))}
	if file != "" {
		at["filename"] = file
		at["filenameNormalized"] = normalize(file)
	}
	if e.GoTemplate {
		at["path"] = folder
		at["segments"] = segments
		if prefix == "" {
			p["path"] = at
		} else {
			p[prefix] = map[string]any{"path": at}
		}
		return p
	}
	name := strings.TrimPrefix(prefix+".path", ".")
	p[name] = folder
	for key, value := range at {
		p[name+"."+key] = value
	}
	for i, segment := range segments {
		p[name+"["+strconv.Itoa(i)+"]"] = segment
	}
	return p
}
