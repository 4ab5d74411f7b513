package release

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source/charts"
)

// lock has the charts of the lock of the repository.
type lock struct {
	charts  []charts.Locked
	isThere bool
}

func (i Installer) readLock() (l lock, problems []manifest.Problem) {
	file := path.Join(charts.Folder, charts.LockFile)
	content, err := i.Files.ReadAny("/" + file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, []manifest.Problem{{Code: manifest.InvalidChart, File: file, Message: err.Error()}}
	}
	l.isThere = true
	l.charts, problems = charts.ParseLock(file, content)
	return l, problems
}

// located is the place of a chart.
type located struct {
	archive    string // or its folder; empty if it is not here, or not to be judged
	digest     [sha256.Size]byte
	notFetched error
}

// find returns the chart of a release if it is here, or fetched, and to be judged.
func (i Installer) find(r Release, locked lock) (at located, found *manifest.Problem) {
	warning := func(format string, arguments ...any) *manifest.Problem {
		p := r.Warning(fmt.Sprintf(format, arguments...))
		return &p
	}
	if r.notFetched != nil {
		at.notFetched = r.notFetched
		return at, warning("chart %s is not fetched: %v", r, r.notFetched)
	}
	if r.Folder != "" {
		at.archive, found = i.findFolder(r)
		return at, found
	}
	entry := charts.LockedOf(locked.charts, r.From())
	archive := path.Join("/", charts.Folder, entry.File())
	content, err := i.Files.ReadAny(archive)
	isMissing := errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(entry.File(), `/\`)
	isFetching := isMissing && r.Unjudged == "" && i.Files.IsFetching()
	switch {
	case isFetching:
		if at = i.fetch(r, entry); at.notFetched != nil {
			found = warning("chart %s is not fetched: %v", r, at.notFetched)
		}
		return at, found
	case isMissing && !locked.isThere:
		return at, nil
	case r.Unjudged != "":
		return at, warning("not judged: %s", r.Unjudged)
	case entry.Line == 0 && !r.IsExact():
		return at, warning("chart %s has no exact version, so its objects are neither judged nor reviewed: write one "+
			"version, or add --fetch", r)
	case isMissing:
		return at, warning("chart %s is not in %s/, so its objects are neither judged nor reviewed: add --fetch, or "+
			"run render fetch --vendor --all", r, charts.Folder)
	case err != nil:
		return at, &manifest.Problem{Code: manifest.InvalidChart, File: strings.TrimPrefix(archive, "/"),
			Message: err.Error()}
	}
	return r.checkLock(archive, sha256.Sum256(content), entry, locked)
}

// checkLock compares an archive that is here with the lock.
func (r Release) checkLock(archive string, digest [sha256.Size]byte, entry charts.Locked,
	locked lock) (at located, found *manifest.Problem) {
	switch is := fmt.Sprintf("sha256:%x", digest); {
	case entry.Line == 0:
		for _, l := range locked.charts {
			if l.File() == entry.File() {
				p := r.Warning(fmt.Sprintf("chart %s is here from %s, and not from %s: its objects are neither judged "+
					"nor reviewed", r, l.Repository, r.Repository))
				return at, &p
			}
		}
		p := r.Warning(fmt.Sprintf("%s is not in %s: run render fetch --vendor --all, which adds its digest",
			strings.TrimPrefix(archive, "/"), charts.LockFile))
		found = &p
	case entry.Digest != is:
		return at, &manifest.Problem{Code: manifest.InvalidChart,
			File: path.Join(charts.Folder, charts.LockFile), Line: entry.Line,
			Message: fmt.Sprintf("%s has the digest %s: restore the file, or remove it and this line, and run render "+
				"fetch --vendor --all", entry.File(), is)}
	}
	return located{archive: archive, digest: digest}, found
}

// fetch returns the chart of a release that is not in the tree.
func (i Installer) fetch(r Release, entry charts.Locked) (at located) {
	if r.Repository == "" {
		return located{notFetched: errors.New("its repository is not in this environment")}
	}
	files, err := i.Files.Fetch(entry.Pin(r.From()))
	if err != nil {
		return located{notFetched: err}
	}
	at.archive = files.Path
	_, at.notFetched = hex.Decode(at.digest[:], []byte(strings.TrimPrefix(files.Digest, "sha256:")))
	return at
}

// fetchAhead fetches the missing charts of releases side by side, so that find has them.
func (i Installer) fetchAhead(releases []Release, locked lock) {
	if !i.Files.IsFetching() {
		return
	}
	parallel.Some(len(releases), len(releases), func(n int) {
		r := i.inSource(releases[n])
		entry := charts.LockedOf(locked.charts, r.From())
		_, _, err := i.Files.Resolve(path.Join("/", charts.Folder, entry.File()))
		if r.Folder == "" && r.Unjudged == "" && errors.Is(err, fs.ErrNotExist) {
			i.fetch(r, entry)
		}
	})
}

func (i Installer) hasChart(at string) bool {
	_, _, err := i.Files.Resolve(path.Join(at, chartutil.ChartfileName))
	return err == nil
}

// top returns the folder that has the repository of a source of an Application, or the error of fetching it.
func (i Installer) top(s application.Source) (top string, notFetched error) {
	if i.Origin.Elsewhere(s) == "" {
		return "/", nil
	}
	got, err := i.Files.Fetch(folder.SourceOfApplication(s))
	if err != nil {
		return "", err
	}
	return folder.Top(i.Files, got), nil
}

// inSource returns the release of a chart in a source of Flux with the place of its files. A source that nothing here
// names, or none of git, may be the tree.
func (i Installer) inSource(r Release) Release {
	if r.source.Unstructured == nil || r.source.ID() == i.Origin.Own {
		return r
	}
	from, reason := folder.SourceOf(r.source)
	if reason == "" && textAt(r.source, "spec", "ignore") != "" {
		reason = "its source leaves out files"
	}
	revision := cmp.Or(from.Version, from.Range)
	if valueAt(r.source, "spec", "ref") == nil {
		revision = "" // its master may be our main
	}
	r.isElsewhere = from.IsGit &&
		i.Origin.Elsewhere(application.Source{RepoURL: from.Repository, TargetRevision: revision}) != ""
	switch {
	case !r.isElsewhere && i.hasChart(r.Folder), !i.Files.MayFetch(from):
		return r
	case reason != "":
		r.notFetched = errors.New(reason)
		return r
	}
	got, err := i.Files.Fetch(from)
	r.notFetched = err
	r.isElsewhere = false
	r.Folder = path.Join(got.Path, r.Folder)
	r.Files = slices.Clone(r.Files)
	for n, file := range r.Files { // from the top of the source
		r.Files[n] = path.Join(got.Path, file)
	}
	return r
}

// findFolder returns the folder of a chart in git if it is here and to be judged.
func (i Installer) findFolder(r Release) (at string, found *manifest.Problem) {
	reason := r.Unjudged
	if r.isElsewhere || !i.hasChart(r.Folder) {
		reason = fmt.Sprintf("its chart %s is in git, and not in this repository", r)
	}
	if reason == "" {
		return r.Folder, nil
	}
	warning := r.Warning("not judged: " + reason)
	return "", &warning
}
