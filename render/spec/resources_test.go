package spec

import (
	"strings"
	"testing"
)

// An entry is added in the way in which the list is written, and nothing else changes.
func TestAddResource(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"a list":                               {"# Why.\nresources: # these\n- a.yaml # first\n\n# Then patches.\npatches: []\n", "# Why.\nresources: # these\n- a.yaml # first\n- new.yaml\n\n# Then patches.\npatches: []\n"},
		"a list that is commented on":          {"resources:\n- a.yaml\n# - b.yaml\n", "resources:\n- a.yaml\n- new.yaml\n# - b.yaml\n"},
		"an indented list":                     {"resources:\n  - a.yaml\n  - b.yaml\nimages: []\n", "resources:\n  - a.yaml\n  - b.yaml\n  - new.yaml\nimages: []\n"},
		"wide items":                           {"resources:\n -   a.yaml\n", "resources:\n -   a.yaml\n -   new.yaml\n"},
		"no final newline":                     {"resources:\n- a.yaml", "resources:\n- a.yaml\n- new.yaml"},
		"CRLF":                                 {"kind: Kustomization\r\nresources:\r\n- a.yaml\r\nimages: []\r\n", "kind: Kustomization\r\nresources:\r\n- a.yaml\r\n- new.yaml\r\nimages: []\r\n"},
		"CRLF, no final newline":               {"resources:\r\n- a.yaml", "resources:\r\n- a.yaml\r\n- new.yaml"},
		"quotes":                               {"resources:\n- 'a.yaml'\n- \"b.yaml\"\n", "resources:\n- 'a.yaml'\n- \"b.yaml\"\n- \"new.yaml\"\n"},
		"an anchor":                            {"resources:\n- &a a.yaml\nimages: []\n", "resources:\n- &a a.yaml\n- new.yaml\nimages: []\n"},
		"an alias":                             {"x: &a a.yaml\nresources:\n- *a\n", "x: &a a.yaml\nresources:\n- *a\n- new.yaml\n"},
		"an anchor of the list":                {"resources: &r\n- a.yaml\n", "resources: &r\n- a.yaml\n- new.yaml\n"},
		"brackets":                             {"resources: [a.yaml]\n", "resources: [a.yaml, new.yaml]\n"},
		"brackets and a comment":               {"resources: [ a.yaml, b.yaml ] # both\n", "resources: [ a.yaml, b.yaml, new.yaml ] # both\n"},
		"quotes in brackets":                   {"resources: ['a]b.yaml', \"c,d.yaml\"]", "resources: ['a]b.yaml', \"c,d.yaml\", \"new.yaml\"]"},
		"a comma at the end":                   {"resources: [a.yaml,]\n", "resources: [a.yaml, new.yaml,]\n"},
		"an anchor in brackets":                {"resources: &r [&a a.yaml]\n", "resources: &r [&a a.yaml, new.yaml]\n"},
		"brackets over lines":                  {"resources: [\n  a.yaml,\n  b.yaml # second\n]\n", "resources: [\n  a.yaml,\n  b.yaml, # second\n  new.yaml\n]\n"},
		"brackets over lines, a comma":         {"resources: [\n  a.yaml,\n  b.yaml, # second\n]\n", "resources: [\n  a.yaml,\n  b.yaml, # second\n  new.yaml,\n]\n"},
		"brackets over lines, the last closes": {"resources: [a.yaml,\n  b.yaml]\n", "resources: [a.yaml,\n  b.yaml, new.yaml]\n"},
		"empty brackets":                       {"resources: []\nimages: []\n", "resources:\n- new.yaml\nimages: []\n"},
		"empty brackets, a comment":            {"resources: [ ] # none yet\n", "resources: # none yet\n- new.yaml\n"},
		"empty brackets, no newline":           {"kind: Kustomization\nresources: []", "kind: Kustomization\nresources:\n- new.yaml"},
		"nothing":                              {"resources:\nimages: []\n", "resources:\n- new.yaml\nimages: []\n"},
		"nothing, at the end":                  {"images: []\nresources:", "images: []\nresources:\n- new.yaml"},
		"nothing, a comment":                   {"resources: # none: yet\n# - a.yaml\n", "resources: # none: yet\n- new.yaml\n# - a.yaml\n"},
		"null":                                 {"resources: null\n", "resources:\n- new.yaml\n"},
		"~ and a comment":                      {"resources: ~ # none\n", "resources: # none\n- new.yaml\n"},
		"no key":                               {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization # as ever\n\nnamespace: shop\n", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization # as ever\nresources:\n- new.yaml\n\nnamespace: shop\n"},
		"no key, kind first":                   {"kind: Kustomization\r\napiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization\r\napiVersion: kustomize.config.k8s.io/v1beta1\r\nresources:\r\n- new.yaml"},
		"no key, no kind":                      {"# Of the shop.\nnamespace: shop\n", "# Of the shop.\nnamespace: shop\nresources:\n- new.yaml\n"},
		"no key, no newline":                   {"namespace: shop", "namespace: shop\nresources:\n- new.yaml\n"},
		"no key, the document ends":            {"---\nnamespace: shop\n...\n", "---\nnamespace: shop\nresources:\n- new.yaml\n...\n"},
		"a document that begins":               {"# A comment.\n---\nresources:\n- a.yaml\n", "# A comment.\n---\nresources:\n- a.yaml\n- new.yaml\n"},
		"an empty second document":             {"resources:\n- a.yaml\n---\n# nothing\n", "resources:\n- a.yaml\n- new.yaml\n---\n# nothing\n"},
		"an empty file":                        {"", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- new.yaml\n"},
		"a comment alone":                      {"# To come.", "# To come.\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- new.yaml\n"},
		"a marker alone":                       {"---\n", "---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- new.yaml\n"},
		"braces":                               {"{}\n", "{resources: [new.yaml]}\n"},
		"braces with others":                   {"{namespace: shop}\n", "{resources: [new.yaml], namespace: shop}\n"},
		"JSON":                                 {"{\"kind\": \"Kustomization\", \"resources\": [\"a.yaml\"]}\n", "{\"kind\": \"Kustomization\", \"resources\": [\"a.yaml\", \"new.yaml\"]}\n"},
		"JSON, empty":                          {"{\"resources\": []}", "{\"resources\": [\"new.yaml\"]}"},
		"JSON, none":                           {"{\"kind\": \"Kustomization\"}", "{\"resources\": [\"new.yaml\"], \"kind\": \"Kustomization\"}"},
		"another case":                         {"Resources:\n- a.yaml\n", "Resources:\n- a.yaml\n- new.yaml\n"},
		"a quoted key":                         {"\"resources\": []\n", "\"resources\":\n- new.yaml\n"},
		"characters of several bytes":          {"{namespace: shöp, resources: [ä.yaml]}\n", "{namespace: shöp, resources: [ä.yaml, new.yaml]}\n"},
		"a byte order mark":                    {"\ufeffresources:\n- a.yaml\n", "\ufeffresources:\n- a.yaml\n- new.yaml\n"},
		"an indented mapping":                  {"  kind: Kustomization\n  resources:\n  - a.yaml\n", "  kind: Kustomization\n  resources:\n  - a.yaml\n  - new.yaml\n"},
		"text that looks like a list":          {"patches:\n- patch: |\n    resources: []\nresources:\n- a.yaml\n", "patches:\n- patch: |\n    resources: []\nresources:\n- a.yaml\n- new.yaml\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after, err := addResource([]byte(test.before), "new.yaml")
			if err != nil || string(after) != test.after {
				t.Errorf("%v:\n%s\nwant:\n%s", err, after, test.after)
			}
		})
	}
}

// What cannot be added to is an error that says what to write.
func TestAddResourceToOthers(t *testing.T) {
	for before, want := range map[string]string{
		"- a.yaml\n": "line 1: a kustomization is a mapping",
		"kind: Kustomization\n---\nnamespace: shop\n": "line 3: a second document",
		"resources: a.yaml\n":                         "write them as a list",
		"resources:\n  a: b\n":                        "write them as a list",
		"x: &r [a.yaml]\nresources: *r\n":             "write them as a list",
		"resources: &r [a.yaml]\ncomponents: *r\n":    "write them as a list",
		"resources: [a.yaml\n":                        "malformed YAML: line ",
		"resources:\n-\n  a.yaml\n":                   "write them as a list",
		"patches:\n- patch: |\n    a: b":              "write them as a list",
	} {
		if after, err := addResource([]byte(before), "new.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q:\n%s", before, err, want, after)
		}
	}
}
