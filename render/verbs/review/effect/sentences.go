package effect

import (
	"strings"

	"example.com/gatehouse/kind"
)

// MaxListed is the number of sentences in a list.
const MaxListed = 4

// List joins the first few sentences, and counts the others.
func List(sentences []kind.Sentence) kind.Sentence {
	parts := make([]string, 0, MaxListed)
	for _, s := range sentences[:min(len(sentences), MaxListed)] {
		parts = append(parts, string(s))
	}
	joined := kind.Sentence(strings.Join(parts, ", "))
	if more := len(sentences) - MaxListed; more > 0 {
		joined += kind.Say(" and %d more", more)
	}
	return joined
}

// Quote lists the first few values, and counts the others.
func Quote(values []string) kind.Sentence {
	sentences := make([]kind.Sentence, len(values))
	for i, value := range values {
		sentences[i] = kind.Say("%s", value)
	}
	return List(sentences)
}
