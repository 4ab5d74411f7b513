package command

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// secretSources are sources of Secrets, with VALUE for a secret text, ENCODED for it in base64 and NUMBER for a secret
// number. Some are wrong, as those are whose messages quote most. Each is a kustomization of an environment and
// its file x.
var secretSources = func() (all [][2]string) {
	const (
		secret    = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n"
		resources = "resources: [a.yaml, x]\n"
	)
	for _, rest := range []string{
		"stringData: {password: 'VALUE'}\n",
		"data: {password: ENCODED}\n",
		"data: {password: 'VALUE'}\n",
		"data: {password: NUMBER}\n",
		"data: VALUE\n",
		"data: [VALUE]\n",
		"stringData: {password: [VALUE, {a: VALUE}]}\n",
		"stringData: {password: NUMBER, user: {name: NUMBER}}\n",
		"stringData: NUMBER\n",
		"stringdata: {password: VALUE}\n",
		"string-data: VALUE\n",
		"spec: {data: {password: VALUE}}\n",
		"stringData: {password: VALUE, password: VALUE}\n",
		"stringData:\n  password: |\n    VALUE\n\tVALUE\n",
		"stringData:\n  password: VALUE\n VALUE: x\n",
		"stringData:\n  password: \"VALUE\n",
		"stringData:\n  password: VALUE: VALUE\n",
		"stringData: {password: &VALUE VALUE, again: *VALUE2}\n",
		"stringData: {password: !VALUE VALUE}\n",
		"stringData: {password: ${VALUE}, other: \"${A:=VALUE}\"}\n",
		"stringData: {password: VALUE}\nsops: {mac: x}\n",
		"data: {password: ENCODED}\ntype: kubernetes.io/tls\n",
		"stringData: {.dockerconfigjson: VALUE}\ntype: kubernetes.io/dockerconfigjson\n",
		"data: {.dockerconfigjson: ENCODED}\ntype: kubernetes.io/dockerconfigjson\n",
	} {
		all = append(all, [2]string{resources, secret + rest},
			[2]string{resources, strings.Replace(secret, "kind: Secret", "kind: secret", 1) + rest},
			[2]string{"resources: [a.yaml]\npatches: [{path: x}]\n", secret + rest},
			[2]string{"resources: [a.yaml]\n", secret + rest})
	}
	const (
		noKind  = `{"metadata": {"name": "s", "namespace": "shop"}, "stringData": {"password": "VALUE"}}`
		applied = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop", "annotations": ` +
			`{"kubectl.kubernetes.io/last-applied-configuration": "{\"kind\": \"Secret\", \"data\": {\"a\": \"VALUE\"}}"}}}`
		full     = secret + "stringData: {password: public}\n---\n"
		literals = "resources: [a.yaml]\nsecretGenerator: [{name: s, namespace: shop, "
	)
	for _, list := range []string{
		applied,
		`{"apiVersion": "v1", "kind": "SecretList", "items": [` + noKind + "]}",
		`{"apiVersion": "v1", "kind": "List", "items": [` + noKind + "]}",
		`{"apiVersion": "v1", "kind": "List", "items": [` + applied + ", {\"apiVersion\": \"v1\", \"kind\": \"Secret\", " +
			noKind[1:] + "]}",
		noKind,
	} {
		all = append(all, [2]string{resources, list}, [2]string{"resources: [a.yaml]\n", list})
	}
	return append(all, [][2]string{
		{literals + "literals: [password=VALUE]}]\n", ""},
		{literals + "literals: [VALUE]}]\n", ""},
		{literals + "literals: [a=VALUE, a=VALUE]}]\n", ""},
		{literals + "literals: {VALUE: NUMBER}}]\n", ""},
		{literals + "literals: [{VALUE: VALUE}]}]\n", ""},
		{literals + "files: [x]}]\n", "VALUE"},
		{literals + "files: [password=x, password=x]}]\n", "VALUE"},
		{literals + "envs: [x]}]\n", "A=VALUE\nB=\"VALUE\nVALUE/\n"},
		{literals + "envs: [x]}]\n", "\xff VALUE"},
		{literals + "env: x}]\n", "{\"password\": \"VALUE\"}"},
		{literals + "envs: [x]}]\n", "A=VALUE\nA=VALUE\n"},
		{literals + "envs: [x], options: VALUE}]\n", "A=VALUE\n"},
		{"resources: [x]\npatches: [{patch: '[{op: replace, path: /stringData/password, value: VALUE}]', " +
			"target: {kind: Secret}}]\n", full},
		{"resources: [x]\npatches: [{patch: '[{op: test, path: /stringData/password, value: VALUE}]', " +
			"target: {kind: Secret}}]\n", full},
		{"resources: [x]\npatches: [{patch: '{VALUE: [VALUE', target: {kind: Secret}}]\n", full},
		{"resources: [x]\npatches: [{patch: 'VALUE', target: {kind: Secret}}]\n", full},
		{"resources: [x]\npatches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, " +
			"stringData: {password: [VALUE]}}'}]\n", full},
		{"resources: [x]\npatchesStrategicMerge: ['{apiVersion: v1, kind: Secret, metadata: {name: t}, " +
			"stringData: {password: VALUE}}']\n", full},
	}...)
}()

// No output has a value of a Secret, right or wrong, before a change or after it. Each environment has
// one source, and another one after the change.
func TestNoOutputHasSecrets(t *testing.T) {
	// Each text is a valid name of a key, so that nothing but its place makes it secret.
	const before, after = "QUICKHUNTER2old", "QUICKHUNTER2new"
	encode := base64.StdEncoding.EncodeToString
	root := repository(t)
	commit := func(order []int, value string) {
		fill := strings.NewReplacer("VALUE", value, "ENCODED", encode([]byte(value)), "NUMBER", "271828182845").Replace
		for i, which := range order {
			folder := fmt.Sprintf("../e%d/", i)
			writeFile(t, root, folder+"kustomization.yaml", fill(secretSources[which][0]))
			writeFile(t, root, folder+"x", fill(secretSources[which][1]))
			writeFile(t, root, folder+"a.yaml", configMap("a", "b"))
			writeFile(t, root, fmt.Sprintf("../../other/%d.yaml", i), fill(secretSources[which][1]))
		}
		gitIn(t, root, "", "add", "-A")
		gitIn(t, root, "", "commit", "-qm", "change")
	}
	gitIn(t, root, "", "init", "-q", "-b", "main")
	random := rand.New(rand.NewPCG(1, 2))
	commit(random.Perm(len(secretSources)), before)
	for range 2 {
		commit(random.Perm(len(secretSources)), before)
		commit(random.Perm(len(secretSources)), after)
		for _, args := range [][]string{
			{"--all", "--check"}, {"--all", "--check", "-o", "json"}, {"--all"}, {"images", "--all"},
			{"upgrade", "--kubernetes", "1.36", "--all"}, {"explain", "secret/s", "--env", "e1"},
			{"diff", "--base", "HEAD^"}, {"diff", "--base", "HEAD^", "-o", "json"}, {"diff", "--base", "HEAD^", "-o", "markdown"},
		} {
			out, errOut, _, err := execute(append(args, "--root", root)...)
			said := fmt.Sprint(out, errOut, err)
			for _, value := range []string{before, after, encode([]byte(before)), encode([]byte(after)), "271828182845"} {
				if i := strings.Index(said, value); i >= 0 {
					t.Errorf("%s says a value: …%s", strings.Join(args, " "), said[max(0, i-300):min(len(said), i+100)])
				}
			}
		}
	}
}
