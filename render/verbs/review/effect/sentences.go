package effect

import (
	"regexp"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
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

// OfFields describes the fields of an added or changed object, and claims them.
func OfFields(c diff.Change, fields []diff.FieldChange) (e kind.Effect) {
	for _, f := range fields {
		e.Fields = append(e.Fields, f.Path)
	}
	if e.What = "changes " + SayFields(fields, MostChanged, SayChange); c.Before == nil {
		e.What = "is added with " + SayFields(fields, mostAdded, SayValue)
	}
	return e
}

// SayFields lists fields with their values. If there are too many, it counts the fields of branches.
func SayFields(fields []diff.FieldChange, most int, say func(diff.FieldChange) kind.Sentence) kind.Sentence {
	var said []kind.Sentence
	if len(fields) <= most {
		for _, f := range fields {
			said = append(said, say(f))
		}
		return Join(said, "; ")
	}
	for _, branch := range branchesOf(fields, most) {
		if len(branch.fields) == 1 {
			said = append(said, say(branch.fields[0]))
		} else {
			said = append(said, kind.Say("%s (%s)", branch.path, kind.Count(int64(len(branch.fields)), "field")))
		}
	}
	return Join(said, "; ")
}

// SayValue describes a field of an added object.
func SayValue(f diff.FieldChange) kind.Sentence {
	return kind.Say("%s: %s", f.Path, *f.After)
}

// SayChange describes a field of a changed object.
func SayChange(f diff.FieldChange) kind.Sentence {
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

// branch is a common start of the paths of fields.
type branch struct {
	path   string
	fields []diff.FieldChange
}

// branchesOf returns the longest branches of sorted fields, at most a number of them if possible.
func branchesOf(fields []diff.FieldChange, most int) (branches []branch) {
	const deepest = 16
	steps := make([][][]int, len(fields))
	for i, f := range fields {
		steps[i] = pathStep.FindAllStringIndex(f.Path, deepest)
	}
	for depth := deepest; depth > 0 && (branches == nil || len(branches) > most); depth-- {
		branches = nil
		for i, f := range fields {
			path := f.Path
			if len(steps[i]) >= depth {
				path = path[:steps[i][depth-1][1]]
			}
			if last := len(branches) - 1; last >= 0 && branches[last].path == path {
				branches[last].fields = append(branches[last].fields, f)
			} else {
				branches = append(branches, branch{path, []diff.FieldChange{f}})
			}
		}
	}
	return branches
}

// pathStep matches a key or index in a path.
var pathStep = regexp.MustCompile(`\.?[^.\[]+|\[[^]]*\]`)
