package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// timelineOf returns the timeline of objects named a, b, c and so on.
func timelineOf(t *testing.T, times ...string) string {
	t.Helper()
	var entries []*entry
	for i, text := range times {
		due, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, &entry{due: due, namespace: "shop", name: fmt.Sprintf("%c", 'a'+i)})
	}
	var page bytes.Buffer
	writeTimeline(&page, entries, "At")
	diagram, _, _ := strings.Cut(strings.TrimPrefix(page.String(), "```mermaid\ntimeline\n"), "```")
	return strings.NewReplacer("#58;", ":", "\n  : ", "; ").Replace(diagram)
}

func TestPeriodsAreAsShortAsThePageAllows(t *testing.T) {
	every := func(step time.Duration, n int) (times []string) {
		for i := range n {
			times = append(times, time.Date(2027, 1, 30, 22, 0, 0, 0, time.UTC).Add(time.Duration(i)*step).Format(time.RFC3339Nano))
		}
		return times
	}
	for name, test := range map[string]struct {
		times []string
		want  string
	}{
		"one":         {every(0, 1), "2027-01-30 22:00; a\n"},
		"at once":     {every(0, 3), "2027-01-30 22:00; a; b; c\n"},
		"nanoseconds": {every(1, 2), "2027-01-30 22:00; a\n2027-01-30 22:00:00.000000001; b\n"},
		"seconds":     {every(time.Second, 8), "2027-01-30 22:00 to 22:09; 22:00 a; 22:00:01 b; 22:00:02 c; 22:00:03 d; 22:00:04 e; 22:00:05 f; 22:00:06 g; 22:00:07 h\n"},
		"minutes":     {every(8*time.Minute, 8), "2027-01-30 22:00 to 22:09; 22:00 a; 22:08 b\n2027-01-30 22:10 to 22:19; 22:16 c\n2027-01-30 22:20 to 22:29; 22:24 d\n2027-01-30 22:30 to 22:39; 22:32 e\n2027-01-30 22:40 to 22:49; 22:40 f; 22:48 g\n2027-01-30 22:50 to 22:59; 22:56 h\n"},
		"hours":       {every(40*time.Minute, 9), "2027-01-30 22:00 to 22:59; 22:00 a; 22:40 b\n2027-01-30 23:00 to 23:59; 23:20 c\n2027-01-31 00:00 to 00:59; 00:00 d; 00:40 e\n2027-01-31 01:00 to 01:59; 01:20 f\n2027-01-31 02:00 to 02:59; 02:00 g; 02:40 h\n2027-01-31 03:00 to 03:59; 03:20 i\n"},
		"weeks":       {every(36*time.Hour, 8), "week of 2027-01-25; 01-30 22:00 a\nweek of 2027-02-01; 02-01 10:00 b; 02-02 22:00 c; 02-04 10:00 d; 02-05 22:00 e; 02-07 10:00 f\nweek of 2027-02-08; 02-08 22:00 g; 02-10 10:00 h\n"},
		"quarters":    {every(31*24*time.Hour, 8), "2027 Q1; 01-30 22:00 a; 03-02 22:00 b\n2027 Q2; 04-02 22:00 c; 05-03 22:00 d; 06-03 22:00 e\n2027 Q3; 07-04 22:00 f; 08-04 22:00 g; 09-04 22:00 h\n"},
		"ever": {
			[]string{"0001-01-01T00:00:01Z", "1066-10-14T09:00:00Z", "1969-12-31T23:59:59Z", "2027-01-04T05:00:00Z", "2101-01-01T00:00:00Z", "3000-01-01T00:00:00Z", "5000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"},
			"0000 to 0999; 0001-01-01 00:00:01 a\n1000 to 1999; 1066-10-14 09:00 b; 1969-12-31 23:59:59 c\n2000 to 2999; 2027-01-04 05:00 d; 2101-01-01 00:00 e\n3000 to 3999; 3000-01-01 00:00 f\n5000 to 5999; 5000-01-01 00:00 g\n9000 to 9999; 9999-12-31 23:59:59 h\n",
		},
		"too many": {every(0, 14), "2027-01-30 22:00; a; b; c; d; e; f; g; h; i; j; k; and 3 more\n"},
	} {
		if got := timelineOf(t, test.times...); got != test.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestAnyTimesNeedFewColumns(t *testing.T) {
	for _, step := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 100 * 24 * time.Hour, 36500 * 24 * time.Hour} {
		for n := 1; n < 70; n++ {
			var times []string
			for i := range n {
				times = append(times, time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC).Add(time.Duration(i)*step).Format(time.RFC3339))
			}
			if got := strings.Count(timelineOf(t, times...), "\n"); got > maxPeriods {
				t.Errorf("%d times, %s apart: %d columns", n, step, got)
			}
		}
	}
}

func TestMermaidTextIsEscapedAndFolded(t *testing.T) {
	for text, want := range map[string]string{
		"2027-01-04 05:00 shop/a.b (suspended)": "2027-01-04 05#58;00 shop/a.b (suspended)",
		"a;b#c\"<d>%%{é}":                       "a#59;b#35;c#34;#60;d#62;#37;#37;#123;#233;#125;",
		folded("price-change-of-the-new-year"):  "price-change-of-the-<br>new-year",
		folded(strings.Repeat("é", 21)):         strings.Repeat("#233;", 20) + "<br>#233;",
	} {
		if got := inMermaid(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
