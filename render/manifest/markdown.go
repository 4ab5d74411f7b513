package manifest

import "strings"

// CodeSpan returns text on one line as code in Markdown, in the cell of a table. Nothing in code
// is a link, a mention, an image or HTML to GitHub and GitLab.
func CodeSpan(text string) string {
	fence := strings.Repeat("`", longestFence(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// CodeBlock returns lines as a block of code in Markdown.
func CodeBlock(language, lines string) string {
	fence := strings.Repeat("`", max(longestFence(lines), 2)+1)
	return fence + language + "\n" + lines + fence + "\n"
}

// longestFence returns how many backticks follow each other in text at most.
func longestFence(text string) (longest int) {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
