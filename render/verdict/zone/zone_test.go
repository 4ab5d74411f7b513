package zone

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

var suggestion = regexp.MustCompile(`\d{4}-\S+\]`)

// Around each change of the clocks of each zone in a year, Check suggests valid times: one with the same
// local time, two if clocks show it twice, and other local times if they skip it.
func TestCheckSuggestsValidTimes(t *testing.T) {
	zones, _ := database()
	changes := 0
	for _, f := range zones.File {
		location, err := load(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := transition(location); !change.IsZero() && change.Year() == 2027; _, change = change.ZoneBounds() {
			changes++
			for minutes := -180; minutes <= 180; minutes += 30 {
				near := change.Add(time.Duration(minutes) * time.Minute)
				for _, before := range []bool{false, true} {
					clock := near.UTC().Add(offset(near))
					if before {
						clock = near.UTC().Add(offset(change.Add(-time.Second)))
					}
					checkSuggestions(t, clock.Format("2006-01-02T15:04:05"), f.Name, location)
				}
			}
		}
	}
	if changes < 200 {
		t.Errorf("%d changes of clocks in a year", changes)
	}
}

// transition returns the bounds of the offset of a zone at the start of 2027.
func transition(location *time.Location) (start, end time.Time) {
	return time.Date(2027, 1, 1, 12, 0, 0, 0, location).ZoneBounds()
}

// checkSuggestions tests the suggestions for a local time with an offset that is wrong in any zone.
func checkSuggestions(t *testing.T, clock, name string, location *time.Location) {
	t.Helper()
	said := Check(fmt.Sprintf("%s+23:59[%s]", clock, name))
	suggested := suggestion.FindAllString(said, -1)
	var want []string // by trying all offsets
	for minutes := -12 * 60; minutes <= 14*60; minutes += 15 {
		text := clock + time.Unix(0, 0).In(time.FixedZone("", minutes*60)).Format("-07:00")
		if at, err := time.Parse(time.RFC3339, text); err != nil || offset(at.In(location)) == offset(at) {
			want = append([]string{text + "[" + name + "]"}, want...)
		}
	}
	if len(want) == 0 { // clocks skip it
		for _, s := range suggested {
			if problem := Check(s); problem != "" || strings.HasPrefix(s, clock) {
				t.Errorf("%s in %s: %s: %s", clock, name, said, problem)
			}
		}
		if len(suggested) != 2 || !strings.Contains(said, "no such local time") {
			t.Errorf("%s in %s: %s", clock, name, said)
		}
		return
	}
	if fmt.Sprint(suggested) != fmt.Sprint(want) || strings.Contains(said, "twice") != (len(want) == 2) {
		t.Errorf("%s in %s: %s, want %s", clock, name, said, want)
	}
}

func TestCheckAcceptsValidTimes(t *testing.T) {
	for _, text := range []string{"2027-03-28T06:00:00+02:00[Europe/Berlin]", "2027-03-28T02:30:00Z[Europe/Berlin]", "2027-03-28T02:30:00-00:00[Europe/Berlin]", "2027-10-31T02:30:00+01:00[Europe/Berlin]", "2027-10-31T02:30:00+02:00[Europe/Berlin]", "2027-01-01T00:00:00+05:00"} {
		if problem := Check(text); problem != "" {
			t.Errorf("%s: %s", text, problem)
		}
	}
}

func TestReleaseIsOfTheTZDatabase(t *testing.T) {
	if release := Release(); !regexp.MustCompile(`^20\d\d[a-z]+$`).MatchString(release) {
		t.Error(release)
	}
}

func TestErrorsReplacesTheRuleOfAnyDefinition(t *testing.T) {
	due := schema.Structural{ValidationExtensions: schema.ValidationExtensions{XValidations: apiextensionsv1.ValidationRules{{Rule: "self.size() > 0"}, {Rule: "false", Message: Rule}}}}
	s := &schema.Structural{Properties: map[string]schema.Structural{"due": due, "other": {}}}
	if !DisableRules(s) || s.Properties["due"].XValidations[1].Rule != "true" || due.XValidations[1].Rule != "false" {
		t.Errorf("rules %v of %v", s.Properties["due"].XValidations, due.XValidations)
	}
	const wrong = "2027-03-28T06:00:00+05:00[Europe/Berlin]"
	errs := Errors(s, map[string]any{"due": wrong, "other": wrong})
	if len(errs) != 1 || errs[0].Field != "due" || !strings.Contains(errs[0].Detail, "06:00:00+02:00[Europe/Berlin]") {
		t.Error(errs)
	}
}
