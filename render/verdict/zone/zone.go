// Package zone is a format of text fields for any CustomResourceDefinition: an RFC 3339 time, with a
// time zone behind it or not, as in 2027-03-28T06:00:00+02:00[Europe/Berlin]. A field has the format
// if a rule of it has the message Rule. The API server evaluates that rule with the time zones of its
// machine, and so would time.LoadLocation here: this package has its own, equal on every machine.
package zone

import (
	"archive/zip"
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/structural"
)

// Rule is the message of the rule of a field with the format.
const Rule = "must have the offset of its time zone at that time"

func isRule(rule apiextensionsv1.ValidationRule) bool { return rule.Message == Rule }

// DisableRules makes the rules of the format in a schema true, for Errors to take their place. It
// reports whether there are any.
func DisableRules(s *schema.Structural) (found bool) {
	(&schema.Visitor{Structural: func(s *schema.Structural) bool {
		if !slices.ContainsFunc(s.XValidations, isRule) {
			return false
		}
		found = true
		s.XValidations = slices.Clone(s.XValidations) // the definition shares them
		for i, rule := range s.XValidations {
			if isRule(rule) {
				s.XValidations[i].Rule = "true"
			}
		}
		return true
	}}).Visit(s)
	return found
}

// Errors returns the errors of the fields in content with the format.
func Errors(s *schema.Structural, content any) (errs field.ErrorList) {
	structural.Walk(s, content, func(s *schema.Structural, value any, path []string) {
		text, isText := value.(string)
		if !isText || !slices.ContainsFunc(s.XValidations, isRule) {
			return
		}
		if problem := Check(text); problem != "" {
			errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: manifest.JoinField(path),
				BadValue: text, Detail: problem})
		}
	})
	return errs
}

// files has one file, named after a release of the tz database: the time zones of Go.
//
//go:embed *.zip
var files embed.FS

var database = sync.OnceValues(func() (zones *zip.Reader, release string) {
	names, _ := fs.Glob(files, "*.zip")
	content, err := files.ReadFile(names[0])
	if err == nil {
		zones, err = zip.NewReader(bytes.NewReader(content), int64(len(content)))
	}
	if err != nil {
		panic(err) // it is embedded
	}
	return zones, strings.TrimSuffix(names[0], ".zip")
})

// Release returns the release of the tz database, such as 2025c.
func Release() string {
	_, release := database()
	return release
}

// load returns a time zone. The error suggests another name.
func load(name string) (*time.Location, error) {
	zones, release := database()
	content, err := fs.ReadFile(zones, name)
	if err == nil {
		return time.LoadLocationFromTZData(name, content)
	}
	return nil, fmt.Errorf("%s is not a time zone of release %s of the tz database%s", name, release, Advice(name))
}

// Advice returns what to write in place of the name of a time zone that is unknown, for the end of a message.
func Advice(name string) string {
	if sign, hours, isOffset := fixedOffset(name); isOffset {
		return fmt.Sprintf(": clocks that are at it all year are in Etc/GMT%s%s, with the opposite sign", sign, hours)
	}
	zones, _ := database()
	var known []string
	for _, f := range zones.File {
		known = append(known, f.Name)
	}
	return cmp.Or(manifest.DidYouMean(name, known), ": write one like Europe/Berlin")
}

// fixedOffset returns the opposite sign of an offset such as GMT+1 or UTC-5, and its hours.
func fixedOffset(name string) (sign, hours string, isOffset bool) {
	offset, isGMT := strings.CutPrefix(name, "GMT")
	offset, isUTC := strings.CutPrefix(offset, "UTC")
	hours = strings.TrimLeft(offset, "+-")
	n, err := strconv.Atoi(hours)
	if !isGMT && !isUTC || err != nil || n == 0 || n > 12 || len(offset) != len(hours)+1 {
		return "", "", false
	}
	if offset[0] == '+' {
		return "-", hours, true
	}
	return "+", hours, true
}

// Check returns the problem of a time, with the text to write instead; empty for none.
func Check(text string) string {
	parsed, name, err := kind.ParseTime(text)
	if err != nil {
		return err.Error()
	}
	if name == "" {
		return ""
	}
	location, err := load(name)
	if err != nil {
		return err.Error()
	}
	isOpen := strings.Contains(text, "Z[") || strings.Contains(text, "-00:00[") // RFC 9557: any local offset
	if isOpen || offset(parsed.In(location)) == offset(parsed) {
		return ""
	}
	// The offset may change between the day before and the day after.
	clock := parsed.UTC().Add(offset(parsed))
	day := 24 * time.Hour
	choices := []time.Time{clock.Add(-offset(clock.Add(-day).In(location))),
		clock.Add(-offset(clock.Add(day).In(location)))}
	isShown := func(t time.Time) bool { return t.Add(offset(t.In(location))).Equal(clock) }
	reason := Rule
	switch first, second := isShown(choices[0]), isShown(choices[1]); {
	case !first && !second:
		reason = name + " has no such local time, as its clocks go forward"
	case first && second && !choices[0].Equal(choices[1]):
		reason = name + " has this local time twice, as its clocks go back"
	case first:
		choices = choices[:1]
	default:
		choices = choices[1:]
	}
	var spelled []string
	for _, t := range choices {
		if offset(t.In(location))%time.Minute != 0 {
			return fmt.Sprintf("the offset of %s at that time has seconds, which RFC 3339 cannot say: write the "+
				"time without the zone", name)
		}
		spelled = append(spelled, t.In(location).Format("2006-01-02T15:04:05.999999999-07:00")+"["+name+"]")
	}
	return reason + ": write " + strings.Join(spelled, " or ")
}

// offset returns the difference between the clocks of a time's zone and UTC.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
