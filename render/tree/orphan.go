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

// An orphan is a file below rendered/ that no index lists: a tool that syncs the index misses it, and a
// tool that syncs the whole folder applies it. Render keeps and reports orphans.

// harmless matches common names of files that no tool reads: documentation, owners, backups, rejects,
// files of editors and of systems, .gitkeep, and the temporary files of killed runs.
var harmless = regexp.MustCompile(
	`(?i)^(readme|license|owners|codeowners|thumbs\.db|desktop\.ini|\.ds_store|\.gitkeep|\..*\.swp)$|` +
		`^[^.].*(\.(md|orig|rej|bak|swp)|~)$|^#.*#$`)

// IsOrphan reports whether a file below rendered/ is an orphan unless the index lists it. Only regular
// files can be harmless. Hidden files and all files in hidden folders are orphans: tools read settings
// there, and apply hidden manifests.
func IsOrphan(name string, isRegular bool) bool {
	base := path.Base(name)
	return !isRegular || strings.Contains(path.Dir("/"+name), "/.") ||
		!harmless.MatchString(base) && !temporary.MatchString(base)
}

// Orphans returns a warning for each orphan in the folder of the environment.
func (p *Plan) Orphans() (problems []manifest.Problem) {
	kept := map[string]bool{IndexFile: true}
	for _, file := range p.files {
		kept[file.name] = true
	}
	environment := path.Base(p.folder.path)
	message := fmt.Sprintf("render did not write it, and %s does not list it: remove it, or move it to "+
		"environments/%s to have it rendered", p.folder.full(IndexFile), environment)
	if p.index.after == nil {
		message = fmt.Sprintf("render did not write it, and there is no environment %s: remove it, or move it to an "+
			"environment to have it rendered", environment)
	}
	var names []string
	for name, e := range p.folder.entries {
		if !kept[name] && IsOrphan(name, e.isRegular) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		problems = append(problems, manifest.Problem{Code: manifest.OtherFile,
			File: p.folder.full(name), Message: message, Warning: true})
	}
	return problems
}

// Orphans returns a warning for each file and folder in rendered/ that belongs to no environment.
func Orphans(root *os.Root, environments []string) (problems []manifest.Problem) {
	isOrphan := func(e entry) bool { return IsOrphan(e.path, e.isRegular) }
	entries, _ := fs.ReadDir(root.FS(), Folder)
	for _, entry := range entries {
		name := path.Join(Folder, entry.Name())
		if slices.Contains(environments, entry.Name()) || !slices.ContainsFunc(scanPath(root.FS(), name), isOrphan) {
			continue
		}
		message := "a file of no environment: remove it, or move it to environments/ to have it rendered"
		if entry.IsDir() {
			message = "a folder of no environment: remove it, or move its files to environments/ to have them rendered"
		}
		problems = append(problems, manifest.Problem{Code: manifest.OtherFile,
			File: name, Message: message, Warning: true})
	}
	return problems
}
