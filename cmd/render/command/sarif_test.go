package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"example.com/gatehouse/render/verbs/setup"
)

// The output is valid by the schema of SARIF 2.1.0, and has each problem with its code, place and help.
func TestSARIFHasEachProblem(t *testing.T) {
	was := setup.Action
	t.Cleanup(func() { setup.Action = was })
	setup.Action = "acme/gatehouse@v1.2.3"
	root := warned(t)
	writeFile(t, root, "../staging/kustomization.yaml", "resources: [a folder, \"no\\u200bne.yaml\"]\n")
	writeFile(t, root, "../staging/a folder/kustomization.yaml", "resource: []\n")
	t.Setenv("GITHUB_WORKSPACE", filepath.Dir(root))
	out, _, code, err := execute("--all", "--check", "--root", root, "-o", "sarif")
	if code != exitError || err != nil || strings.Contains(out, "\u200b") || strings.Contains(out, "outputVersion") {
		t.Fatalf("exit code %d, error %v: %s", code, err, out)
	}
	report, err := sarif.FromString(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Error(err)
	}
	var found []string
	for _, r := range report.Runs[0].Results {
		at := r.Locations[0].PhysicalLocation
		rule := report.Runs[0].Tool.Driver.Rules[r.RuleIndex]
		place, err := json.Marshal([]any{r.Level, *r.RuleID, *rule.HelpURI, *at.ArtifactLocation.URI, *at.Region.StartLine})
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(place))
	}
	folder := filepath.Base(root)
	const help = "https://github.com/acme/gatehouse/blob/v1.2.3/docs/messages.md#"
	want := []string{
		`["error","InvalidKustomization","` + help + `invalidkustomization","` + folder + `/environments/staging/a%20folder/kustomization.yaml",1]`,
		`["error","InvalidKustomization","` + help + `invalidkustomization","` + folder + `/environments/staging/kustomization.yaml",1]`,
		`["warning","MissingController","` + help + `missingcontroller","` + folder + `/environments/base/ats.yaml",7]`,
		`["warning","OfKind","` + help + `ofkind","` + folder + `/environments/base/ats.yaml",10]`,
	}
	if got := strings.Join(found, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
}

// Each code in the help has its place on the page of messages.
func TestMessagesHaveTheAnchorsOfSARIF(t *testing.T) {
	page, err := os.ReadFile("../../../docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range ofServer {
		if heading := "\n## " + string(code) + "\n"; !strings.Contains(string(page), heading) && code[:5] != "Field" {
			t.Errorf("no %s", heading)
		}
	}
}
