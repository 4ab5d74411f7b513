package pods

import (
	"strings"
	"testing"

	"example.com/gatehouse/render/source/fetched"
)

func TestImagesThatAreNotAsTheirRegistriesHaveThem(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	arm := []string{"linux/arm64", "linux/arm"}
	for name, test := range map[string]struct {
		image        string
		found        fetched.Image
		architecture string
		want         string
	}{
		"there":                  {"web:1", fetched.Image{Digest: a}, "", ""},
		"its digest":             {"web:1@" + a, fetched.Image{Digest: a}, "", ""},
		"a digest alone":         {"web@" + a, fetched.Image{}, "", ""},
		"not there":              {"web:1", fetched.Image{Missing: "1"}, "", "its registry does not have 1: no Pod starts"},
		"another digest":         {"web:1@" + a, fetched.Image{Digest: b}, "", "the tag 1 has another digest in its registry, " + b},
		"its platform":           {"web:1", fetched.Image{Digest: a, Platforms: arm}, "arm64", ""},
		"another platform":       {"web:1", fetched.Image{Digest: a, Platforms: arm}, "amd64", "it is for linux/arm64, linux/arm, and its nodes are amd64"},
		"no platform is asked":   {"web:1", fetched.Image{Digest: a, Platforms: arm}, "", ""},
		"its platform is hidden": {"web:1", fetched.Image{Digest: a}, "amd64", ""},
	} {
		if got := registryRisk(test.image, test.found, test.architecture); got.Plain() != test.want {
			t.Errorf("%s: %s, want %s", name, got.Plain(), test.want)
		}
	}
}
