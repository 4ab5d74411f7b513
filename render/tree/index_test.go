package tree

import (
	"path/filepath"
	"strings"
	"testing"
)

// FuzzIndex checks that an index lists no paths outside its folder.
func FuzzIndex(f *testing.F) {
	f.Add("- shop/a.yaml\n- ../a.yaml\n- /a/b.yaml\n- a/../../b.yaml\n")
	f.Fuzz(func(t *testing.T, content string) {
		for name := range readIndex([]byte(content)) {
			if !filepath.IsLocal(name) || strings.Count(name, "/") != 1 {
				t.Errorf("accepts %q", name)
			}
		}
	})
}
