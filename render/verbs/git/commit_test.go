package git

import (
	"maps"
	"testing"
)

func TestTrailersOfTheLastParagraph(t *testing.T) {
	for message, want := range map[string]map[string]string{
		"":                              {},
		"Subject":                       {},
		"A: 1\n\nB: 2\nC: 3: 4\n":       {"B": "2", "C": "3: 4"},
		"Subject\n\nA: 1\n\nno trailer": {},
		"Subject\n\nA: 1\nA: 2\n":       {},
		"Subject\n\n---\n\nA: 1\r\n\n":  {"A": "1"},
	} {
		if got := (Commit{Message: message}).Trailers(); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}

func TestHashFilesTakesAnyName(t *testing.T) {
	dir := history(t)
	names := []string{"rendered/prod/ü \n/b.yaml", "a\"b\\\t", "-x"}
	for _, name := range names {
		write(t, dir, "shop/"+name, "the same")
	}
	r := open(t, dir+"/shop")
	hashes, err := r.HashFiles(t.Context(), names)
	if err != nil || len(hashes) != len(names) {
		t.Fatal(hashes, err)
	}
	for i, hash := range hashes {
		if hash != r.HashOf([]byte("the same")) {
			t.Errorf("%q: %s", names[i], hash)
		}
	}
}
