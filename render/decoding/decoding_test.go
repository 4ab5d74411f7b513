package decoding_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/gatehouse/render/decoding"
)

// decodingsOf returns how many values are decoded until all of them that are numbers, not
// text, were found.
func decodingsOf(t *testing.T, values, numbers int) (decodings int) {
	t.Helper()
	data := map[string]any{}
	for i := range values {
		data[fmt.Sprintf("key-%d", i)] = "text"
	}
	for i := range numbers {
		data[fmt.Sprintf("key-%d", i*values/numbers)] = int64(i)
	}
	found := decoding.Find(map[string]any{"data": data}, nil, func(content []byte) error {
		decodings += strings.Count(string(content), `"key-`)
		return json.Unmarshal(content, &struct{ Data map[string]string }{})
	})
	if len(found) != numbers {
		t.Errorf("%d were found of %d", len(found), numbers)
	}
	return decodings
}

// However many values are wrong, each is decoded a few times.
func TestFindCost(t *testing.T) {
	const values = 4096
	for numbers, most := range map[int]int{1: 8, 64: 24, values: 40} {
		if decodings := decodingsOf(t, values, numbers) / values; decodings > most {
			t.Errorf("with %d wrong ones of %d, each value is decoded %d times, want at most %d", numbers, values, decodings, most)
		}
	}
}

// What is found of a value is a value that can be decoded in its place.
func TestFindOther(t *testing.T) {
	content := map[string]any{"text": 1, "number": "x", "list": map[string]any{}, "time": "noon"}
	type target struct {
		Text   string
		Number int
		List   []string
	}
	found := decoding.Find(content, nil, func(content []byte) error { return json.Unmarshal(content, &target{}) })
	for _, value := range found {
		decoding.Replace(content, value.Path, value.Other)
	}
	if err := decoding.Try(content, func(content []byte) error { return json.Unmarshal(content, &target{}) }); err != nil || len(found) != 3 {
		t.Errorf("%d values were found, and others in their place: %v", len(found), err)
	}
}
