package comment

import (
	"reflect"
	"strings"
	"testing"
)

// example returns a comment with a known effect, a risk, and the diff of one of the objects.
func example(diff string) *Comment {
	return &Comment{
		Tables: []*Section{{
			Title: Line{Text: "### prod\n\n"}, Open: "|-|-|-|\n", End: "\n",
			Lines: []Line{
				{Row: "`a`", Name: "`a`", Text: "changes"},
				{Row: "`b`", Name: "`b`", Text: "is removed", Brief: "is gone", Mark: Risk, Severity: 2},
				{Row: "`a`", Name: "`a`", Text: "restarts", Mark: Unknown, Count: 3},
			},
		}},
		Folds: []*Section{{
			Open: "<details>" + CountMark + "\n\n", End: "</details>\n",
			Lines: []Line{{Name: "`a`", Text: diff, IsDiff: true, Size: len(diff), Alike: []string{"`c`", "`d`"}}},
		}},
	}
}

// TestWholeCommentJoinsTheLinesOfARow has the layout of a comment that fits.
func TestWholeCommentJoinsTheLinesOfARow(t *testing.T) {
	want := strings.Join([]string{
		"### prod\n",
		"|-|-|-|",
		"| ❔ | `a` | changes<br>restarts |",
		"| ⚠️ | `b` | is removed |",
		"",
		"<details>1 diff\n",
		"```diff", "+x", "```\n",
		"The same: `c`, `d`.\n",
		"</details>", "",
	}, "\n")
	if got := example("+x\n").Compose(1000, "render diff"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestCutCommentKeepsRisksLongest has less and less room.
func TestCutCommentKeepsRisksLongest(t *testing.T) {
	for _, test := range []struct {
		limit      int
		has, lacks []string
	}{
		{2600, []string{"restarts", "is removed", "1 diff"}, []string{"is cut"}},
		{600, []string{"changes<br>restarts", "is removed", "Without a diff:\n\n- `a`\n", "is cut. `cmd` shows all diffs"}, []string{"<details>", "omits"}},
		{362, []string{"is gone", "- ❔ `a`\n", "is cut. It omits 3 unknown effects, 1 known effect."}, []string{"<details>", "restarts"}},
	} {
		got := example(strings.Repeat("+x\n", 800)).Compose(test.limit, "cmd")
		if len(got) > test.limit {
			t.Errorf("%d bytes of %d", len(got), test.limit)
		}
		for _, text := range test.has {
			if !strings.Contains(got, text) {
				t.Errorf("at %d bytes: lacks %q:\n%s", test.limit, text, got)
			}
		}
		for _, text := range test.lacks {
			if strings.Contains(got, text) {
				t.Errorf("at %d bytes: has %q:\n%s", test.limit, text, got)
			}
		}
	}
}

// TestLinesCostWhatTheyAdd compares the room that lines take with the bytes of the comment that they are in.
func TestLinesCostWhatTheyAdd(t *testing.T) {
	const room, count = 10_000, 24 // of a count, which is seldom as long
	c := example("+x\n")
	c.Tables[0].Lines = c.Tables[0].Lines[:2] // each has its own row
	for _, lines := range [][]*Line{linesOf(c.Tables), linesOf(c.Folds)} {
		before := len(c.format())
		left, isWhole := show(lines, room, 0)
		added := len(c.format()) - before
		if cost := room - left; !isWhole || cost < added || cost > added+count {
			t.Errorf("cost %d, added %d", cost, added)
		}
	}
}

// TestMeasuringALineLeavesItAlone measures a title, rows and a diff, each twice.
func TestMeasuringALineLeavesItAlone(t *testing.T) {
	c := example("+x\n")
	for _, l := range append(linesOf(c.Tables), linesOf(c.Folds)...) {
		was := *l
		cost := l.cost()
		if again := l.cost(); again != cost || !reflect.DeepEqual(*l, was) {
			t.Errorf("%q: cost %d, then %d, and is %q", was.Text, cost, again, l.Text)
		}
	}
}

// TestRanksOrderLines has two lines in their order.
func TestRanksOrderLines(t *testing.T) {
	for name, test := range map[string][2]Line{
		"the graver risk":            {{Mark: Risk, Severity: 3}, {Mark: Risk, Severity: 1}},
		"a risk before a title":      {{Mark: Risk, Severity: 1}, {isTitle: true}},
		"a title before an unknown":  {{isTitle: true}, {Mark: Unknown}},
		"an unknown before a known":  {{Mark: Unknown, Size: 9}, {Size: 1}},
		"of equal rank the smaller":  {{Size: 1}, {Size: 9}},
		"a large risk before others": {{Mark: Risk, Severity: 1, Size: 9}, {Mark: Unknown, Size: 1}},
	} {
		if CompareRanks(test[0], test[1]) >= 0 || CompareRanks(test[1], test[0]) <= 0 {
			t.Errorf("%s: in another order", name)
		}
	}
}
