package kind

import (
	"errors"
	"regexp"
	"time"
)

// timeSyntax matches an RFC 3339 time, with the name of a time zone of RFC 9557 after it. time.Parse
// would accept more, like T9:00:00 and 09:00:00,5.
var timeSyntax = regexp.MustCompile(
	`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|` +
		`2[0-3]):[0-5]\d))(?:\[([A-Z][\w+-]*(?:/[A-Z][\w+-]*)*)\])?$`)

// ParseTime parses the time in a TimeField, such as 2027-01-04T06:00:00+01:00[Europe/Berlin]. It returns
// the name of the time zone as well, or an empty string. The offset alone decides the instant:
// ParseTime does not look up the zone.
func ParseTime(text string) (t time.Time, zone string, err error) {
	if parts := timeSyntax.FindStringSubmatch(text); parts != nil {
		if t, err = time.Parse(time.RFC3339, parts[1]); err == nil {
			return t, parts[2], nil
		}
	}
	return time.Time{}, "",
		errors.New("must be an RFC 3339 time, like 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00")
}
