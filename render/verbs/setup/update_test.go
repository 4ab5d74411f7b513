package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs git in a folder and returns its output.
func (r *runner) git(folder string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Dir, cmd.Env = folder, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// branch gives the runner a checkout of the branch topic of a repository on a server. It returns the
// repository and the head of the branch, which is an update by committer unless that is empty.
func (r *runner) branch(committer string) (server, head string) {
	r.t.Helper()
	server, r.cwd = filepath.Join(r.dir, "server/acme/shop"), filepath.Join(r.dir, "clone")
	r.set("HOME", r.dir)
	r.set("GIT_CONFIG_NOSYSTEM", "1")
	r.git(r.dir, "init", "--quiet", "--bare", server)
	r.git(r.dir, "-c", "init.defaultBranch=topic", "clone", "--quiet", "file://"+server, r.cwd)
	r.write("clone/shop/rendered/old.yaml", "old\n")
	r.git(r.cwd, "add", ".")
	r.git(r.cwd, "commit", "--quiet", "--message=Raise an image")
	if committer != "" {
		r.git(r.cwd, "-c", "user.email="+committer, "commit", "--quiet", "--allow-empty", "--message=Render\n\nGatehouse-Update: true")
	}
	r.git(r.cwd, "push", "--quiet", "origin", "HEAD:topic")
	head = r.git(r.cwd, "rev-parse", "HEAD")
	r.git(r.cwd, "commit", "--quiet", "--allow-empty", "--message=Merge of the pull request")
	return server, head
}

// bots are the committers of updates.
var bots = map[string]string{
	github: "41898282+github-actions[bot]@users.noreply.github.com",
	gitlab: "gatehouse@noreply.gitlab.example.com",
}

func TestUpdatePushesOneCommitIfFilesChange(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for ci, script := range map[string]string{github: "Update", gitlab: "gatehouse:update"} {
		for name, test := range map[string]struct {
			set             []string
			committer       string // of an update at the head
			isMoved, isShut bool
			commits         string // above the head
			out, github     string
			code            int
		}{
			"a change":               {set: []string{"RENDERED=new"}, commits: "1", out: "pushed an update", github: "::warning title=gatehouse::pushed an update with GITHUB_TOKEN, for which GitHub starts no workflow"},
			"an App's token":         {set: []string{"RENDERED=new", "LOGIN=acme[bot]"}, commits: "1", out: "pushed an update"},
			"no change":              {commits: "0", out: "rendered/ is up to date: nothing to push"},
			"no change by an update": {committer: bots[ci], commits: "0", out: "rendered/ is up to date: nothing to push"},
			"a loop":                 {set: []string{"RENDERED=new"}, committer: bots[ci], commits: "0", out: "no second update", code: 1},
			"an amended update":      {set: []string{"RENDERED=new"}, committer: "ada@example.com", commits: "1", out: "pushed an update"},
			"a branch that moves":    {set: []string{"RENDERED=new"}, isMoved: true, commits: "1", out: "no update, as the branch has moved"},
			"a token without rights": {set: []string{"RENDERED=new"}, isShut: true, commits: "0", out: "may not push to the branch", code: 1},
			"a failed rendering":     {set: []string{"RENDERED=new", "DIFFERS=2"}, commits: "0", code: 2},
			"a fork":                 {set: []string{"RENDERED=new", "HEAD_REPOSITORY=ada/shop"}, commits: "0", github: "::notice title=gatehouse::no update, as the branch of this pull request is in a fork"},
			"the default branch":     {set: []string{"RENDERED=new", "DEFAULT_BRANCH=topic"}, commits: "0", github: "::notice title=gatehouse::no update, as the branch of this pull request is the default branch"},
			"no pull request":        {set: []string{"RENDERED=new", "NUMBER="}, commits: "0", github: "::notice title=gatehouse::no update, as this run is for no pull request"},
		} {
			if ci == gitlab && test.out == "" && test.github != "" {
				continue // GitLab creates no job
			}
			t.Run(ci+"/"+name, func(t *testing.T) {
				r := newRunner(t)
				server, head := r.branch(test.committer)
				for variable, value := range map[string]string{
					"DIFFERS": "0", "GITHUB_SERVER_URL": "file://" + r.dir + "/server", "HEAD_BRANCH": "topic", "HEAD_COMMIT": head, "CI_SERVER_HOST": "gitlab.example.com",
					"CI_SERVER_URL": "file://" + r.dir + "/server", "CI_PROJECT_PATH": "acme/shop", "CI_COMMIT_SHA": "", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": head, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
				} {
					r.set(variable, value)
				}
				if ci == gitlab {
					if err := os.Symlink(server, server+".git"); err != nil {
						t.Fatal(err)
					}
				}
				r.env = append(r.env, test.set...)
				if test.isMoved {
					r.git(r.cwd, "push", "--quiet", "origin", r.git(r.cwd, "commit-tree", "-p", head, "-m", "Another", "HEAD^{tree}")+":topic")
				}
				if test.isShut {
					r.write("server/acme/shop/hooks/pre-receive", "#!/bin/sh\nexit 1\n")
				}
				_, out, code := r.run(ci, script)
				if code != test.code || !strings.Contains(out, test.out) || ci == github && !strings.Contains(out, test.github) {
					t.Errorf("exit code %d, want %d: %s", code, test.code, out)
				}
				if got := r.git(server, "rev-list", "--count", head+"..topic"); got != test.commits {
					t.Errorf("%s commits, want %s", got, test.commits)
				}
				if test.commits == "1" && !test.isMoved {
					if files := r.git(server, "diff", "--name-only", head, "topic"); files != "shop/rendered/new.yaml" {
						t.Errorf("the update changes %s", files)
					}
				}
			})
		}
	}
}
