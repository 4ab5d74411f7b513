package setup

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// step is a step of the action for GitHub, or a job of GitLab.
type step struct {
	Name    string
	Run     string
	Extends string
	Before  []string `json:"before_script"`
	Script  []string
}

// scripts returns the scripts for a host: of the steps of the action by name, or of jobs.
func scripts(t *testing.T, ci string) map[string]string {
	t.Helper()
	found := map[string]string{}
	if ci == gitlab {
		_, content := ciFile(ci, "main", "")
		jobs := map[string]step{}
		if err := yaml.Unmarshal([]byte(content), &jobs); err != nil {
			t.Fatal(err)
		}
		for name, job := range jobs {
			found[name] = strings.Join(slices.Concat(jobs[job.Extends].Before, job.Before, job.Script), "\n")
		}
		return found
	}
	content, err := os.ReadFile("../../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct{ Runs struct{ Steps []step } }
	if err := yaml.Unmarshal(content, &action); err != nil {
		t.Fatal(err)
	}
	for _, s := range action.Runs.Steps {
		found[s.Name] = s.Run
	}
	return found
}

// runner is a machine whose programs record their calls, and answer from files.
type runner struct {
	t   *testing.T
	dir string
	env []string
	sum string // of the archive with render
	cwd string // the working folder of scripts
}

// programs are the programs that scripts call. Each records its arguments. curl and gh answer with the
// next of the files 1, 2, ... in the folder answers; the first line of each is the status. gh api user fails
// as for GITHUB_TOKEN and the token of an App, and only GraphQL names the account of each token: LOGIN.
var programs = map[string]string{
	"render": `echo "render $*" >> "$DIR/calls"
[ -z "$GH_TOKEN$GATEHOUSE_TOKEN$GATEHOUSE_PUSH_TOKEN" ] || echo "render has a token" >> "$DIR/calls"
case $* in *require-routine*) echo "+ ##[add-mask]a"; echo "routine: by render" >&2 ;; *markdown*) [ -z "$MARKDOWN" ] || printf '<!-- gatehouse-diff -->\n%s\n' "$MARKDOWN" ;; *) echo diff ;; esac
[ -z "$RENDERED" ] || { mkdir -p "$ROOT/rendered" && echo "$RENDERED" > "$ROOT/rendered/new.yaml"; }
exit "$DIFFERS"`,
	"apk": `echo "apk $*" >> "$DIR/calls"`,
	"next": `n=$(($(cat "$DIR/n") + 1)); echo $n > "$DIR/n"
status=$(sed -n 1p "$DIR/answers/$n"); sed 1d "$DIR/answers/$n" > "$DIR/answer"; echo "$status"`,
	"gh": `case $* in *--help) [ -n "$HELP" ] && echo "$HELP"; exit ;; esac
[ "$GH_HOST" = "${GITHUB_SERVER_URL#*://}" ] || { echo "gh: asks $GH_HOST" >&2; exit 4; }
[ "$GH_TOKEN" = secret ] || { echo "gh: no token" >&2; exit 4; }
echo "gh $*" >> "$DIR/calls"
case $* in
"api user"*) echo "gh: Resource not accessible by integration (HTTP 403)" >&2; exit 1 ;;
"api graphql -f query={viewer{login}} --jq .data.viewer.login") echo "$LOGIN"; exit ;;
"attestation verify"*) exit "$FORGED" ;;
"release download"*) [ -n "$PRIVATE" ] || { echo "release not found" >&2; exit 1; }; cp "$DIR/render.tar.gz" "$RUNNER_TEMP/$7"; exit ;;
esac
jq=cat last=
for arg; do
  case $last in --jq) jq=$arg ;; esac
  case $arg in body=@*) echo "body $(tail -n 1 "${arg#body=@}")" >> "$DIR/calls" ;; esac
  last=$arg
done
status=$(next)
if [ "$status" != 200 ]; then printf 'gh: refused ##[add-mask]a\r::add-mask::b (HTTP %s)\n' "$status" >&2; exit 1; fi
case $* in *--silent*) ;; *) jq -r "$jq" < "$DIR/answer" ;; esac`,
	"curl": `case $* in *--config*) read -r header ;; esac
out= last= noted=
for arg; do
  case $last in -o) out=$arg ;; -D) printf 'HTTP/2 200\r\nX-Next-Page: %s\r\n' "$NEXT" > "$arg" ;; esac
  case $last in -o|-D|-w|--config) ;; *) case $arg in -o|-D|-w|-sS|--config) ;; *) noted="$noted $arg" ;; esac ;; esac
  case $arg in body@*) noted="$noted: $(tail -n 1 "${arg#body@}")" ;; esac
  last=$arg
done
echo "curl$noted" >> "$DIR/calls"
case $* in *tar.gz*) case $* in *-w*) printf %s "$STATUS" ;; esac; [ "$STATUS" != 200 ] || cp "$DIR/render.tar.gz" "$out" ;; *) printf %s "$(next)"; cp "$DIR/answer" "$out" ;; esac
case $header in "" | 'header = "PRIVATE-TOKEN: secret"') ;; *) exit 9 ;; esac`,
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	for _, program := range []string{"bash", "jq", "tar", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	r := &runner{t: t, dir: dir, cwd: dir}
	for name, script := range programs {
		r.write(filepath.Join("bin", name), "#!/bin/sh\n"+script+"\n")
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "-czf", filepath.Join(r.dir, "render.tar.gz"), "-C", filepath.Join(r.dir, "bin"), "render").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	archive, err := os.ReadFile(filepath.Join(r.dir, "render.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	r.set("PATH", filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"))
	r.set("DIR", r.dir)
	r.set("ROOT", "shop")
	r.set("RENDER_URL", "https://example.com/render.tar.gz")
	r.sum = fmt.Sprintf("%x", sha256.Sum256(archive))
	r.set("RENDER_SHA256", r.sum)
	r.set("DIFFERS", "1")
	r.set("MARKDOWN", "1 changed")
	r.set("RUNNER_TEMP", r.dir)
	r.set("GITHUB_PATH", filepath.Join(r.dir, "path"))
	r.set("GITHUB_STEP_SUMMARY", filepath.Join(r.dir, "summary"))
	r.set("GITHUB_OUTPUT", filepath.Join(r.dir, "output"))
	r.set("GITHUB_REPOSITORY", "acme/shop")
	r.set("GITHUB_SERVER_URL", "https://github.com")
	r.set("LOGIN", "github-actions[bot]")
	r.set("STATUS", "200")
	r.set("HELP", "--cert-identity string")
	r.set("FORGED", "0")
	r.set("HEAD_REPOSITORY", "acme/shop")
	r.set("NUMBER", "7")
	r.set("BASE", "b45e")
	r.set("WORK", filepath.Join(r.dir, "work"))
	r.set("CI_API_V4_URL", "https://gitlab.example.com/api/v4")
	r.set("CI_MERGE_REQUEST_PROJECT_ID", "3")
	r.set("CI_MERGE_REQUEST_IID", "7")
	r.set("CI_JOB_URL", "https://gitlab.example.com/-/jobs/1")
	r.set("CI_MERGE_REQUEST_DIFF_BASE_SHA", "b45e")
	r.answer()
	return r
}

func (r *runner) set(name, value string) { r.env = append(r.env, name+"="+value) }

func (r *runner) write(name, content string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// answer sets the answers to calls, as "200 BODY".
func (r *runner) answer(answers ...string) {
	r.t.Helper()
	r.write("n", "0")
	for i, answer := range answers {
		status, body, _ := strings.Cut(answer, " ")
		r.write(fmt.Sprintf("answers/%d", i+1), status+"\n"+body+"\n")
	}
}

// run runs a script, with bash for GitHub and else with sh. It returns its calls, its output and its exit
// code.
func (r *runner) run(ci, script string) (calls, out string, code int) {
	r.t.Helper()
	r.write("calls", "")
	text, ok := scripts(r.t, ci)[script]
	if !ok {
		r.t.Fatalf("%s: no script %s", ci, script)
	}
	args, tokens := []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text}, []string{"GH_TOKEN=secret"}
	if ci == gitlab {
		args, tokens = []string{"sh", "-c", text}, []string{"GATEHOUSE_TOKEN=secret", "GATEHOUSE_PUSH_TOKEN=secret"}
	}
	cmd := exec.CommandContext(r.t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = r.cwd, slices.Concat(tokens, r.env)
	printed, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	noted, err := os.ReadFile(filepath.Join(r.dir, "calls"))
	if err != nil {
		r.t.Fatal(err)
	}
	checkInert(r.t, string(printed))
	return string(noted), string(printed), cmd.ProcessState.ExitCode()
}

// runnerCommand matches lines that a runner takes for a command.
var runnerCommand = regexp.MustCompile(`(?m)(?:^|\r)[ \t]*::[^:\n]+::|##\w*\[|\x1b`)

// checkInert checks that an output has no command, except those of the scripts.
func checkInert(t *testing.T, out string) {
	t.Helper()
	if found := runnerCommand.FindString(strings.ReplaceAll(out, " title=gatehouse::", " ")); found != "" {
		t.Errorf("the runner would obey %q of\n%s", found, out)
	}
}

func comment(id int, by, body string) string {
	encoded, _ := json.Marshal(map[string]any{"id": id, "body": body, "user": map[string]any{"login": by}, "author": map[string]any{"id": len(by)}})
	return string(encoded)
}

func TestGitLabInstallChecksTheChecksum(t *testing.T) {
	r := newRunner(t)
	if _, out, code := r.run(gitlab, ".gatehouse"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	r.set("RENDER_SHA256", strings.Repeat("0", 64))
	if _, out, code := r.run(gitlab, ".gatehouse"); code == 0 || !strings.Contains(out, "FAILED") {
		t.Errorf("another checksum: exit code %d: %s", code, out)
	}
	r.set("RENDER_URL", "")
	calls, out, code := r.run(gitlab, ".gatehouse")
	if code != 1 || calls != "" || !strings.Contains(out, "set RENDER_URL and RENDER_SHA256") {
		t.Errorf("no URL: exit code %d: %s%s", code, out, calls)
	}
}

// The action installs an archive that its release attests, or whose checksum is known.
func TestActionInstallsOnlyVerifiedArchives(t *testing.T) {
	architecture := map[string]string{"amd64": "amd64"}[runtime.GOARCH]
	archive := "render_v1.2.3_linux_" + cmp.Or(architecture, "arm64") + ".tar.gz"
	const (
		old    = "HELP="
		verify = "gh attestation verify DIR/ARCHIVE --repo acme/gatehouse --cert-identity https://github.com/acme/gatehouse/.github/workflows/release.yaml@refs/tags/v1.2.3\n"
		sums   = "curl -sSL --retry 3 https://github.com/acme/gatehouse/releases/download/v1.2.3/SHA256SUMS\n"
		api    = "gh release download v1.2.3 --repo github.com/acme/gatehouse --pattern ARCHIVE --dir DIR --clobber\n"
	)
	for name, test := range map[string]struct {
		set        []string
		sums       string
		calls, out string
		code       int
	}{
		"attested":                {calls: verify},
		"not attested":            {set: []string{"FORGED=1"}, calls: verify, out: "has no valid attestation of its build", code: 1},
		"with a checksum":         {set: []string{"SHA256=CHECKSUM"}},
		"with another checksum":   {set: []string{"SHA256=" + strings.Repeat("0", 64)}, code: 1},
		"old gh":                  {set: []string{old}, sums: "CHECKSUM  ARCHIVE", calls: sums},
		"on another server":       {set: []string{"GITHUB_SERVER_URL=https://git.example.com"}, sums: "CHECKSUM  ARCHIVE", calls: strings.Replace(sums, "github.com", "git.example.com", 1)},
		"old gh, another archive": {set: []string{old}, sums: strings.Repeat("0", 64) + "  ARCHIVE", calls: sums, code: 1},
		"old gh, another file":    {set: []string{old}, sums: "CHECKSUM  xARCHIVE", calls: sums, code: 1},
		"old gh, no file":         {set: []string{old}, calls: sums, code: 1},
		"private":                 {set: []string{"STATUS=404", "PRIVATE=1"}, calls: api + verify},
		"missing":                 {set: []string{"STATUS=404"}, calls: api, out: `GitHub answered 404 for ARCHIVE of version v1.2.3 of acme/gatehouse. A branch or a commit after @ is not a release: set version:`, code: 1},
		"an outage":               {set: []string{"STATUS=503"}, out: "GitHub answered 503", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t)
			fill := strings.NewReplacer("DIR", r.dir, "ARCHIVE", archive, "CHECKSUM", r.sum).Replace
			r.set("REPOSITORY", "acme/gatehouse")
			r.set("VERSION", "v1.2.3")
			r.set("RUN", "check")
			for _, variable := range test.set {
				r.env = append(r.env, fill(variable))
			}
			r.answer("200 " + fill(test.sums))
			calls, out, code := r.run(github, "Install render")
			_, calls, _ = strings.Cut(calls, archive+"\n") // after the download
			if want := fill(test.calls); calls != want || code != test.code || !strings.Contains(out, fill(test.out)) {
				t.Errorf("exit code %d, want %d: %s\n%s\nwant\n%s", code, test.code, out, calls, want)
			}
			path, _ := os.ReadFile(filepath.Join(r.dir, "path"))
			if isInPath := len(path) > 0; isInPath != (code == 0) {
				t.Errorf("is in PATH: %s", path)
			}
		})
	}
}

// A misspelled run would otherwise be green, and check nothing.
func TestActionRefusesOtherRuns(t *testing.T) {
	for _, run := range []string{"chek", "", "check update", "Check", "x\n::warning::y"} {
		r := newRunner(t)
		r.set("RUN", run)
		calls, out, code := r.run(github, "Install render")
		if code != 1 || calls != "" || !strings.HasPrefix(out, "::error title=gatehouse::run: ") || strings.Count(out, "\n") != 1 {
			t.Errorf("%q: exit code %d: %s%s", run, code, out, calls)
		}
	}
}

// Without the right to comment, the job writes to the summary.
func TestGitHubHasOneComment(t *testing.T) {
	const (
		diff   = "render diff --root shop --base b45e -o markdown\n"
		who    = "gh api graphql -f query={viewer{login}} --jq .data.viewer.login\n"
		find   = who + `gh api --paginate repos/acme/shop/issues/7/comments?per_page=100 --jq .[] | select(.user.login == "github-actions[bot]" and (.body | startswith("<!-- gatehouse-diff -->"))) | .id` + "\n"
		create = "gh api --method POST repos/acme/shop/issues/7/comments -F body=@%s/comment.md --silent\nbody 1 changed\n"
		update = "gh api --method PATCH repos/acme/shop/issues/comments/12 -F body=@%s/comment.md --silent\nbody 1 changed\n"
	)
	others := comment(10, "mallory", "<!-- gatehouse-diff -->\nnone") + "," + comment(11, "github-actions[bot]", "see <!-- gatehouse-diff -->")
	ours := comment(12, "github-actions[bot]", "<!-- gatehouse-diff -->\nbefore")
	theirs := comment(13, "acme-bot[bot]", "<!-- gatehouse-diff -->\nbefore")
	for name, test := range map[string]struct {
		set, answers []string
		calls, out   string
		code         int
	}{
		"the first":              {answers: []string{"200 [" + others + "]", "200 {}"}, calls: diff + find + create},
		"with a page":            {set: []string{"PAGE=https://github.com/acme/shop/actions/runs/1/artifacts/2"}, answers: []string{"200 [" + others + "]", "200 {}"}, calls: strings.Replace(diff, "markdown", "markdown --link https://github.com/acme/shop/actions/runs/1/artifacts/2", 1) + find + create},
		"the second":             {answers: []string{"200 [" + others + "," + ours + "]", "200 {}"}, calls: diff + find + update},
		"no difference, none":    {set: []string{"DIFFERS=0"}, answers: []string{"200 []"}, calls: diff + find},
		"no difference any more": {set: []string{"DIFFERS=0"}, answers: []string{"200 [" + ours + "]", "200 {}"}, calls: diff + find + update},
		"an App's token":         {set: []string{"LOGIN=acme-bot[bot]"}, answers: []string{"200 [" + ours + "," + theirs + "]", "200 {}"}, calls: diff + strings.Replace(find, "github-actions", "acme-bot", 1) + strings.Replace(update, "12", "13", 1)},
		"a person's token":       {set: []string{"LOGIN=ada"}, answers: []string{"200 [" + ours + "," + theirs + "]", "200 {}"}, calls: diff + strings.Replace(find, "github-actions[bot]", "ada", 1) + create},
		"a push":                 {set: []string{"NUMBER=", "HEAD_REPOSITORY="}, calls: diff, out: "::notice title=gatehouse::no comment, as this run is for no pull request"},
		"a fork":                 {set: []string{"HEAD_REPOSITORY=ada/shop"}, calls: diff, out: "::notice title=gatehouse::no comment, as a pull request from a fork has no token"},
		"a fork that is gone":    {set: []string{"HEAD_REPOSITORY="}, calls: diff, out: "::notice "},
		"a token without rights": {answers: []string{"200 []", "403 {}"}, calls: diff + find + create, out: "::warning title=gatehouse::no comment, as the token of this workflow may not"},
		"another refusal":        {answers: []string{"200 []", "500 {}"}, calls: diff + find + create, out: "(HTTP 500)", code: 1},
		"comments not readable":  {answers: []string{"404 {}"}, calls: diff + find, out: "(HTTP 404)", code: 1},
		"a failed rendering":     {set: []string{"DIFFERS=2"}, answers: []string{"200 [" + others + "]", "200 {}"}, calls: diff + find + create, code: 2},
		"a fork that does not":   {set: []string{"DIFFERS=2", "HEAD_REPOSITORY=ada/shop"}, calls: diff, out: "::notice ", code: 2},
		"no revision":            {set: []string{"DIFFERS=2", "MARKDOWN="}, calls: diff, code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t)
			r.env = append(r.env, test.set...)
			r.answer(test.answers...)
			calls, out, code := r.run(github, "Comment")
			if want := strings.ReplaceAll(test.calls, "%s", r.dir); calls != want || code != test.code || !strings.Contains(out, test.out) || test.out == "" && out != "" {
				t.Errorf("exit code %d, want %d: %s\n%s\nwant\n%s", code, test.code, out, calls, want)
			}
			summary, _ := os.ReadFile(filepath.Join(r.dir, "summary"))
			if got := strings.Contains(string(summary), "1 changed"); got != (name != "no revision") {
				t.Errorf("summary: %s", summary)
			}
		})
	}
}

