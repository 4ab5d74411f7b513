// Package page writes a review as one self-contained HTML page, for what a comment cannot hold: all effects and diffs,
// and a picture of the deliveries. The page asks nothing from anywhere, and says so to the browser.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review"
	"example.com/gatehouse/render/review/effect"
)

var (
	//go:embed page.html
	markup string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// page is what the template shows. All texts are visible: hostile names cannot hide or reorder characters.
type page struct {
	Policy   string // of the content
	Style    template.CSS
	Script   template.JS
	Sentence string
	Command  string
	Errors   []string
	Unbuilt  []string
	Groups   []group
	Pictures []picture
}

// group has the rows of environments with equal changes, or of the files around them.
type group struct {
	Title string
	Names []string
	Rows  []row
}

// row is a changed object, or a file, with its effects and diff.
type row struct {
	Rank    effect.Rank
	Action  compare.Action
	Name    string
	By      string // the delivery
	Effects []said
	Diff    []line
	Alike   int // other objects with the same diff, which has no place of its own
}

// said is an effect as words and values.
type said struct{ What, Risk []piece }

type piece struct {
	Text    string
	IsValue bool
}

// Write writes the page of a review. The command shows the same in a clone.
func Write(w io.Writer, d *compare.Diff, r *review.Review, problems []manifest.Problem, command string) error {
	p := page{Policy: policy(), Style: template.CSS(style), Script: template.JS(script), //nolint:gosec // embedded
		Sentence: r.Sentence(), Command: command}
	for _, problem := range problems {
		p.Errors = append(p.Errors, problem.String())
	}
	for _, name := range r.Unbuilt {
		p.Unbuilt = append(p.Unbuilt, kind.Visible(name))
	}
	if rows := rowsOfFrame(r.Frame); len(rows) > 0 {
		p.Groups = append(p.Groups, group{Title: "Around the review", Rows: rows})
	}
	for _, alike := range r.Groups() {
		g := group{Title: alike[0].Heading("", len(alike)), Rows: rowsOf(alike[0].Effects, alike[0].Changes)}
		for _, e := range alike {
			g.Names = append(g.Names, kind.Visible(e.Name))
		}
		p.Groups = append(p.Groups, g)
	}
	for _, both := range d.Environments {
		if both.Differs() && both.Environment != nil && both.Environment.IsThere() {
			p.Pictures = append(p.Pictures, pictureOf(both))
		}
	}
	t, err := template.New("page").Parse(markup)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// policy allows the style and the script of the page, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

func rowsOfFrame(frame []review.FrameReview) (rows []row) {
	for _, c := range frame {
		r := row{Name: kind.Visible(c.File), Action: compare.Changed, Rank: effect.IsKnown,
			Effects: []said{{What: pieces(kind.Sentence(c.Action)), Risk: pieces(c.Risk)}}}
		if c.Risk != "" {
			r.Rank = effect.IsRisk
		}
		rows = append(append(rows, r), rowsOf(c.Effects, c.Changes)...)
	}
	return rows
}

// rowsOf returns a row for each object with an effect or a change, in the order of the effects.
func rowsOf(effects []effect.Effect, changes []review.Change) (rows []row) {
	at := map[manifest.ID]int{}
	rowOf := func(o manifest.ID) *row {
		if _, is := at[o]; !is {
			at[o] = len(rows)
			rows = append(rows, row{Name: kind.Visible(o.String()), Rank: effect.IsKnown})
		}
		return &rows[at[o]]
	}
	for _, e := range effects {
		r := rowOf(e.Object)
		r.Effects = append(r.Effects, said{pieces(e.What), pieces(e.Risk)})
		if r.Rank != effect.IsRisk && e.Rank != effect.IsKnown {
			r.Rank = e.Rank
		}
	}
	first := map[string]manifest.ID{}
	for _, c := range changes {
		r := rowOf(c.Object)
		r.Action = c.Action
		if c.InstalledBy != (manifest.ID{}) {
			r.By = kind.Visible(c.InstalledBy.String())
		}
		lines := c.ChangedLines()
		if same, is := first[lines]; is && lines != "" {
			rowOf(same).Alike++
			r.By = strings.TrimPrefix(r.By+"; the same diff as "+kind.Visible(same.String()), "; ")
			continue
		}
		first[lines] = c.Object
		r.Diff = sideBySide(c.Diff)
	}
	return rows
}

// pieces takes a sentence apart: a value of a manifest is never taken for words of ours.
func pieces(s kind.Sentence) (all []piece) {
	const start, end = "\x01", "\x02" // no value has these: it is visible
	text := s.Format(func(value string) string { return start + value + end })
	for part := range strings.SplitSeq(text, start) {
		value, rest, isValue := strings.Cut(part, end)
		if !isValue {
			rest = part // there is no value
		}
		if isValue {
			all = append(all, piece{value, true})
		}
		if rest != "" {
			all = append(all, piece{rest, false})
		}
	}
	return slices.Clip(all)
}
