package charts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Templates of a chart may take maxWork: a byte or more for each byte that they write, and for each
// round of a loop and call of a template. They may call each other maxDepth deep.
const (
	maxWork  = 1 << 30
	maxDepth = 400
)

var (
	errEndless = errors.New("takes too long, or writes too much: bound its loops, and the templates that include themselves")
	errDeep    = fmt.Errorf("templates include each other over %d deep: end the recursion", maxDepth)
)

// meter measures the work of templates. Go cannot interrupt a template, so the meter writes calls of
// itself into the text: at the start and end of each template, and at the end of each loop.
type meter struct {
	work, depth int
	largest     int // length of a text that a function returned
}

func newMeter() *meter { return &meter{work: maxWork, largest: 1 << 10} }

// take takes an amount of work.
func (m *meter) take(amount int) error {
	if m.work -= amount; m.work < 0 {
		return errEndless
	}
	return nil
}

// enter begins a template of some length with some actions, each of which may write the largest text.
func (m *meter) enter(length, actions int) (string, error) {
	if m.depth++; m.depth > maxDepth {
		return "", errDeep
	}
	return m.round(length, actions)
}

// leave ends a template.
func (m *meter) leave() string { m.depth--; return "" }

// round ends a round of a loop.
func (m *meter) round(length, actions int) (string, error) {
	if m.largest < 1<<20 {
		actions = 0 // texts of usual length count where functions make them
	}
	return "", m.take(1<<10 + length + actions*m.largest)
}

// text prepares the text of tpl.
func (m *meter) text(text string) (string, error) {
	if err := m.take(1<<10 + len(text)); err != nil {
		return "", err
	}
	return fmt.Sprintf("{{gatehouseEnter %d %d}}%s{{gatehouseLeave}}", len(text), strings.Count(text, "{{"), instrument(text)), nil
}

// instrumentAll adds the calls of the meter to all templates of a chart and its dependencies.
func (m *meter) instrumentAll(c *chart.Chart) {
	for _, f := range c.Templates {
		f.Data = []byte(instrument(string(f.Data)))
	}
	for _, d := range c.Dependencies() {
		m.instrumentAll(d)
	}
}

// meterCalls matches the calls of a meter in an error that quotes a template.
var meterCalls = regexp.MustCompile(`\{\{-? ?gatehouse(Enter|Leave|Round)[ 0-9]*\}\}| at <gatehouse[^>]*>|error calling gatehouse\w+: |gatehouseText `)

// block is an open block of a template, with its place in the output and the number of its actions.
type block struct {
	keyword        string
	start, actions int
}

// instrument returns a template with calls of the meter. Each stands right before an action, and trims
// as that action does, so the template writes the same text, in the same lines.
func instrument(text string) string {
	var out strings.Builder
	var open []block
	for {
		start := strings.Index(text, "{{")
		if start < 0 {
			break
		}
		length := actionLength(text[start:])
		action := text[start : start+length]
		out.WriteString(text[:start])
		text = text[start+length:]
		trim, body := "", strings.TrimPrefix(action, "{{")
		if len(body) > 1 && body[0] == '-' && strings.ContainsRune(" \t\r\n", rune(body[1])) {
			trim, body = "- ", body[1:]
		}
		body = strings.TrimLeft(body, " \t\r\n")
		keyword := word(body)
		if strings.HasPrefix(body, "/*") {
			out.WriteString(action)
			continue
		}
		if len(open) > 0 {
			b := &open[len(open)-1]
			if b.actions++; b.keyword == "define" && b.actions == 1 {
				fmt.Fprintf(&out, "{{%s gatehouseEnter %d %d}}", strings.TrimSpace(trim), bodyLength(text), strings.Count(text[:bodyLength(text)], "{{"))
			}
		}
		switch keyword {
		case "if", "with", "range":
			open = append(open, block{keyword: keyword, start: out.Len()})
		case "define", "block":
			open = append(open, block{keyword: "define", start: out.Len()})
		case "end":
			if len(open) == 0 {
				break
			}
			b := open[len(open)-1]
			open = open[:len(open)-1]
			switch b.keyword {
			case "define":
				fmt.Fprintf(&out, "{{%s gatehouseLeave}}", strings.TrimSpace(trim))
			case "range":
				fmt.Fprintf(&out, "{{%s gatehouseRound %d %d}}", strings.TrimSpace(trim), out.Len()-b.start, b.actions)
			}
		}
		out.WriteString(limitTpl(action))
	}
	return out.String() + text
}

// bodyLength returns the length of the body of a template, at most: up to the next define.
func bodyLength(text string) int {
	if end := strings.Index(text, "define "); end >= 0 {
		return end
	}
	return len(text)
}

// word returns the word that a text begins with.
func word(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// actionLength returns the length of the action that a text begins with.
func actionLength(text string) int {
	if body := strings.TrimLeft(strings.TrimPrefix(text[2:], "-"), " \t\r\n"); strings.HasPrefix(body, "/*") {
		if end := strings.Index(text, "*/"); end >= 0 {
			if closing := strings.Index(text[end:], "}}"); closing >= 0 {
				return end + closing + 2
			}
		}
		return len(text)
	}
	for i := 2; i < len(text); {
		if strings.HasPrefix(text[i:], "}}") {
			return i + 2
		}
		i += tokenLength(text[i:])
	}
	return len(text)
}

// tokenLength returns the length of the quoted text that a text begins with, or 1.
func tokenLength(text string) int {
	quote := text[0]
	if quote != '"' && quote != '\'' && quote != '`' {
		return 1
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// limitTpl passes the first argument of tpl in an action through the meter.
func limitTpl(action string) string {
	var out strings.Builder
	for i := 0; i < len(action); {
		if word(action[i:]) != "tpl" || i > 0 && (strings.ContainsRune("$._", rune(action[i-1])) || word(action[i-1:i]) != "") {
			n := tokenLength(action[i:])
			out.WriteString(action[i : i+n])
			i += n
			continue
		}
		start := i + len("tpl")
		for start < len(action) && strings.ContainsRune(" \t\r\n", rune(action[start])) {
			start++
		}
		end, depth := start, 0
		for end < len(action) && (depth > 0 || !strings.ContainsRune(" \t\r\n|)}", rune(action[end]))) {
			switch action[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
			end += tokenLength(action[end:])
		}
		if start == end { // only tpl itself: Helm reports it
			out.WriteString(action[i:])
			return out.String()
		}
		out.WriteString(action[i:start] + "(gatehouseText " + limitTpl(action[start:end]) + ")")
		i = end
	}
	return out.String()
}
