package verdict_test

import "pgregory.net/rapid"

// value is drawn from valid values and, seldom, invalid ones. A function among them draws the value.
type value struct{ valid, invalid []any }

func good(valid ...any) value { return value{valid: valid} }

func (v value) or(invalid ...any) value { return value{v.valid, invalid} }

// drawn returns a value from a function.
func drawn(draw func(r *rapid.T) any) value { return good(draw) }

func (v value) draw(r *rapid.T, label string) any {
	from := v.valid
	if len(v.valid) == 0 || len(v.invalid) > 0 && oneIn(r, 30, label+" is invalid") {
		from = v.invalid
	}
	chosen := from[rapid.IntRange(0, len(from)-1).Draw(r, label)]
	if draw, ok := chosen.(func(r *rapid.T) any); ok {
		return draw(r)
	}
	return chosen
}

// oneIn is true once in n times.
func oneIn(r *rapid.T, n int, label string) bool { return rapid.IntRange(1, n).Draw(r, label) == n }

// maybe sets a field at random.
func maybe(r *rapid.T, fields map[string]any, name string, v value) {
	often := 2
	if len(v.valid) == 0 {
		often = 60
	}
	if oneIn(r, often, name+" is set") {
		fields[name] = v.draw(r, name)
	}
}

// listOf returns a list of some values.
func listOf(v value) value {
	return drawn(func(r *rapid.T) any {
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(r, "length") {
			list = append(list, v.draw(r, "item"))
		}
		return list
	})
}

// mapOf returns a map of some keys to some values.
func mapOf(keys, values value) value {
	return drawn(func(r *rapid.T) any {
		fields := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(r, "length") {
			fields[keys.draw(r, "key").(string)] = values.draw(r, "value")
		}
		return fields
	})
}
