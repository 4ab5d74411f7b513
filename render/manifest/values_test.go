package manifest

import (
	"maps"
	"testing"
)

func TestValuesYieldsEveryValueWithItsKey(t *testing.T) {
	content := map[string]any{"a": map[string]any{"b": "text"}, "list": []any{nil, []any{int64(1)}, map[string]any{"c": true}}}
	keys := map[string]int{}
	scalars := map[any]string{}
	for key, value := range Values(content) {
		keys[key]++
		switch value.(type) {
		case map[string]any, []any:
		default:
			scalars[value] = key
		}
	}
	if want := map[string]int{"": 5, "a": 1, "b": 1, "list": 1, "c": 1}; !maps.Equal(keys, want) {
		t.Errorf("keys %v, not %v", keys, want)
	}
	if want := map[any]string{"text": "b", nil: "", int64(1): "", true: "c"}; !maps.Equal(scalars, want) {
		t.Errorf("scalars %v, not %v", scalars, want)
	}
}

func TestValuesStopsWhenTheLoopBreaks(t *testing.T) {
	inner := []any{"x", "y"}
	for _, content := range []any{inner, map[string]any{"a": inner}, []any{inner, inner}, map[string]any{"a": map[string]any{"b": inner}, "c": inner}} {
		var all []any
		for _, value := range Values(content) {
			all = append(all, value)
		}
		for most := range all {
			n := 0
			for range Values(content) {
				if n++; n > most {
					break
				}
			}
			if n != most+1 {
				t.Errorf("%v: %d values, not %d", content, n, most+1)
			}
		}
		if last := func(_ string, value any) bool { return value == "y" }; !Contains(content, last) || Contains([]any{"x"}, last) {
			t.Errorf("Contains misses the last value of %v, or finds it elsewhere", content)
		}
	}
}

func TestSchedulesWithoutADate(t *testing.T) {
	for schedule, want := range map[string]bool{
		"0 0 30 2 *": true, "0 0 29 2 *": false, "@daily": false, "no schedule": false, "TZ=UTC": false,
		"TZ=UTC 0 0 30 2 *": true,
	} {
		if got := IsNever(schedule); got != want {
			t.Errorf("%s: %t, want %t", schedule, got, want)
		}
	}
}