// A change that cannot be judged has no output, so that nothing merges it.
func TestActionSaysWhatIsRoutine(t *testing.T) {
	for code, output := range map[int]string{0: "routine=true\n", 3: "routine=false\n", 2: ""} {
		r := newRunner(t)
		r.set("DIFFERS", strconv.Itoa(code))
		r.set("GH_TOKEN", "") // the step has none
		r.set("FETCH", "--fetch")
		calls, out, failed := r.run(github, "Routine")
		if calls != "render diff --root shop --base b45e --fetch --require-routine\n" || (failed != 0) != (output == "") ||
			out != "routine: by render\n" {
			t.Errorf("%d: exit code %d: %s%s", code, failed, calls, out)
		}
		if got, _ := os.ReadFile(filepath.Join(r.dir, "output")); string(got) != output {
			t.Errorf("%d: output %q", code, got)
		}
	}
}

// The name and the content of a pull request are never part of a script.
func TestScriptsHaveNoExpressions(t *testing.T) {
	for name, script := range scripts(t, github) {
		if strings.Contains(script, "${{") {
			t.Errorf("%s: an expression within a script", name)
		}
	}
	if strings.Contains(githubWorkflow, "pull_request_target") {
		t.Error("a pull request from a fork would run with a token that may write")
	}
	_, content := ciFile(gitlab, "main", "")
	for _, condition := range []string{"$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID", "$CI_MERGE_REQUEST_SOURCE_BRANCH_NAME != $CI_DEFAULT_BRANCH"} {
		if !strings.Contains(content, "  - if: $GATEHOUSE_PUSH_TOKEN && ") || !strings.Contains(content, " && "+condition) {
			t.Errorf("the update would run without %s", condition)
		}
	}
}

