package tree

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// An orphan is a file below rendered/ that no index lists: a tool that syncs the index misses
// it, and one that syncs the whole folder applies it. Render leaves it, as it is somebody else's,
// and reports it.

// manifestName matches the names of files that a tool applies that is given a folder, except
// those that Emacs and macOS put beside others.
var manifestName = regexp.MustCompile(`(?i)^([^.]|\.[^#_]).*\.(ya?ml|json)$`)

// harmless matches the names of files that no tool applies and that people, git and editors put
// anywhere: hidden files, owners, documentation, backups and rejects.
var harmless = regexp.MustCompile(`(?i)^\.|^(readme|owners|codeowners|thumbs\.db|desktop\.ini)$|\.(md|orig|rej|bak|swp)$|~$|^#.*#$`)

// isOrphan reports whether a file that no index lists matters.
func isOrphan(base string) bool {
	return manifestName.MatchString(base) || !harmless.MatchString(base)
}

// IsOrphan reports whether a file in the folder of an environment matters that the index does
// not list. Files in hidden folders do not.
func IsOrphan(name string) bool {
	return !strings.Contains(path.Dir("/"+name), "/.") && isOrphan(path.Base(name))
}

// Orphans returns a warning for each file in the folder of the environment that is not rendered
// and that the plan leaves.
func (p *Plan) Orphans() (problems []manifest.Problem) {
	kept := map[string]bool{IndexFile: true}
	for _, file := range p.files {
		kept[file.name] = true
	}
	environment := path.Base(p.folder.path)
	message := fmt.Sprintf("render did not write it, and %s does not list it: remove it, or move it to environments/%s to have it rendered", p.folder.full(IndexFile), environment)
	if p.index.after == nil {
		message = fmt.Sprintf("render did not write it, and there is no environment %s: remove it, or move it to an environment to have it rendered", environment)
	}
	var names []string
	for name, f := range p.folder.found {
		if f.isOrphan && !kept[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		problems = append(problems, manifest.Problem{File: p.folder.full(name), Message: message, Warning: true})
	}
	return problems
}

// Orphans returns a warning for each file and folder in rendered/ of no environment.
func Orphans(root *os.Root, environments []string) (problems []manifest.Problem) {
	isOrphan := func(f found) bool { return f.isOrphan }
	entries, _ := fs.ReadDir(root.FS(), Folder)
	for _, entry := range entries {
		name := path.Join(Folder, entry.Name())
		if slices.Contains(environments, entry.Name()) || !slices.ContainsFunc(find(root.FS(), name), isOrphan) {
			continue
		}
		what, it := "a file", "it"
		if entry.IsDir() {
			what, it = "a folder", "what is in it"
		}
		message := fmt.Sprintf("%s of no environment: remove it, or move %s to environments/ to have it rendered", what, it)
		problems = append(problems, manifest.Problem{File: name, Message: message, Warning: true})
	}
	return problems
}
