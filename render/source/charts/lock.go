package charts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
)

// Folder has the charts that controllers install, from the root: NAME-VERSION.tgz, as `helm pull` writes
// them, and LockFile.
const Folder = "charts"

// LockFile is the file, in a folder of charts, with the origin and digest of each archive.
const LockFile = "charts.lock"

// Locked is an archive in a lock. Its line is "NAME VERSION REPOSITORY sha256:DIGEST".
type Locked struct {
	Name, Version, Repository, Digest string
	Line                              int
}

// File returns the name of the archive.
func (l Locked) File() string { return l.Name + "-" + l.Version + ".tgz" }

// HasVersion reports whether a version, with or without a v before it, is the version of the archive.
func (l Locked) HasVersion(version string) bool {
	return strings.TrimPrefix(l.Version, "v") == strings.TrimPrefix(version, "v")
}

// LockedOf returns the entry of a lock for a chart: of its version, or the newest one in its range. Without one, it
// returns an entry without a line.
func LockedOf(all []Locked, from fetched.Source) Locked {
	found := Locked{Name: from.Chart, Version: cmp.Or(from.Range, from.Version), Repository: from.Repository}
	constraint, err := semver.NewConstraint(from.Range)
	var newest *semver.Version
	for _, l := range all {
		if l.Name != from.Chart || from.Repository != "" && l.Repository != from.Repository {
			continue
		}
		if from.Range == "" && l.HasVersion(from.Version) {
			return l
		}
		v, versionErr := semver.NewVersion(l.Version)
		if from.Range != "" && err == nil && versionErr == nil && constraint.Check(v) &&
			(newest == nil || v.GreaterThan(newest)) {
			newest = v
			found = l
		}
	}
	return found
}

// Pin returns the source of the archive in an entry; the source itself for an entry without a line.
func (l Locked) Pin(from fetched.Source) fetched.Source {
	if l.Line > 0 {
		from.Version = l.Version
		from.Archive = l.Digest
		from.Range = ""
		from.Filter = ""
	}
	return from
}

// ParseLock parses a lock. Its problems have the path of the file.
func ParseLock(file string, content []byte) (all []Locked, problems []manifest.Problem) {
	known := map[string]int{}
	for i, text := range strings.Split(string(content), "\n") {
		words := strings.Fields(text)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		wrong := ""
		l := Locked{Line: i + 1}
		if len(words) == 4 {
			l = Locked{Name: words[0], Version: words[1], Repository: words[2], Digest: words[3], Line: l.Line}
		}
		switch {
		case len(words) != 4 || len(words[3]) != len("sha256:")+64 || !strings.HasPrefix(words[3], "sha256:"):
			wrong = "is no entry: write NAME VERSION REPOSITORY sha256:DIGEST, or remove the line and run render " +
				"fetch --vendor"
		case strings.ContainsAny(l.File(), `/\`):
			wrong = "a name or version has no slash"
		case known[l.File()] > 0:
			wrong = fmt.Sprintf("%s is in line %d as well: remove one", l.File(), known[l.File()])
		}
		if wrong != "" {
			problems = append(problems, manifest.Problem{Code: manifest.InvalidChart,
				File: file, Line: l.Line, Message: wrong})
			continue
		}
		known[l.File()] = l.Line
		all = append(all, l)
	}
	return all, problems
}

// FormatLock returns the content of a lock.
func FormatLock(all []Locked) []byte {
	var content strings.Builder
	content.WriteString("# Written by render fetch --vendor: name, version, repository, digest of each chart\n")
	for _, l := range slices.SortedFunc(slices.Values(all), func(a, b Locked) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	}) {
		fmt.Fprintln(&content, l.Name, l.Version, l.Repository, l.Digest)
	}
	return []byte(content.String())
}
