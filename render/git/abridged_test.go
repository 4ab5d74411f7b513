package git

import (
	"strings"
	"testing"
)

// What a hook says is an error of a length that people read.
func TestAbridged(t *testing.T) {
	said := "no: " + strings.Repeat("ä", 1000000) + " the end"
	got := abridged(said)
	if len(got) > 2100 || !strings.HasPrefix(got, "no: ä") || !strings.HasSuffix(got, "ä the end") || !strings.Contains(got, "ä [...] ä") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if short := "no: the end"; abridged(short) != short {
		t.Error(abridged(short))
	}
}