func TestGitLabFindsItsCommentOnAnyPage(t *testing.T) {
	const (
		diff   = "render diff --root shop --base b45e --fetch -o markdown --link https://gitlab.example.com/-/jobs/1/artifacts/file/gatehouse.html\n"
		page   = "render diff --root shop --base b45e --fetch -o html\n"
		diffs  = diff + "render diff --root shop --base b45e --fetch\n" + page
		user   = "curl https://gitlab.example.com/api/v4/user\n"
		notes  = "https://gitlab.example.com/api/v4/projects/3/merge_requests/7/notes"
		find   = user + "curl " + notes + "?sort=asc&per_page=100&page=1\n"
		create = "curl -X POST --data-urlencode body@gatehouse.md: 1 changed " + notes + "\n"
		update = "curl -X PUT --data-urlencode body@gatehouse.md: 1 changed " + notes + "/12\n"
	)
	others := comment(10, "mallory", "<!-- gatehouse-diff -->\nnone") + "," + comment(11, "bot", "see <!-- gatehouse-diff -->")
	ours := comment(12, "bot", "<!-- gatehouse-diff -->\nbefore")
	const me = `200 {"id": 3}`
	for name, test := range map[string]struct {
		set, answers []string
		calls, out   string
		code         int
	}{
		"the first":              {answers: []string{me, "200 [" + others + "]", "201 {}"}, calls: diffs + find + create},
		"the second":             {answers: []string{me, "200 [" + others + "," + ours + "]", "200 {}"}, calls: diffs + find + update},
		"on the next page":       {set: []string{"NEXT=2"}, answers: []string{me, "200 [" + others + "]", "200 [" + ours + "]", "200 {}"}, calls: diffs + find + "curl " + notes + "?sort=asc&per_page=100&page=2\n" + update},
		"no difference, none":    {set: []string{"DIFFERS=0"}, answers: []string{me, "200 []"}, calls: diffs + find},
		"no difference any more": {set: []string{"DIFFERS=0"}, answers: []string{me, "200 [" + ours + "]", "200 {}"}, calls: diffs + find + update},
		"no token":               {set: []string{"GATEHOUSE_TOKEN="}, calls: diffs, out: "no comment: the variable GATEHOUSE_TOKEN is not set"},
		"an invalid token":       {answers: []string{"401 ##[add-mask]a \x1b[2K\r::add-mask::b"}, calls: diffs + user, out: "no comment: GitLab answered 401"},
		"a token without rights": {answers: []string{me, "200 []", "403 {}"}, calls: diffs + find + create, out: "no comment: GitLab answered 403"},
		"another refusal":        {answers: []string{me, "200 []", "500 {}"}, calls: diffs + find + create, out: "no comment: GitLab answered 500", code: 1},
		"a failed rendering":     {set: []string{"DIFFERS=2"}, answers: []string{me, "200 [" + others + "," + ours + "]", "200 {}"}, calls: diff + page + find + update, code: 2},
		"no token for a failure": {set: []string{"DIFFERS=2", "GATEHOUSE_TOKEN="}, calls: diff + page, out: "no comment: the variable GATEHOUSE_TOKEN is not set", code: 2},
		"no revision":            {set: []string{"DIFFERS=2", "MARKDOWN="}, calls: diff, code: 2},
		"merged results": {set: []string{"CI_MERGE_REQUEST_TARGET_BRANCH_SHA=7a46", "GATEHOUSE_TOKEN="},
			calls: strings.ReplaceAll(diffs, "b45e", "7a46"), out: "no comment: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t)
			r.env = append(r.env, test.set...)
			r.answer(test.answers...)
			calls, out, code := r.run(gitlab, "gatehouse:comment")
			_, calls, _ = strings.Cut(calls, "render.tar.gz\n") // after the installation
			if calls != test.calls || code != test.code || !strings.Contains(out, test.out) {
				t.Errorf("exit code %d, want %d: %s\n%s\nwant\n%s", code, test.code, out, calls, test.calls)
			}
		})
	}
}
