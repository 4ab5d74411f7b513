package diff

import (
	"regexp"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/git"
)

// A reader is a tool, a host or a check that reads files of some names. The first reader of a name counts. A file
// without a reader has a line, too: readers only choose its words and its rank.
type reader struct {
	names *regexp.Regexp // of paths from the top of the work tree
	risk  kind.Sentence
	// isCaller reports whether the files name others, to read or to run them.
	isCaller bool
	// isBeside limits the risk to files that no environment reads. Manifests among them have the risk of manifests.
	isBeside bool
}

// Risks of files with unknown readers.
const (
	mayRun = "a check, a hook or a person may run it"
	untold = "an environment with errors reads it: nobody knows its effect"
	partly = "a part of an environment reads it, and its objects are not all known: nobody knows its whole effect"
	// remarked: a change of such a comment changes no object.
	remarked = "its comments name another policy for an image: Flux commits later images by it, and nobody reviews them"
	maySync  = "no environment reads it, and a tool may sync its folder"
	// maySyncBefore and maySyncAfter are of a file that an environment reads on the other side of the change.
	maySyncBefore = "no environment read it before the change, and a tool may have synced its folder"
	maySyncAfter  = "no environment reads it any more, and a tool may sync its folder"
)

// readers are in the order of a review.
var readers = []reader{
	{
		names: anyOf(`^(\.(github|gitlab|gitea|forgejo)/|docs/)?CODEOWNERS$`, `(^|/)OWNERS(_ALIASES)?$`),
		risk:  "it decides who must approve changes",
	},
	{
		names: anyOf(`^\.github/(settings|branch-protection|rulesets?|auto[-_]?merge)[^/]*$`,
			`(^|/)\.?mergify(/|\.ya?ml$)`,
			`(^|/)\.?(renovate(rc)?|dependabot)(\.[a-z0-9]+)?$`,
			`(^|/)(\.(kodiak|bulldozer|policy|pullapprove|prow|asf)|bors)\.(ya?ml|toml)$`),
		risk: "it decides which changes merge, and with whose approval",
	},
	{
		names: anyOf(`^\.(github|gitea|forgejo)/(workflows|actions)(/|$)`, `^\.github$`,
			`^\.(gitlab|circleci|buildkite|woodpecker|tekton)(/|$)`, `(^|/)\.(husky|githooks)/`,
			`(^|/)(action|[^/]*\.gitlab-ci|\.pre-commit-(config|hooks)|\.(woodpecker|drone|travis|cirrus))\.ya?ml$`,
			`(^|/)(appveyor|cloudbuild|buildspec|(azure|bitbucket)-pipelines[^/]*)\.ya?ml$`,
			`(^|/)\.?lefthook[^/]*$`, `(^|/)Jenkinsfile[^/]*$`),
		risk:     "this check may not be the one that was agreed on",
		isCaller: true,
	},
	{names: anyOf(`(^|/)\.argocd-source[^/]*$`), isBeside: true,
		risk: "Argo CD may sync objects that differ from rendered files"},
	{names: anyOf(`(^|/)\.argocd-allow[^/]*$`), risk: "Argo CD may sync objects that differ from rendered files"},
	{names: anyOf(`(^|/)\.sourceignore$`), risk: "Flux leaves out files that match it, and prunes their objects"},
	{
		names:    anyOf(`(^|/)(kustomization(\.ya?ml)?|Kptfile|(Chart|fleet)\.ya?ml)$`),
		risk:     maySync,
		isBeside: true,
	},
	{
		names: anyOf(`(^|/)\.gitattributes$`),
		risk:  "it decides how git checks out rendered files, and whether hosts show their diffs",
	},
	{names: anyOf(`(^|/)\.(gitmodules|lfsconfig)$`), risk: "it decides from where git takes files"},
	{names: anyOf(`(^|/)\.sops\.ya?ml$`), risk: "it decides who can decrypt Secrets"},
	{names: anyOf(`(^|/)charts\.lock$`), risk: "it decides which archives of charts are accepted"},
	{
		names: anyOf(`(^|/)\.tool-versions$`, `(^|/)\.?mise[^/]*\.toml$`, `(^|/)aqua[^/]*\.ya?ml$`, `(^|/)\.envrc$`,
			`(^|/)devbox\.(json|lock)$`, `(^|/)flake\.lock$`, `\.nix$`, `(^|/)\.[a-z]+-version$`, `(^|/)\.nvmrc$`),
		risk: "it decides which programs a check runs",
	},
	{
		names: anyOf(`(^|/)(GNU)?Makefile[^/]*$`, `(^|/)\.?justfile$`, `\.(mk|just)$`,
			`(^|/)(Taskfile|Magefile|Rakefile|Earthfile|Tiltfile|noxfile|tox)(\.[^/]*)?$`),
		risk:     mayRun,
		isCaller: true,
	},
	{names: anyOf(`\.(sh|bash|zsh|ksh|fish|ps1|bat|cmd)$`), risk: mayRun},
	{names: anyOf(`(^|/)(hack|scripts?|ci|tools)/`), risk: mayRun, isBeside: true},
	{names: anyOf(`(^|/)\.[^/]`), risk: "a tool or a check may take its settings from it", isBeside: true},
}

