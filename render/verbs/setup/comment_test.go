package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// host is a server with the comments of one pull request, as a host's API has them.
type host struct {
	prefix, comments, one string // paths; one ends in the number of a comment
	user                  string // the path of the account of the token
	account               string // its answer
	authorization         string
	method                string // of an update
	list                  func(comments []written, page string, url string) any
	text                  func(body map[string]any) any // of a request
	marker                string
}

type written struct {
	id     int
	author string
	text   string
}

var hosts = map[string]host{
	"forgejo": {prefix: "/api/v1/repos/acme/shop", comments: "/issues/7/comments", one: "/issues/comments/", user: "/api/v1/user",
		account: `{"id": 1}`, authorization: "token secret", method: http.MethodPatch, marker: "<!-- gatehouse-diff -->",
		list: func(comments []written, _, _ string) any {
			all := []any{}
			for _, c := range comments {
				all = append(all, map[string]any{"id": c.id, "body": c.text, "user": map[string]any{"id": len(c.author) - 1}})
			}
			return all
		},
		text: func(body map[string]any) any { return body["body"] }},
	"bitbucket": {prefix: "/2.0/repositories/acme/shop", comments: "/pullrequests/7/comments", one: "/pullrequests/7/comments/", user: "/2.0/user",
		account: `{"uuid": "{me}"}`, authorization: "Bearer secret", method: http.MethodPut, marker: "[//]: # (gatehouse-diff)",
		list: func(comments []written, page, url string) any { // a comment a page
			i := len(page) // "" or "1" or "11"
			answer := map[string]any{"values": []any{}}
			if i < len(comments) {
				c := comments[i]
				answer["values"] = []any{map[string]any{"id": c.id, "content": map[string]any{"raw": c.text}, "user": map[string]any{"uuid": "{" + c.author + "}"}}}
				answer["next"] = url + "?page=" + strings.Repeat("1", i+1)
			}
			return answer
		},
		text: func(body map[string]any) any { return body["content"].(map[string]any)["raw"] }},
	"azure": {prefix: "/acme/shop/_apis/git/repositories/r", comments: "/pullRequests/7/threads", one: "/pullRequests/7/threads/", user: "/acme/_apis/connectionData",
		account: `{"authenticatedUser": {"id": "me"}}`, authorization: "Bearer secret", method: http.MethodPatch, marker: "<!-- gatehouse-diff -->",
		list: func(comments []written, _, _ string) any {
			all := []any{map[string]any{"id": 99, "comments": []any{map[string]any{"id": 1, "author": map[string]any{"id": "me"}}}}} // of the system, without content
			for _, c := range comments {
				all = append(all, map[string]any{"id": c.id, "comments": []any{map[string]any{"id": 1, "content": c.text, "author": map[string]any{"id": c.author}}}})
			}
			return map[string]any{"value": all}
		},
		text: func(body map[string]any) any {
			if comments, isThread := body["comments"].([]any); isThread {
				return comments[0].(map[string]any)["content"]
			}
			return body["content"]
		}},
}

// The script writes one comment on each host, and changes it later; it never takes that of another account.
func TestCommentIsWrittenOnceAndUpdated(t *testing.T) {
	for _, program := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	script, err := filepath.Abs("ci/comment.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range hosts {
		t.Run(name, func(t *testing.T) {
			comments := []written{{3, "you", h.marker + "\nof somebody else"}, {4, "me", "another subject"}}
			status := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path := strings.TrimPrefix(r.URL.Path, h.prefix)
				content, _ := io.ReadAll(r.Body)
				var body map[string]any
				_ = json.Unmarshal(content, &body)
				id := strings.TrimSuffix(strings.TrimPrefix(path, h.one), "/comments/1")
				find := func(c written) bool { return fmt.Sprint(c.id) == id }
				switch {
				case r.Header.Get("Authorization") != h.authorization:
					w.WriteHeader(http.StatusUnauthorized)
				case r.URL.Path == h.user:
					_, _ = io.WriteString(w, h.account)
				case r.Method == http.MethodGet && path == h.comments:
					_ = json.NewEncoder(w).Encode(h.list(comments, r.URL.Query().Get("page"), "http://"+r.Host+r.URL.Path))
				case status != 0:
					w.WriteHeader(status)
					_, _ = io.WriteString(w, "{##vso[task.complete]a \r::add-mask::b}")
				case r.Method == http.MethodPost && path == h.comments:
					comments = append(comments, written{5, "me", h.text(body).(string)})
					w.WriteHeader(http.StatusCreated)
				case r.Method == h.method && slices.ContainsFunc(comments, find):
					comments[slices.IndexFunc(comments, find)].text = h.text(body).(string)
				default:
					t.Errorf("unexpected %s %s", r.Method, r.URL)
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			dir := t.TempDir()
			render := "#!/bin/sh\n[ -z \"$TOKEN\" ] || exit 9\nprintf '%s\\n' '<!-- gatehouse-diff -->' \"$MARKDOWN\"\nexit $DIFFERS\n"
			if err := os.WriteFile(filepath.Join(dir, "render"), []byte(render), 0o755); err != nil {
				t.Fatal(err)
			}
			run := func(markdown string, differs, want int, token string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "sh", script, name, "origin/main")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TOKEN="+token, "API="+server.URL+h.prefix,
					"NUMBER=7", "MARKDOWN="+markdown, fmt.Sprintf("DIFFERS=%d", differs), "NO_PROXY=*")
				out, err := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != want {
					t.Errorf("%s: exit code %d, want %d: %v %s", markdown, code, want, err, out)
				}
				checkInert(t, string(out))
				return string(out)
			}
			check := func(want ...string) {
				t.Helper()
				var got []string
				for _, c := range comments[2:] {
					got = append(got, strings.TrimSpace(strings.TrimPrefix(c.text, h.marker)))
				}
				if !slices.Equal(got, want) || !strings.Contains(comments[0].text, "of somebody else") || comments[1].text != "another subject" {
					t.Errorf("comments %v, want %q", comments, want)
				}
			}
			run("nothing", 0, 0, "secret")
			check()
			run("first", 1, 0, "secret")
			check("first")
			run("does not render", 2, 2, "secret")
			check("does not render")
			run("nothing differs", 0, 0, "secret")
			check("nothing differs")
			status = http.StatusForbidden
			if out := run("second", 1, 0, "secret"); !strings.Contains(out, "answered 403") {
				t.Errorf("no reason: %s", out)
			}
			status = http.StatusBadRequest
			run("third", 1, 1, "secret")
			if out := run("fork", 1, 0, ""); !strings.Contains(out, "TOKEN is not set") {
				t.Errorf("no reason: %s", out)
			}
			check("nothing differs")
		})
	}
}
