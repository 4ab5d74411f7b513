// Package zone checks that a time has the offset of the time zone behind it. It has its own
// copy of the time zones: time.LoadLocation takes those of the machine first, and its answer is
// then not the same on every machine.
package zone

import (
	"archive/zip"
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// Rule is the message of the rule in a CustomResourceDefinition that Check stands in for: the
// API server evaluates it with the time zones of its machine.
const Rule = "must have the offset of its time zone at that time"

// files has one file: the time zones that Go comes with, by the name of their release.
//
//go:embed *.zip
var files embed.FS

var read = sync.OnceValues(func() (zones *zip.Reader, release string) {
	names, _ := fs.Glob(files, "*.zip")
	content, err := files.ReadFile(names[0])
	if err == nil {
		zones, err = zip.NewReader(bytes.NewReader(content), int64(len(content)))
	}
	if err != nil {
		panic(err) // it was embedded
	}
	return zones, strings.TrimSuffix(names[0], ".zip")
})

// Release returns the release of the tz database that times are checked with, such as 2025c.
func Release() string {
	_, release := read()
	return release
}

// load returns a time zone, or what to write instead of its name.
func load(name string) (*time.Location, error) {
	zones, release := read()
	content, err := fs.ReadFile(zones, name)
	if err == nil {
		return time.LoadLocationFromTZData(name, content)
	}
	var known []string
	for _, f := range zones.File {
		known = append(known, f.Name)
	}
	return nil, fmt.Errorf("%s is not a time zone of release %s of the tz database%s", name, release, cmp.Or(manifest.DidYouMean(name, known), ": write one like Europe/Berlin"))
}

// Check returns what is wrong with a time, its time zone or the offset for that zone, and what to
// write instead; empty for nothing.
func Check(text string) string {
	written, name, err := kind.ParseTime(text)
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
	isOpen := strings.Contains(text, "Z[") || strings.Contains(text, "-00:00[") // is the local offset, to RFC 9557
	if isOpen || offset(written.In(location)) == offset(written) {
		return ""
	}
	// The offset may change between the day before and the day after.
	clock, day := written.UTC().Add(offset(written)), 24*time.Hour
	choices := []time.Time{clock.Add(-offset(clock.Add(-day).In(location))), clock.Add(-offset(clock.Add(day).In(location)))}
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
			return fmt.Sprintf("the offset of %s at that time has seconds, which RFC 3339 cannot say: write the time without the zone", name)
		}
		spelled = append(spelled, t.In(location).Format("2006-01-02T15:04:05.999999999-07:00")+"["+name+"]")
	}
	return reason + ": write " + strings.Join(spelled, " or ")
}

// offset returns how far the clocks of the zone of a time are ahead of UTC.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
