package manifest

import "strings"

// CodeSpan returns one line of text as Markdown code for a table cell. GitHub and GitLab find no
// links, mentions, images or HTML in code.
func CodeSpan(text string) string {
	fence := strings.Repeat("`", longestFence(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// CodeBlock returns lines as a Markdown code block.
func CodeBlock(language, lines string) string {
	fence := strings.Repeat("`", max(longestFence(lines), 2)+1)
	return fence + language + "\n" + lines + fence + "\n"
}

// longestFence returns the length of the longest run of backticks.
func longestFence(text string) (longest int) {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
