package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/setup"
)

// printSARIF prints problems as SARIF 2.1.0, for code scanning. Files are below folder in the repository.
func printSARIF(out io.Writer, r report, folder string) error {
	driver := sarif.NewToolComponent().WithName("Gatehouse").WithVersion(programVersions().Render)
	run := sarif.NewRun().WithTool(sarif.NewTool().WithDriver(driver)).WithColumnKind("unicodeCodePoints")
	r.by = each
	for _, c := range r.causes() {
		addResult(run, c.problems[0], folder)
	}
	content, err := json.MarshalIndent(sarif.NewReport().AddRun(run), "", "  ")
	if err != nil {
		return err
	}
	return writeJSON(out, content)
}

func addResult(run *sarif.Run, p manifest.Problem, folder string) {
	code := string(p.Code)
	if code == "" {
		code = string(manifest.RunFailed)
	}
	rule := run.AddRule(code).WithDescription(code)
	if page := messagesPage(); page != "" {
		rule.WithHelpURI(page + "#" + strings.ToLower(code))
	}
	level := "error"
	if p.Warning {
		level = "warning"
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{code, p.File, p.Object, p.Field, p.Message}, "\x00")))
	result := run.CreateResultForRule(code).WithLevel(level).
		WithMessage(sarif.NewTextMessage(kind.Visible(strings.TrimPrefix(p.Object+": "+p.Message, ": ")))).
		WithPartialFingerprints(map[string]string{"problem/v1": hex.EncodeToString(sum[:])})
	at := sarif.NewLocation()
	if p.File != "" {
		file := (&url.URL{Path: path.Join(folder, p.File)}).String()
		where := sarif.NewPhysicalLocation().
			WithArtifactLocation(sarif.NewSimpleArtifactLocation(file).WithURIBaseID("%SRCROOT%")).
			WithRegion(sarif.NewRegion().WithStartLine(max(p.Line, 1)))
		at.WithPhysicalLocation(where)
	}
	if p.Object != "" {
		at.AddLogicalLocation(sarif.NewLogicalLocation().WithFullyQualifiedName(kind.Visible(p.Object)))
	}
	result.AddLocation(at)
}

// messagesPage returns the URL of the page of all messages in the repository of a release, or nothing.
func messagesPage() string {
	repository, tag, isRelease := strings.Cut(setup.Action, "@")
	if !isRelease {
		return ""
	}
	return "https://github.com/" + repository + "/blob/" + url.PathEscape(tag) + "/docs/messages.md"
}
