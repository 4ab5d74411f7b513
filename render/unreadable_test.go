package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An unreadable file is a problem. Rendering neither takes it for missing nor waits for it.
func TestUnreadableFilesAreProblems(t *testing.T) {
	const environment = "environments/prod"
	replace := func(name string, with func(name string) error) func(root string) error {
		return func(root string) error {
			name := filepath.Join(root, name)
			if err := os.RemoveAll(name); err != nil {
				return err
			}
			return with(name)
		}
	}
	linkTo := func(target string) func(string) error {
		return func(name string) error { return os.Symlink(target, name) }
	}
	pipe := func(name string) error { return exec.Command("mkfifo", name).Run() }
	sparse := func(name string) error {
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		defer file.Close()
		return file.Truncate(6 << 30)
	}
	for name, test := range map[string]struct {
		attack func(root string) error
		want   string
	}{
		"an environment that leads out":       {replace(environment, linkTo("/usr")), "leads out of"},
		"an environment that leads to itself": {replace(environment, linkTo("prod")), "too many links"},
		"an environment that leads nowhere":   {replace(environment, linkTo("gone")), "environments/prod is a link to nothing"},
		"an environment that is a file":       {replace(environment, func(name string) error { return os.WriteFile(name, nil, 0o600) }), "kustomization.yaml:1: does not exist"},
		"overrides that lead nowhere":         {replace(environment+"/overrides", linkTo("gone")), "environments/prod/overrides is a link to nothing"},
		"overrides that lead out":             {replace(environment+"/overrides", linkTo("/usr")), "leads out of"},
		"a kustomization that leads nowhere":  {replace(environment+"/kustomization.yaml", linkTo("gone")), "environments/prod/kustomization.yaml is a link to nothing"},
		"a manifest that leads nowhere":       {replace(environment+"/all.yaml", linkTo("gone")), "environments/prod/all.yaml is a link to nothing"},
		"a kustomization that is a pipe":      {replace(environment+"/kustomization.yaml", pipe), "is not a regular file"},
		"a manifest that is a pipe":           {replace(environment+"/all.yaml", pipe), "is not a regular file"},
		"a manifest that is huge":             {replace(environment+"/all.yaml", sparse), "is over 64 MiB"},
		"an index that is a pipe":             {replace("rendered/prod/kustomization.yaml", pipe), "is not a regular file"},
		"an index that is huge":               {replace("rendered/prod/kustomization.yaml", sparse), "is over 64 MiB"},
		"a rendered file that is a pipe":      {replace("rendered/prod/shop/configmap-v1-0.yaml", pipe), "is not a regular file"},
		"a rendered file that is huge":        {replace("rendered/prod/shop/configmap-v1-0.yaml", sparse), "is over 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, configMaps(2, "v1")+"-- environments/dev/kustomization.yaml --\nresources: [a.yaml]\n-- environments/dev/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
			mustRun(t, root)
			if err := test.attack(root); err != nil {
				t.Fatal(err)
			}
			before := listing(t, filepath.Join(root, "rendered"))
			problems := problemsOf(run(t, root))
			if len(problems) != 1 || !strings.Contains(problems[0], test.want) {
				t.Errorf("problems %q, want one with %q", problems, test.want)
			}
			equal(t, "rendered/", before, listing(t, filepath.Join(root, "rendered")))
		})
	}
}

// listing returns the names in a folder.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	if err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		names = append(names, name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

// Files without the mark of render stay.
func TestUpdateKeepsFilesWithoutMark(t *testing.T) {
	for name, files := range map[string]string{
		"a merge mark":             "-- rendered/mine/kustomization.yaml --\n<<<<<<< HEAD\nresources:\n- shop/a.yaml\n=======\n>>>>>>> theirs\n-- rendered/mine/shop/a.yaml --\nmine\n",
		"the mark further down":    "-- rendered/mine/kustomization.yaml --\nresources:\n- shop/a.yaml\n# Written by gatehouse render, which owns the files listed here: do not edit.\n-- rendered/mine/shop/a.yaml --\nmine\n",
		"a name like a temporary":  "-- rendered/prod/.render-notes --\nmine\n-- rendered/prod/shop/.render-notes --\nmine\n",
		"a kustomization of mine":  "-- rendered/mine/kustomization.yaml --\nresources: [a.yaml]\n-- rendered/mine/a.yaml --\nmine\n",
		"a folder without a index": "-- rendered/mine/shop/a.yaml --\nmine\n",
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, configMaps(1, "v1")+files)
			mine := snapshot(t, filepath.Join(root, "rendered"))
			mustRun(t, root)
			after := snapshot(t, filepath.Join(root, "rendered"))
			for _, file := range strings.SplitAfter(strings.TrimSpace(mine), "\n-- ") {
				if !strings.Contains(after, strings.TrimSuffix(file, "\n-- ")) {
					t.Errorf("lost %s", file)
				}
			}
		})
	}
}
