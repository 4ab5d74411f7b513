package secret

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const metadata = "sops: {mac: <enc>, encrypted_regex: ^data$}"

func TestCheckOfManifests(t *testing.T) {
	for content, want := range map[string]string{
		"data: {a: <enc>, b: '', c: null}\n" + metadata:                                                                             "[]",
		"data: {a: <enc>}\nstringData: {b: <enc>}\ntype: <enc>\n" + metadata:                                                        "[]",
		"stringData: {a: <enc>, b: '${B}', c: 'op://d/e/f'}\n" + metadata:                                                           "[]",
		"stringData: {a: <enc>, b: '${B}-hunter2'}\n" + metadata:                                                                    "[stringData: Forbidden: SOPS left b ",
		"data: {a: <enc>}\nstringData: {b: hunter2}\n" + metadata:                                                                   "[stringData: Forbidden: SOPS left b ",
		"data: {a: {b: hunter2}, c: 1, d: true, e: [f]}\n" + metadata:                                                               "[data: Forbidden: SOPS left a.b, c, d, e[0] ",
		"metadata: {annotations: {" + PublicAnnotation + ": x}}\nstringData: {a: hunter2, b: <enc>}\n" + metadata:                   "[]",
		"stringData: {username: postgres, DB_USER: shop, password: '${PW}'}":                                                        "[]",
		"data: {.dockerconfigjson: e30=}":                                                                                           "[]",
		"stringData: {.dockerconfigjson: '{\"auths\": {}}'}":                                                                        "[]",
		"stringData: {.dockerconfigjson: '{\"auths\": {\"a\": {}}}'}":                                                               "[stringData: Forbidden: all could read",
		"stringData: {user: 'shop:hunter2'}":                                                                                        "[stringData: Forbidden: all could read",
		"stringData: {url: https://example.com/hunter2}":                                                                            "[stringData: Forbidden: all could read",
		"metadata: {labels: {argocd.argoproj.io/secret-type: repository}}\nstringData: {type: git, url: https://example.com/a.git}": "[]",
		"metadata: {labels: {argocd.argoproj.io/secret-type: repository}}\nstringData: {url: https://a:hunter2@example.com/a.git}":  "[stringData: Forbidden: all could read",
		"metadata: {labels: {argocd.argoproj.io/secret-type: repository}}\nstringData: {type: git, password: hunter2}":              "[stringData: Forbidden: all could read",
		"data: {a: <enc>}":                                "[data: Forbidden: all could read",
		"data: {a: <enc>}\nsops: {mac: hunter2}":          "[data: Forbidden: all could read",
		"data: {a: <enc>}\nsops: {mac: <enc>, hunter: 2}": "[data: Forbidden: all could read",
		"data: <enc>\n" + metadata:                        "[data: Forbidden: all could read",
		"stringData: {a: hunter2, b: hunter3}":            "[stringData: Forbidden: all could read",
		"metadata: {annotations: {" + PublicAnnotation + ": x}}\nstringData: {a: hunter2}":      "[]",
		"metadata: {annotations: {" + PublicAnnotation + ": 'true'}}\nstringData: {a: hunter2}": "[metadata.annotations[" + PublicAnnotation + "]: Required",
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("apiVersion: v1\nkind: Secret\n"+strings.ReplaceAll(content, "<enc>", "'"+enc+"'")), &u.Object); err != nil {
			t.Fatal(err)
		}
		decrypted, errs := Check(u)
		if got := fmt.Sprint(errs); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", content, got, want)
		}
		if text := fmt.Sprint(decrypted.Object); strings.Contains(text, "ENC[") || len(errs) > 0 && strings.Contains(text, "hunter2") {
			t.Errorf("%s is decrypted to %s", content, text)
		}
	}
}
