package review

import (
	"strings"
	"testing"
)

// What is changed is seen, however much there is before it.
func TestChangeBehindMuch(t *testing.T) {
	long := strings.Repeat("0123456789", 300)
	text := diffText("--- a\n+++ b\n@@ -1 +1 @@\n-a: " + long + "before" + long + "\n-b: x\n+a: " + long + "after" + long + "\n+b: y\n c: " + long + "\n")
	for _, want := range []string{"9before0", "9after0", "\n-a: 012", "\n+a: 012", "… 2803 characters that stay …", "\n-b: x\n", "\n+b: y\n", " more characters\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > longestLine+250 {
			t.Error(line)
		}
	}
	was, is := quotedBoth("echo "+long+"; date", "echo "+long+"; rm -rf /")
	if !strings.HasSuffix(was.Plain(), "; date") || !strings.HasSuffix(is.Plain(), "; rm -rf /") || len(is.Plain()) > 80 {
		t.Error(was.Plain(), is.Plain())
	}
	if was, is := quotedBoth("web:1", "web:2"); was != quoted("web:1") || is != quoted("web:2") {
		t.Error(was.Plain(), is.Plain())
	}
	if was, is := quotedBoth(long, long+"; date"); was.Plain() == is.Plain() || !strings.HasSuffix(is.Plain(), "; date") {
		t.Error(was.Plain(), is.Plain())
	}
}
