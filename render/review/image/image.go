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

// IsNewVersion reports whether an image is a later version of another one: of the same repository, with a tag that
// stays, and with a digest if the other has one.
func IsNewVersion(was, is string) bool {
	if Repository(was) != Repository(is) || strings.Contains(was, "@") && !strings.Contains(is, "@") ||
		!strings.ContainsAny(Tag(is), "0123456789") {
		return false
	}
	old := Tag(was)
	now := Tag(is)
	if number.ReplaceAllString(old, "0") == number.ReplaceAllString(now, "0") {
		return slices.CompareFunc(number.FindAllString(old, -1), number.FindAllString(now, -1), compareNumbers) < 0
	}
	before, errBefore := semver.NewVersion(old)
	after, errAfter := semver.NewVersion(now)
	return errBefore != nil || errAfter != nil || after.GreaterThan(before)
}

var number = regexp.MustCompile(`[0-9]+`)

func compareNumbers(a, b string) int {
	a = strings.TrimLeft(a, "0")
	b = strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// IsNewTag is IsNewVersion for the tag of an image, or a version of a chart: one version, and no range.
func IsNewTag(was, is *string) bool {
	return was != nil && is != nil && Tag("x:"+*is) != "" && IsNewVersion("x:"+*was, "x:"+*is)
}
