package tree

import (
	"strings"
	"testing"
)

// The reader of Kubernetes 1.37 loses a last line that fills its buffer and has no newline.
func TestTheLastLineOfAFileIsRead(t *testing.T) {
	for _, size := range []int{4095, 4096, 4097, 8192} {
		line := "data: {b: " + strings.Repeat("x", size-len("data: {b: }")) + "}"
		content := "kind: ConfigMap\napiVersion: v1\n" + line
		objects, problems := Objects("prod", []File{{Path: "a.yaml", Content: []byte(content)}})
		if len(problems) > 0 || len(objects) != 1 || objects[0].Object["data"] == nil {
			t.Errorf("%d bytes: %v, %v", size, objects, problems)
		}
	}
}
