package command

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/verdict/apiserver"
)

func TestWrongCommandLinesHaveHints(t *testing.T) {
	root := repository(t)
	writeFile(t, root, "../staging/kustomization.yaml", "resources: [a.yaml]\n")
	for _, test := range []struct{ args, want string }{
		{"prod", `unknown command "prod" for "render": name an environment with --env NAME`},
		{"versio", `unknown command "versio" for "render": did you mean "version"?`},
		{"--env PROD", `"PROD" is not the name of an environment: write --env prod`},
		{"--env environments/prod", `"environments/prod" is not the name of an environment: write --env prod`},
		{"--env rendered/prod/kustomization.yaml", `"rendered/prod/kustomization.yaml" is not the name of an environment: write --env prod`},
		{"--env prod/", `"./prod" is not the name of an environment: write --env prod`},
		{"--env prod,staging", `"prod,staging" is not the name of an environment: write --env prod --env staging`},
		{"-env=prod", `"nv=prod" is not the name of an environment: write --env prod`},
		{"--env=", `"" is not the name of an environment: there are prod and staging`},
		{"--env", "flag needs an argument: --env"},
		{"--evn prod", `unknown flag: --evn: did you mean "--env"?`},
		{"--environment prod", `unknown flag: --environment: did you mean "--env"?`},
		{"diff --basis x", `unknown flag: --basis: did you mean "--base"?`},
		{"--nothing-like-it", `unknown flag: --nothing-like-it`},
		{"version prod", `unknown command "prod" for "render version"`},
		{"-x", "unknown shorthand flag: 'x' in -x"},
		{"version -o yaml", `invalid argument "yaml" for "-o, --output" flag: use text or json`},
		{"", "which environment? write --env NAME, or --all: there are prod and staging"},
		{"--all --env prod", "if any flags in the group [env all] are set none of the others can be; [all env] were all set"},
		{"--all --root " + root + "/environments/prod/a.yaml", "open the folder that holds environments: open " + root + "/environments/prod/a.yaml: not a directory"},
		{"--all --root " + root + "/environments/prod", ". is no environment of environments/, and is rendered nowhere: judge it with --check, compare it by render diff --base, or move it in by render init --from"},
	} {
		args := strings.Fields(test.args)
		if !strings.Contains(test.args, "--root") && !strings.HasPrefix(test.args, "version") && !strings.HasPrefix(test.args, "help") && !strings.HasPrefix(test.args, "completion") {
			args = append([]string{"--root", root}, args...)
		}
		if _, _, _, err := execute(args...); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.args, err, test.want)
		}
	}
}

func TestMissingEnvironmentNamesTheOthers(t *testing.T) {
	root := repository(t)
	writeFile(t, root, "../Staging/kustomization.yaml", "resources: [a.yaml]\n")
	for name, want := range map[string]string{
		"prd":  `environments/prd: no such environment: did you mean "--env prod"?` + "\n",
		"nope": "environments/nope: no such environment: there is prod\n",
	} {
		if _, errOut, code, err := execute("--root", root, "--env", name); err != nil || code != exitError || !strings.HasPrefix(errOut, want) {
			t.Errorf("%s: exit code %d, error %v: %s", name, code, err, errOut)
		}
	}
	const rename = `environments/Staging: "Staging" is not the name of an environment: rename the folder, with up to 63 lower case letters, digits and '-'`
	for _, args := range [][]string{{"--all"}, {"--env", "Staging"}} {
		if _, _, _, err := execute(append(args, "--root", root)...); err == nil || err.Error() != rename {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestVersionFlagAndCommandPrintTheSame(t *testing.T) {
	var minors []string
	for _, v := range apiserver.Versions() {
		minors = append(minors, v.String())
	}
	want := "\nkustomize: " + kustomize.KustomizeRelease + "\nkubernetes: " + apiserver.Release + ", checks as " + strings.Join(minors, ", ") + "\ngo: go"
	for _, args := range []string{"version", "--version", "--version --all"} {
		if out, _, _, err := execute(strings.Fields(args)...); err != nil || !strings.HasPrefix(out, "render: ") || !strings.Contains(out, want) {
			t.Errorf("%s: %s%v", args, out, err)
		}
	}
	out, _, _, err := execute("version", "-o", "json")
	var v versions
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	if err != nil || v.Kubernetes != apiserver.Release || v.Kustomize != kustomize.KustomizeRelease || v.Go == "" {
		t.Errorf("%s%v", out, err)
	}
}

func TestHelpOfPluginNamesKubectl(t *testing.T) {
	cmd := newCommand(gatehouse.All(), nil)
	helpAsPlugin(cmd, "kubectl gatehouse")
	for _, c := range append(cmd.Commands(), cmd) {
		if strings.Contains(c.Example, "\n  render") || !strings.HasPrefix(c.CommandPath(), "kubectl gatehouse") {
			t.Errorf("%s:\n%s", c.CommandPath(), c.Example)
		}
	}
}
