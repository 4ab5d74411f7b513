package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review"
	"example.com/gatehouse/test/changes"
)

const (
	before = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {text: "a <b>bold</b> word"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web, namespace: shop}, rules: []}`
	after = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {text: "a <script>alert(1)</script> word"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web, namespace: shop}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: "web<img src=x onerror=alert(1)>", namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}, subjects: [{kind: User, name: "eve` + "\u202e" + `</details><a href='https://example.com'>"}]}`
)

// pageOf returns the page of two environments.
func pageOf(t *testing.T) string {
	t.Helper()
	d := &compare.Diff{Base: "0123"}
	for _, name := range []string{"prod", "<i>\u200bstaging"} {
		d.Environments = append(d.Environments, changes.Between(t, before, after).With(compare.Facts{Name: name}))
	}
	d.Frame = []compare.FrameChange{{File: "ci/<u>.yaml", Action: "changed", Risk: "it runs `code`"}}
	problems := []manifest.Problem{{File: "a.yaml", Line: 3, Message: `wrong "</li><b>"`}}
	var out strings.Builder
	if err := Write(&out, d, review.New(d, time.Time{}), problems, "render diff --base '<main>'"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A page loads nothing, and no text of a manifest becomes markup or reorders characters.
func TestHostileTextStaysText(t *testing.T) {
	text := pageOf(t)
	for _, hostile := range []string{"<img", "<script>alert", "<a ", "<i>", "<u>", "<b>", "\u202e", "\u200b", "</li><b"} {
		if strings.Contains(text, hostile) {
			t.Errorf("%q is in the page", hostile)
		}
	}
	for _, shown := range []string{`eve\u202e&lt;/details&gt;`, "web&lt;img src=x onerror=alert(1)&gt;", "&lt;main&gt;"} {
		if !strings.Contains(text, shown) {
			t.Errorf("no %q in the page", shown)
		}
	}
	quoted := strings.NewReplacer("src=x onerror", "", "href=&#39;", "")
	loads := regexp.MustCompile(`(?i)(src|href|srcset|action)\s*=|url\(|@import|fetch\(|XMLHttp`)
	if found := loads.FindString(quoted.Replace(text)); found != "" {
		t.Errorf("the page may load something: %s", found)
	}
	if !strings.Contains(text, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
		t.Error("no policy")
	}
}

// Equal environments share their rows, and risks come first.
func TestPageHasTheRowsOfTheReview(t *testing.T) {
	text := pageOf(t)
	if n := strings.Count(text, "<details class=\"row "); n != 4 {
		t.Errorf("%d rows", n)
	}
	first := strings.Index(text, `<code>RoleBinding shop/web`)
	for _, later := range []string{"<code>Role shop/web", "<code>ConfigMap shop/a"} {
		if first < 0 || strings.Index(text, later) < first {
			t.Errorf("%s is before the risk", later)
		}
	}
}

func TestDiffsMarkWords(t *testing.T) {
	show := func(words []word) (text string) {
		for _, w := range words {
			if w.IsMarked {
				w.Text = "[" + w.Text + "]"
			}
			text += w.Text
		}
		return text
	}
	for _, test := range []struct{ diff, want string }{
		{"--- a\n+++ b\n@@ -1 +1 @@\n-image: web:1.2.3\n+image: web:1.3.0\n", "image: web:[1.2.3]|image: web:[1.3.0]"},
		{"@@ -1 +1 @@\n-a: 1\n-b: 2\n+a: 3\n same\n+c: 4\n", "a: [1]|a: [3]; b: 2|; same|same; |c: 4"},
		{"@@ -1 +1 @@\n-größe: klein\n+größe: sehr klein\n", "größe: klein|größe:[ sehr] klein"},
		{"@@ -1 +1 @@\n--- text\n+++ text\n", "[--] text|[++] text"},
	} {
		var got []string
		for _, l := range sideBySide(test.diff) {
			if l.Note == "" {
				got = append(got, show(l.Before)+"|"+show(l.After))
			}
		}
		if text := strings.Join(got, "; "); text != test.want {
			t.Errorf("%q: got %s, want %s", test.diff, text, test.want)
		}
	}
}

// pressed tries the filters and the keys of a page, and leaves what it saw in the title.
const pressed = `<script>
const seen = [], press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
for (const [id, value] of [["rank", "risk"], ["rank", ""], ["search", "rolebinding eve"], ["search", ""], ["environment", "0"]]) {
  document.getElementById(id).value = value;
  document.querySelector("form").dispatchEvent(new Event("input"));
  seen.push(document.getElementById("count").textContent[0]);
}
press("j"); seen.push(document.activeElement.localName);
for (const key of ["o", "c"]) { press(key); seen.push(document.querySelectorAll("details[open]").length); }
press("/"); seen.push(document.activeElement.id, getComputedStyle(document.body).backgroundColor);
document.title = seen.concat(performance.getEntriesByType("resource").length).join(" ");
</script>
</html>`

// A browser runs the script of the page under its policy, and nothing else. In light and in dark, the filters and the
// keys do what the page says, and nothing is loaded.
func TestPageWorksInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("install chromium to try the page")
	}
	show := func(page string, more ...string) string {
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), browser, append(more, "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+filepath.Dir(file), "--dump-dom", "file://"+file)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := show(pageOf(t)); !strings.Contains(out, `role="status">4 of 4 rows<`) || strings.Contains(out, "<img") {
		t.Errorf("the script did not run, or text became markup: %s", out)
	}
	// The policy lets no other script run, so it goes for this test.
	tried := strings.Replace(strings.ReplaceAll(pageOf(t), "Content-Security-Policy", "none"), "</html>", pressed, 1)
	for scheme, color := range map[string]string{"1": "rgb(255, 255, 255)", "0": "rgb(13, 17, 23)"} {
		want := "<title>2 4 1 4 1 summary 1 0 search " + color + " 0</title>"
		if out := show(tried, "--blink-settings=preferredColorScheme="+scheme); !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}
