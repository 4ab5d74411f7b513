package setup

import "testing"

func TestAddResourceKeepsEveryOtherByte(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"a list":                      {"# Why.\nresources: # these\n- a.yaml # first\n\n# Then patches.\npatches: []\n", "# Why.\nresources: # these\n- a.yaml # first\n- new.yaml\n\n# Then patches.\npatches: []\n"},
		"a list that is commented on": {"resources:\n- a.yaml\n# - b.yaml\n", "resources:\n- a.yaml\n- new.yaml\n# - b.yaml\n"},
		"an indented list":            {"resources:\n  - a.yaml\n  - b.yaml\nimages: []\n", "resources:\n  - a.yaml\n  - b.yaml\n  - new.yaml\nimages: []\n"},
		"wide items":                  {"resources:\n -   a.yaml\n", "resources:\n -   a.yaml\n -   new.yaml\n"},
		"no final newline":            {"resources:\n- a.yaml", "resources:\n- a.yaml\n- new.yaml"},
		"CRLF":                        {"kind: Kustomization\r\nresources:\r\n- a.yaml\r\nimages: []\r\n", "kind: Kustomization\r\nresources:\r\n- a.yaml\r\n- new.yaml\r\nimages: []\r\n"},
		"an anchor":                   {"resources:\n- &a a.yaml\nimages: []\n", "resources:\n- &a a.yaml\n- new.yaml\nimages: []\n"},
		"an alias":                    {"x: &a a.yaml\nresources:\n- *a\n", "x: &a a.yaml\nresources:\n- *a\n- new.yaml\n"},
		"an anchor of the list":       {"resources: &r\n- a.yaml\n", "resources: &r\n- a.yaml\n- new.yaml\n"},
		"a document that begins":      {"# A comment.\n---\nresources:\n- a.yaml\n", "# A comment.\n---\nresources:\n- a.yaml\n- new.yaml\n"},
		"a byte order mark":           {"\ufeffresources:\n- a.yaml\n", "\ufeffresources:\n- a.yaml\n- new.yaml\n"},
		"an indented mapping":         {"  kind: Kustomization\n  resources:\n  - a.yaml\n", "  kind: Kustomization\n  resources:\n  - a.yaml\n  - new.yaml\n"},
		"text that looks like a list": {"patches:\n- patch: |\n    resources: []\nresources:\n- a.yaml\n", "patches:\n- patch: |\n    resources: []\nresources:\n- a.yaml\n- new.yaml\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if after, keepsRest := addResource([]byte(test.before), "new.yaml"); string(after) != test.after || !keepsRest {
				t.Errorf("%s\nwant:\n%s", after, test.after)
			}
		})
	}
}

// Lists that are written in another way are left to people.
func TestAddResourceReportsOtherStyles(t *testing.T) {
	for _, before := range []string{
		"", "# To come.", "{}\n", "- a.yaml\n", "resources:\n", "resources: []\n", "resources: null\n", "resources: [a.yaml]\n", "resources: [a.yaml\n", "resources: a.yaml\n",
		"resources:\n  a: b\n", "resources:\n-\n  a.yaml\n", "resources:\n- |\n  a.yaml\n", "resources:\n- a\n  .yaml\n", "Resources:\n- a.yaml\n", "x: &r [a.yaml]\nresources: *r\n", "x: &r\n- a.yaml\nresources: *r\n",
		"{\"resources\": [\"a.yaml\"]}\n", "patches:\n- patch: |\n    resources:\n    - a.yaml\n",
	} {
		if after, keepsRest := addResource([]byte(before), "new.yaml"); keepsRest {
			t.Errorf("%q:\n%s", before, after)
		}
	}
}