// anyOf matches a path by one of some patterns. Hosts differ in the case of names.
func anyOf(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(patterns, "|"))
}

// prose matches files for people, and lists of files that git leaves out. No tool syncs, runs or heeds them.
var prose = anyOf(`\.(md|mdx|markdown|rst|adoc|png|jpe?g|gif|svg|webp|ico|pdf|drawio)$`,
	`(^|/)(licen[cs]e|notice|authors|readme|changelog|\.git(keep|ignore)|\.editorconfig)$`,
	`^\.(github|gitlab)/(issue|merge_request)_templates?/`)

// program matches source files of programs, which act by a build of their own.
var program = anyOf(`\.(go|py|rb|[cm]?jsx?|tsx?|vue|svelte|java|kts?|scala|rs|[ch]|cc|[ch]pp|cs|fs|php|swift)$`,
	`\.(exs?|erl|lua|sql|proto|s?css|less|html?)$`)

// isOrdinary reports whether a file is documentation, or the source of a program.
func isOrdinary(path string) bool { return prose.MatchString(path) || program.MatchString(path) }

// The modes of git.
const (
	modeSubmodule  = "160000"
	modeLink       = "120000"
	modeExecutable = "100755"
)

func hasMode(file *git.File, mode string) bool { return file != nil && file.Mode == mode }

// isRepository reports whether a change is of a submodule or of an untracked repository.
func isRepository(file git.FileChange) bool {
	return hasMode(file.Before, modeSubmodule) || hasMode(file.After, modeSubmodule) ||
		strings.HasSuffix(file.Path, "/")
}

// The ranks of files without a reader; others have the index of their reader.
const (
	rankSettings = iota - 4
	rankRendered
	rankRepository
	rankManifest
)

var (
	rankMode  = len(readers)
	rankOther = rankMode + 1
)

// judgeName returns the risk and the rank of a change by the name and the mode of the file.
func judgeName(file git.FileChange) (kind.Sentence, int) {
	if isRepository(file) {
		return "it is a repository of its own, and its files are not shown here", rankRepository
	}
	if i := readerOf(file.Path); i >= 0 {
		return readers[i].risk, i
	}
	switch {
	case hasMode(file.After, modeLink):
		return "it is a link: a tool reads the file where it leads", rankMode
	case hasMode(file.Before, modeExecutable), hasMode(file.After, modeExecutable):
		return mayRun, rankMode
	}
	return "", rankOther
}

// isBeside reports whether only files that no environment reads have the risk of their path.
func isBeside(path string) bool {
	i := readerOf(path)
	return i < 0 || readers[i].isBeside
}

// readerOf returns the index of the reader of a path, or -1.
func readerOf(path string) int {
	if prose.MatchString(path) {
		return -1
	}
	for i, r := range readers {
		if r.names.MatchString(path) {
			return i
		}
	}
	return -1
}

// word matches the name of a file in the text of a caller.
var word = regexp.MustCompile(`[A-Za-z0-9._/-]+`)

// addCalled adds the paths in the text of a caller to called: each as it is, and without its first folders, which may
// stand for the top of the work tree.
func addCalled(called map[string]string, caller, text string) {
	for _, name := range word.FindAllString(text, -1) {
		name = strings.TrimLeft(name, "./")
		for {
			if called[name] == "" {
				called[name] = caller
			}
			_, below, _ := strings.Cut(name, "/")
			if !strings.Contains(below, "/") {
				break
			}
			name = below
		}
	}
}
