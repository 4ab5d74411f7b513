// Package image compares the names of images and the versions of charts.
package image

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/distribution/reference"
)

// Tag returns the tag of an image, if any.
func Tag(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	tagged, hasTag := named.(reference.Tagged)
	if err != nil || !hasTag {
		return ""
	}
	return tagged.Tag()
}

// Repository returns an image without its tag and digest.
func Repository(image string) string {
	if named, err := reference.ParseNormalizedNamed(image); err == nil {
		return named.Name()
	}
	name, _, _ := strings.Cut(image, "@") // such as ${REGISTRY}/web:1
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name
}

// Step is a class of changes of an image.
type Step int

// The steps, from the unknown one.
const (
	Other  Step = iota // another image, an earlier one, or one without an order
	Unlike             // a later version of another variant or form, such as a prerelease
	Major              // a later version of the same variant, with another first number
	Later              // a later version of the same variant
)

// IsNewVersion reports whether an image is a later version of another one: of the same repository, form and variant,
// with the same major version, and with a digest if the other has one.
func IsNewVersion(was, is string) bool { return StepOf(was, is) == Later }

// inPairs matches the databases whose major versions have two numbers: no release reads the files of a later one.
var inPairs = regexp.MustCompile(
	`(^|/)(cockroach|mariadb|mongo|mongodb|mysql|mysql-server|percona|percona-server|percona-server-mongodb)$`)

// IsNewSeries reports whether an image is a later one of another major version.
func IsNewSeries(was, is string) bool {
	switch StepOf(was, is) {
	case Major:
		return true
	case Later:
		before := readTag(Tag(was)).numbers
		after := readTag(Tag(is)).numbers
		return inPairs.MatchString(Repository(is)) && len(before) > 1 && len(after) > 1 && before[1] != after[1]
	}
	return false
}

// StepOf compares two images. A digest without a tag says nothing, and so does the first digest of a tag that stays.
func StepOf(was, is string) Step {
	if Repository(was) != Repository(is) || strings.Contains(was, "@") && !strings.Contains(is, "@") {
		return Other
	}
	if step := stepOf(readTag(Tag(was)), readTag(Tag(is))); step != Other {
		return step
	}
	before, errBefore := semver.NewVersion(Tag(was))
	after, errAfter := semver.NewVersion(Tag(is))
	if errBefore == nil && errAfter == nil && after.GreaterThan(before) {
		return Unlike
	}
	return Other
}

// tag is a tag in its parts. Tags of the same form and variant differ in their numbers only.
type tag struct {
	prefix, form, variant string
	numbers               []string // of the version
	build                 string   // the number of a build, or of a prerelease
	isDate                bool     // calendar versions have no major version
}

var (
	// version matches a date, or numbers with dots. A number alone is a version, too: of a major version alone.
	version = regexp.MustCompile(`20\d{2}-\d{2}-\d{2}(?:T\d{2}-\d{2}-\d{2}Z)?|\d+(?:\.\d+)*`)
	number  = regexp.MustCompile(`[0-9]+`)
	date    = regexp.MustCompile(`^20\d{2}[-.]?(0?[1-9]|1[0-2])([-.].*|0[1-9]|[12]\d|3[01])?$`)
	// prefixes are the texts before versions: words with separators, and v.
	prefixes = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9]*[-_.])*(?:[vV]|version|release)?$`)
	// hashes are words before texts that are no versions, and that have no order: of a commit or a pull request.
	hashes = regexp.MustCompile(`(?i)(^|[-_.])(sha|git|commit|hash|g|pr|mr|pull)[-_.]|^[0-9a-f]*[a-f][0-9a-f]*$`)
	// builds match a variant that ends with the number of a build or of a prerelease, or with a date.
	builds = regexp.MustCompile(`^((?:.*[-+._])?(?:ls|r|b|p|u|build|rev|alpha|beta|rc|pre|preview)[-.]?|[-+_])(\d+)$|` +
		`^(.*-)(20\d{6})$`)
)

func readTag(text string) tag {
	at := version.FindStringIndex(text)
	if at == nil || hashes.MatchString(text) || !prefixes.MatchString(text[:at[0]]) {
		return tag{}
	}
	is := text[at[0]:at[1]]
	read := tag{prefix: text[:at[0]], form: number.ReplaceAllString(is, "0"), variant: text[at[1]:],
		numbers: number.FindAllString(is, -1), isDate: date.MatchString(is)}
	if match := builds.FindStringSubmatch(read.variant); match != nil {
		read.variant = match[1] + match[3]
		read.build = match[2] + match[4]
	}
	return read
}

func stepOf(was, is tag) Step {
	isAlike := was.prefix == is.prefix && was.form == is.form && was.variant == is.variant &&
		(was.build == "") == (is.build == "") && was.isDate == is.isDate
	order := slices.CompareFunc(was.numbers, is.numbers, compareNumbers)
	if order == 0 {
		order = compareNumbers(was.build, is.build)
	}
	switch {
	case len(is.numbers) == 0 || !isAlike || order >= 0:
		return Other
	case !is.isDate && compareNumbers(was.numbers[0], is.numbers[0]) != 0:
		return Major
	}
	return Later
}

func compareNumbers(a, b string) int {
	a = strings.TrimLeft(a, "0")
	b = strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// IsNewTag is IsNewVersion for the tag of an image, or a version of a chart: one version, and no range.
func IsNewTag(was, is *string) bool { return StepOfTag(was, is) == Later }

// StepOfTag is StepOf for a tag, or a version.
func StepOfTag(was, is *string) Step {
	if was == nil || is == nil || Tag("x:"+*is) == "" {
		return Other
	}
	return StepOf("x:"+*was, "x:"+*is)
}
