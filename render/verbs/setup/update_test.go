package setup

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	if err := os.Symlink(server, server+".git"); err != nil { // for GitLab
		r.t.Fatal(err)
	}
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

// pullRequest is a pull request with a head on a server.
func (r *runner) pullRequest(url, head string) {
	for variable, value := range map[string]string{
		"DIFFERS": "0", "GITHUB_SERVER_URL": url, "HEAD_BRANCH": "topic", "HEAD_COMMIT": head, "CI_SERVER_HOST": "gitlab.example.com",
		"CI_SERVER_URL": url, "CI_PROJECT_PATH": "acme/shop", "CI_COMMIT_SHA": "", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": head, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
	} {
		r.set(variable, value)
	}
}

// updates are the scripts that update a branch.
var updates = map[string]string{github: "Update", gitlab: "gatehouse:update"}

// bots are the committers of updates.
var bots = map[string]string{
	github: "41898282+github-actions[bot]@users.noreply.github.com",
	gitlab: "gatehouse@noreply.gitlab.example.com",
}

func TestUpdatePushesOneCommitIfFilesChange(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for ci, script := range updates {
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
				r.pullRequest("file://"+r.dir+"/server", head)
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

// A configured hook or file system monitor may be a file of the branch. Filters run, because they may encrypt. That of
// git-lfs does not: nobody would push the content of its pointers.
func TestUpdateGivesNoProgramItsToken(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for ci, script := range updates {
		t.Run(ci, func(t *testing.T) {
			r := newRunner(t)
			server, head := r.branch("")
			r.pullRequest("file://"+r.dir+"/server", head)
			r.set("RENDERED", "new")
			r.write("mark", "#!/bin/sh\necho \"$1 $GH_TOKEN$GATEHOUSE_PUSH_TOKEN\" >> '"+r.dir+"/marked'\nexec cat\n")
			for _, hook := range []string{"pre-commit", "prepare-commit-msg", "post-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-push"} {
				r.write("clone/hooks/"+hook, "#!/bin/sh\nexec '"+r.dir+"/mark' "+hook+" < /dev/null\n")
			}
			r.write("clone/.git/info/attributes", "* filter=x\n*/rendered/new.yaml filter=lfs\n")
			for key, value := range map[string]string{
				"core.hooksPath": "hooks", "core.fsmonitor": r.dir + "/mark monitor", "filter.lfs.clean": "echo pointer; : ", "filter.x.clean": r.dir + "/mark filter", "filter.x.smudge": r.dir + "/mark filter",
			} {
				r.git(r.cwd, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "config", key, value)
			}
			r.write("clone/shop/rendered/other.yaml", "other\n")
			if _, out, code := r.run(ci, script); code != 0 || !strings.Contains(out, "pushed an update") {
				t.Fatalf("exit code %d: %s", code, out)
			}
			marked, _ := os.ReadFile(filepath.Join(r.dir, "marked"))
			if got := strings.ReplaceAll(string(marked), "filter \n", ""); got != "" || len(marked) == 0 {
				t.Errorf("ran %s", marked)
			}
			if got := r.git(server, "show", "topic:shop/rendered/new.yaml"); got != "new" {
				t.Errorf("pushed %s", got)
			}
		})
	}
}

// Neither the server nor a file of the branch may send the token to another server.
func TestUpdateGivesItsTokenToItsServerAlone(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	const lfs = "git-lfs"
	for ci, script := range updates {
		for name, isPushed := range map[string]bool{"its server": true, "a redirect": false, "a submodule": true, lfs: true} {
			t.Run(ci+"/"+name, func(t *testing.T) {
				if _, err := exec.LookPath(lfs); err != nil && name == lfs {
					t.Skip(err)
				}
				var asked []string
				foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
					user, password, isSent := q.BasicAuth()
					asked = append(asked, strings.TrimSpace(q.URL.Path+" "+user+" "+password))
					w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
					w.WriteHeader(map[bool]int{false: http.StatusUnauthorized, true: http.StatusNotFound}[isSent])
				}))
				defer foreign.Close()
				r := newRunner(t)
				repository, _ := r.branch("")
				head := r.hostile(name, foreign.URL)
				own := httptest.NewServer(serve(r, name == "a redirect", foreign.URL))
				defer own.Close()
				r.pullRequest(own.URL+"/git", head)
				r.set("RENDERED", "new")
				_, out, code := r.run(ci, script)
				if isPushed != (code == 0) || isPushed != (r.git(repository, "rev-list", "--count", head+"..topic") == "1") {
					t.Errorf("exit code %d: %s", code, out)
				}
				if isPushed && r.git(repository, "show", "topic:shop/rendered/new.yaml") != "new" {
					t.Error("pushed no content")
				}
				if name == "a redirect" { // which git follows
					asked = slices.DeleteFunc(asked, func(request string) bool { return strings.HasSuffix(request, "/info/refs") })
				}
				if len(asked) > 0 {
					t.Errorf("the other server gets %q", asked)
				}
			})
		}
	}
}

