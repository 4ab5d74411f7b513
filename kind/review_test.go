package kind

import (
	"strings"
	"testing"
)

// The difference is visible after a long common prefix.
func TestSayBothShowsTheDifference(t *testing.T) {
	long := strings.Repeat("0123456789", 300)
	was, is := SayBoth("echo "+long+"; date", "echo "+long+"; rm -rf /")
	if !strings.HasSuffix(was.Plain(), "; date") || !strings.HasSuffix(is.Plain(), "; rm -rf /") || len(is.Plain()) > 80 {
		t.Error(was.Plain(), is.Plain())
	}
	if was, is := SayBoth("web:1", "web:2"); was != Say("%s", "web:1") || is != Say("%s", "web:2") {
		t.Error(was.Plain(), is.Plain())
	}
	if was, is := SayBoth(long, long+"; date"); was.Plain() == is.Plain() || !strings.HasSuffix(is.Plain(), "; date") {
		t.Error(was.Plain(), is.Plain())
	}
}

// Every value of a manifest in a Sentence is quoted.
func TestSayQuotesValues(t *testing.T) {
	type name string
	quote := func(value string) string { return "<" + value + ">" }
	for _, test := range []struct {
		sentence Sentence
		want     string
	}{
		{Say("%s %s", "a", name("b")), "<a> <b>"},
		{Say("%d of %s", 2, Count(3, "Pod")), "2 of 3 Pods"},
		{Say("%s", Say("x %s", "a")), "x <a>"},
		{Say("%s", "a\x00b\n "), `<a\x00b>`},
		{Say("%s", " "), `<"">`},
		{Say("%s", "\u3164\u202e"), `<\u3164\u202e>`},
	} {
		if got := test.sentence.Format(quote); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestPluralIsRegular(t *testing.T) {
	for noun, want := range map[string]string{"Pod": "Pods", "Proxy": "Proxies", "Key": "Keys", "Ingress": "Ingresses", "Box": "Boxes", "Batch": "Batches", "Memcached": "Memcacheds"} {
		if got := Plural(noun); got != want {
			t.Errorf("%s: %s, want %s", noun, got, want)
		}
	}
}
