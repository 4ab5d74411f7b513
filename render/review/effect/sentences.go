package effect

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
)

// MaxListed is the number of sentences in a list.
const MaxListed = 4

// List joins the first few sentences, and counts the others.
func List(sentences []kind.Sentence) kind.Sentence {
	joined := Join(sentences[:min(len(sentences), MaxListed)], ", ")
	if more := len(sentences) - MaxListed; more > 0 {
		joined += kind.Say(" and %d more", more)
	}
	return joined
}

// Join joins all sentences.
func Join(sentences []kind.Sentence, separator string) kind.Sentence {
	parts := make([]string, len(sentences))
	for i, s := range sentences {
		parts[i] = string(s)
	}
	return kind.Sentence(strings.Join(parts, separator))
}

// Quote lists the first few values, and counts the others.
func Quote(values []string) kind.Sentence {
	sentences := make([]kind.Sentence, len(values))
	for i, value := range values {
		sentences[i] = kind.Say("%s", value)
	}
	return List(sentences)
}

// The number of fields of an object that are told one by one. Of an added object the diff is as short.
const (
	MostChanged = 50
	mostAdded   = 16
)

// OfFields describes the fields of an added or changed object, and claims them. If there are too many, it tells
// the fields at risky paths one by one.
func OfFields(c compare.Change, fields []compare.FieldChange, risky sets.Set[string]) kind.Effect {
	e := kind.Effect{Type: FieldsChanged, What: "changes "}
	most := MostChanged
	say := SayChange
	if c.Before == nil {
		e.Type = ObjectAdded
		e.What = "is added with "
		most = mostAdded
		say = sayValue
	}
	if len(fields) == 0 {
		e.What = "is added"
		return e
	}
	var first, others []compare.FieldChange
	for _, f := range fields {
		e.Fields = append(e.Fields, f.Path)
		if len(fields) > most && risky.Has(f.Path) {
			first = append(first, f)
		} else {
			others = append(others, f)
		}
	}
	e.What += SayFields(first, most, say)
	if len(first) > 0 && len(others) > 0 {
		e.What += "; "
	}
	e.What += SayFields(others, most, say)
	return e
}

// SayFields lists fields with their values. If there are too many, it counts the fields of the longest branches that
// are few enough: of those with many fields or, if that is not enough, of all.
func SayFields(fields []compare.FieldChange, most int, say func(compare.FieldChange) kind.Sentence) kind.Sentence {
	var said []kind.Sentence
	if len(fields) <= most {
		for _, f := range fields {
			said = append(said, say(f))
		}
		return Join(said, "; ")
	}
	const deepest = 16
	steps := make([][][]int, len(fields))
	for i, f := range fields {
		steps[i] = pathStep.FindAllStringIndex(f.Path, deepest)
	}
	branch := func(i, depth int) string {
		path := fields[i].Path
		if len(steps[i]) >= depth {
			path = path[:steps[i][depth-1][1]]
		}
		return path
	}
	const many = 10
	for step := range 2 * deepest {
		depth := deepest - step/2
		least := many
		if step%2 == 1 {
			least = 2
		}
		said = nil
		for from := 0; from < len(fields); {
			path := branch(from, depth)
			to := from + 1
			for to < len(fields) && branch(to, depth) == path {
				to++
			}
			if to-from >= least {
				said = append(said, kind.Say("%s (%s)", path, kind.Count(int64(to-from), "field")))
				from = to
				continue
			}
			for ; from < to; from++ {
				said = append(said, say(fields[from]))
			}
		}
		if len(said) <= most {
			break
		}
	}
	return Join(said, "; ")
}

// pathStep matches a key or index in a path.
var pathStep = regexp.MustCompile(`\.?[^.\[]+|\[[^]]*\]`)

// sayValue describes a field of an added object.
func sayValue(f compare.FieldChange) kind.Sentence {
	return kind.Say("%s: %s", f.Path, *f.After)
}

// SayChangeOf describes the change of the field at a path, or names a field that stays.
func SayChangeOf(changed []compare.FieldChange, path string) kind.Sentence {
	for _, f := range changed {
		if f.Path == path {
			return SayChange(f)
		}
	}
	return kind.Say("%s", path)
}

// SayChange describes a field of a changed object.
func SayChange(f compare.FieldChange) kind.Sentence {
	const unset = kind.Sentence("unset")
	switch {
	case f.Before == nil:
		return kind.Say("%s: %s → %s", f.Path, unset, *f.After)
	case f.After == nil:
		return kind.Say("%s: %s → %s", f.Path, *f.Before, unset)
	}
	was, is := kind.SayBoth(*f.Before, *f.After)
	return kind.Say("%s: %s → %s", f.Path, was, is)
}
