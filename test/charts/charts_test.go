// Package charts_test compares the charts of public repositories with the real helm:
//
//	CHARTS=FOLDER HELM=PROGRAM go test ./test/charts -v
//
// FOLDER has clones of repositories, and PROGRAM is helm of the version charts.Helm, built from its module.
package charts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/fetched"
)

// disk are files without the limits of a repository.
type disk struct{}

func (disk) Resolve(name string) (string, bool, error) {
	info, err := os.Stat(name)
	return name, err == nil && info.IsDir(), err
}
func (disk) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }
func (disk) ReadAny(name string) ([]byte, error)  { return os.ReadFile(name) }
func (disk) Fetch(fetched.Source) (fetched.Files, error) {
	return fetched.Files{}, fetched.ErrNotFetching
}
func (disk) List(folder string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// TestHelmPrintsTheSame renders each chart with its defaults and with its values for CI.
func TestHelmPrintsTheSame(t *testing.T) {
	root, helm := os.Getenv("CHARTS"), os.Getenv("HELM")
	if root == "" || helm == "" {
		t.Skip("set CHARTS and HELM")
	}
	count := map[string]int{}
	isCounted := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "Chart.yaml" || strings.Contains(name, "/templates/") || strings.Contains(strings.TrimPrefix(name, root), "/charts/charts/") {
			return err
		}
		folder := filepath.Dir(name)
		values, _ := filepath.Glob(filepath.Join(folder, "ci", "*values*.yaml"))
		for _, file := range append([]string{""}, values...) {
			result := compare(t, helm, folder, file)
			count[result]++
			if result == "same" && !isCounted[folder] {
				isCounted[folder] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d charts are the same at least once; runs: %v", len(isCounted), count)
}

var random = regexp.MustCompile(`makes another value on each run`)

// compare renders a chart with Gatehouse and with helm, and names the result.
func compare(t *testing.T, helm, folder, values string) string {
	arguments := []string{"template", "release", folder, "--namespace", "space", "--include-crds", "-f", filepath.Join(folder, "values.yaml")}
	entry := charts.Entry{
		HelmChart: types.HelmChart{Name: filepath.Base(folder), ReleaseName: "release", Namespace: "space", IncludeCRDs: true},
		Home:      filepath.Dir(folder), Folder: "/", File: "kustomization.yaml",
	}
	if _, err := os.Stat(filepath.Join(folder, "values.yaml")); errors.Is(err, fs.ErrNotExist) {
		arguments = arguments[:len(arguments)-2]
	}
	if values != "" {
		arguments = append(arguments, "-f", values)
		entry.AdditionalValuesFiles = []string{values}
	}
	command := exec.Command(helm, arguments...)
	command.Env = append(os.Environ(), "TZ=UTC")
	want, wantErr := command.Output()
	got, problems := charts.Render(disk{}, entry, charts.Cluster{Kubernetes: "1.37.0", APIVersions: slices.Clone(common.DefaultVersionSet)})
	name := strings.TrimPrefix(folder, os.Getenv("CHARTS")) + " " + filepath.Base(values)
	switch {
	case manifest.HasErrors(problems) && random.MatchString(problems[0].Message):
		t.Log("random ", name, problems[0])
		return "random"
	case manifest.HasErrors(problems) && wantErr != nil:
		if strings.Contains(problems[0].Message, "depends on") {
			return "without its dependencies"
		}
		t.Log("both refuse ", name, problems[0])
		return "both refuse"
	case manifest.HasErrors(problems):
		t.Error("ONLY GATEHOUSE REFUSES", name, problems[0])
		return "only Gatehouse refuses"
	case wantErr != nil:
		var exit *exec.ExitError
		errors.As(wantErr, &exit)
		t.Error("ONLY HELM REFUSES", name, string(exit.Stderr))
		return "only helm refuses"
	case strings.TrimSpace(string(want)) != strings.TrimSpace(string(got.Content)):
		t.Error("DIFFERENT", name, firstDifference(string(want), string(got.Content)))
		return "different"
	}
	return "same"
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n-%s\n+%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}

// TestUnreadValuesChangeNothing sets all defaults of each chart, and changes those that no template reads.
func TestUnreadValuesChangeNothing(t *testing.T) {
	root := os.Getenv("CHARTS")
	if root == "" {
		t.Skip("set CHARTS")
	}
	counts := map[string]int{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "Chart.yaml" || strings.Contains(name, "/templates/") {
			return err
		}
		entry := charts.Entry{
			HelmChart: types.HelmChart{Name: filepath.Base(filepath.Dir(name)), ReleaseName: "release", Namespace: "space", ValuesFile: "values.yaml"},
			Home:      filepath.Dir(filepath.Dir(name)), Folder: filepath.Dir(name), File: "kustomization.yaml", Node: &yaml.Node{Kind: yaml.MappingNode, Line: 1},
		}
		cluster := charts.Cluster{Kubernetes: "1.37.0", APIVersions: slices.Clone(common.DefaultVersionSet)}
		before, problems := charts.Render(disk{}, entry, cluster)
		if len(problems) > 0 {
			return nil
		}
		start := time.Now()
		unread, _ := before.Settings.Unread()
		counts["charts"]++
		counts["milliseconds"] += int(time.Since(start).Milliseconds())
		if counts["unread"] += len(unread); len(unread) == 0 {
			counts["all read"]++
			return nil
		}
		t.Log(name, time.Since(start), unread)
		changed := map[string]any{}
		for _, value := range unread {
			if err := unstructured.SetNestedField(changed, "changed", manifest.SplitField(value)...); err != nil {
				return err
			}
		}
		content, err := json.Marshal(changed)
		if err != nil {
			return err
		}
		entry.AdditionalValuesFiles = []string{filepath.Join("/", t.TempDir(), "changed.json")}
		if err := os.WriteFile(entry.AdditionalValuesFiles[0], content, 0o644); err != nil {
			return err
		}
		entry.AdditionalValuesFiles[0], _ = filepath.Rel(entry.Folder, entry.AdditionalValuesFiles[0])
		after, problems := charts.Render(disk{}, entry, cluster)
		if len(problems) > 0 && !strings.Contains(problems[0].Message, "values.schema.json") || len(problems) == 0 && string(before.Content) != string(after.Content) {
			t.Error("CHANGES", name, unread, problems, firstDifference(string(before.Content), string(after.Content)))
		}
		return nil
	})
	t.Log(counts)
	if err != nil {
		t.Fatal(err)
	}
}
