package render

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

// warningsAt renders all environments below root at an instant and returns the warnings.
func warningsAt(t *testing.T, root string, now time.Time) (warnings string, update *Update) {
	t.Helper()
	repository, err := Open(root, gatehouse.All(), Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	update, err = NewUpdate(t.Context(), repository, Selection{All: true}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(update.Close)
	return strings.Join(texts(update, func(p manifest.Problem) bool { return p.Warning }), "\n") + "\n", update
}

func TestWarningsHaveLines(t *testing.T) {
	golden(t, "testdata/warnings/*.txtar", "warnings", func(t *testing.T, root string) *txtar.Archive {
		warnings, update := warningsAt(t, root, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
		for _, problem := range problemsOf(update) {
			t.Error(problem)
		}
		if update.Strict(false); update.Failed() != (strings.TrimSpace(warnings) != "") {
			t.Errorf("strict: failed is %t", update.Failed())
		}
		return &txtar.Archive{Files: []txtar.File{{Name: "warnings", Data: []byte(warnings)}}}
	})
}

// Warnings may depend on the time, rendered files do not.
func TestRenderedFilesIgnoreTime(t *testing.T) {
	root := write(t, `
-- environments/prod/kustomization.yaml --
resources: [at.yaml]
-- environments/prod/at.yaml --
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: {name: a, namespace: shop}
spec: {schedule: "2026-01-31T10:00:00+01:00", command: echo}
`)
	due := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	const isPast = "environments/prod/at.yaml:4: warning: At shop/a: spec.schedule: is past"
	mustRun(t, root)
	for now, want := range map[time.Time]bool{{}: false, due.Add(-1): false, due: true, due.AddDate(100, 0, 0): true} {
		warnings, update := warningsAt(t, root, now)
		if strings.Contains(warnings, isPast) != want {
			t.Errorf("at %v: %s", now, warnings)
		}
		if update.Changes() {
			t.Errorf("at %v something else is rendered", now)
		}
	}
}
