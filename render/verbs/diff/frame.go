package diff

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
)

// FrameChange is a changed file that is no source file and no rendered file, and yet affects the review or
// the sync of rendered files: a workflow, an owner, a setting of git or of a GitOps tool.
type FrameChange struct {
	File   string `json:"file"` // from the top of the work tree, with slashes
	Action Action `json:"action"`
	Risk   string `json:"risk"`
}

type frame struct {
	prefix string // the folder of the repository, from the top of the work tree
	isAll  bool   // all environments are compared
	// rendered has the rendered files of each compared environment, nil if it does not render.
	rendered map[string]map[string]bool
}

func (f *frame) add(environment string, rendering *render.Rendering) {
	f.rendered[environment] = nil
	if rendering == nil {
		return
	}
	files := map[string]bool{tree.IndexFile: true}
	for _, file := range slices.Concat(rendering.Files, rendering.Beside) {
		files[file.Path] = true
	}
	f.rendered[environment] = files
}

// changes returns the changes of the frame, sorted by file.
func (f *frame) changes(files []git.FileChange) (changes []FrameChange) {
	for _, file := range files {
		if risk := f.riskOf(file); risk != "" {
			changes = append(changes, FrameChange{file.Path, actionOf(file), risk})
		}
	}
	slices.SortFunc(changes, func(a, b FrameChange) int { return cmp.Compare(a.File, b.File) })
	return changes
}

func actionOf(file git.FileChange) Action {
	switch {
	case file.Before == nil:
		return Added
	case file.After == nil:
		return Removed
	}
	return Changed
}

// The files of the frame beside rendered/, from the top of the work tree. Hosts differ in case.
var (
	owners = regexp.MustCompile(`(?i)^(\.(github|gitlab|gitea|forgejo)/|docs/)?CODEOWNERS$`)
	checks = regexp.MustCompile(`(?i)^\.((github|gitea|forgejo)/(workflows|actions)|gitlab|circleci|buildkite|woodpecker|tekton)(/|$)|^\.github$` +
		`|(^|/)(action|\.gitlab-ci|[^/]*\.gitlab-ci|\.pre-commit-(config|hooks)|\.(woodpecker|drone|travis)|(azure|bitbucket)-pipelines)\.ya?ml$|(^|/)Jenkinsfile[^/]*$`)
	argoCD = regexp.MustCompile(`(?i)(^|/)\.argocd-(source|allow)[^/]*$`)
)

// riskOf returns the risk of a change of a file, empty if the file is not of the frame.
func (f *frame) riskOf(file git.FileChange) string {
	rendered := path.Join(f.prefix, tree.Folder) + "/"
	within, isRendered := strings.CutPrefix(file.Path, rendered)
	isAbove := path.Dir(file.Path) == "." || strings.HasPrefix(rendered, path.Dir(file.Path)+"/")
	switch base := strings.ToLower(path.Base(file.Path)); {
	case isRendered && (file.After == nil || !f.isOrphan(within, file.After.IsRegular())):
		return ""
	case isRendered:
		return "render did not write it: render --check refuses it, and a tool may read or apply it"
	case owners.MatchString(file.Path):
		return "it decides who must approve changes"
	case argoCD.MatchString(file.Path):
		return "Argo CD may sync objects that differ from rendered files"
	case isAbove && base == ".sourceignore":
		return "Flux leaves out files that match it, and prunes their objects"
	case isAbove && base == ".gitattributes":
		return "it decides how git checks out rendered files, and whether hosts show their diffs"
	case strings.HasPrefix(file.Path, path.Join(f.prefix, tree.EnvironmentsFolder)+"/"):
		return "" // source files have any name
	case checks.MatchString(file.Path):
		return "this check may not be the one that was agreed on"
	}
	return ""
}

// isOrphan reports whether no compared environment has a file below rendered/.
func (f *frame) isOrphan(within string, isRegular bool) bool {
	environment, name, isBelow := strings.Cut(within, "/")
	files, isCompared := f.rendered[environment]
	switch {
	case !isBelow || !isCompared:
		return f.isAll && tree.IsOrphan(within, isRegular)
	case files == nil || files[name] && isRegular:
		return false
	}
	return tree.IsOrphan(name, isRegular)
}