// hostile pushes a commit to the branch topic which names another server, and returns it.
func (r *runner) hostile(name, url string) (head string) {
	r.git(r.cwd, "checkout", "--quiet", "--detach", "HEAD^")
	switch name {
	case "git-lfs":
		r.git(r.cwd, "lfs", "install", "--local")
		r.write("clone/.lfsconfig", "[lfs]\n\turl = "+url+"\n\tlocksverify = true\n")
		r.write("clone/.gitattributes", "shop/** filter=lfs\n")
		r.write("clone/shop/environments/large", "large\n")
	case "a submodule":
		r.git(r.cwd, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "x", "--branch", "topic", "file://"+filepath.Join(r.dir, "server/acme/shop"), "sub")
		r.git(r.cwd, "config", "--file=.gitmodules", "submodule.x.fetchRecurseSubmodules", "true")
		r.git(filepath.Join(r.cwd, "sub"), "remote", "set-url", "origin", url)
	}
	r.git(r.cwd, "add", ".")
	r.git(r.cwd, "commit", "--quiet", "--allow-empty", "--message=Another server")
	r.git(r.cwd, "push", "--quiet", "--no-verify", "origin", "HEAD:topic")
	return r.git(r.cwd, "rev-parse", "HEAD")
}

// serve serves the repositories of a runner by HTTP below /git, to the users of the tokens alone. It may redirect to
// another server.
func serve(r *runner, isMoved bool, to string) http.Handler {
	repositories := &cgi.Handler{
		Path: filepath.Join(r.git(r.dir, "--exec-path"), "git-http-backend"), Root: "/git", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + r.dir + "/server", "GIT_HTTP_EXPORT_ALL=1", "HOME=" + r.dir, "REMOTE_USER=ada"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		user, password, _ := q.BasicAuth()
		switch {
		case isMoved:
			http.Redirect(w, q, to+strings.TrimPrefix(q.URL.String(), "/git"), http.StatusFound)
		case (user != "x-access-token" && user != "gatehouse") || password != "secret":
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			repositories.ServeHTTP(w, q)
		}
	})
}

// Errors of git quote the server and names of files.
func TestUpdatePrintsNoCommandOfOthers(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for ci, script := range updates {
		for name, quoted := range map[string]string{"the server": "remote: a", "a file": "shop/rendered/a \\x23\\x23[add-mask]b"} {
			r := newRunner(t)
			_, head := r.branch("")
			r.pullRequest("file://"+r.dir+"/server", head)
			r.set("RENDERED", "new")
			if name == "a file" {
				r.git(r.cwd, "config", "core.safecrlf", "true")
				r.write("clone/.git/info/attributes", "a* text eol=crlf\n")
				r.write("clone/shop/rendered/a ##[add-mask]b", "a\n")
			} else {
				r.write("server/acme/shop/hooks/pre-receive", "#!/bin/sh\nprintf 'a ##[add-mask]b\\r::add-mask::c\\n##vso[task.complete]d\\n' >&2\nexit 1\n")
			}
			if _, out, code := r.run(ci, script); code == 0 || !strings.Contains(out, quoted) { // run checks the output
				t.Errorf("%s, %s: exit code %d: %s", ci, name, code, out)
			}
		}
	}
}
