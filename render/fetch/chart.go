package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source/fetched"
)

// index is index.yaml of a repository: the versions of each chart. Package repo of Helm would bring a runtime of
// WebAssembly for its plugins.
type index struct {
	Entries map[string][]struct {
		Version string   `json:"version"`
		URLs    []string `json:"urls"`
		Digest  string   `json:"digest"`
	} `json:"entries"`
}

// index returns the index of a repository, which is read once in a run.
func (f *Fetcher) index(ctx context.Context, repository string) (index, error) {
	type key string
	type result struct {
		index
		err error
	}
	r := memo.Get(&f.once, key(repository), func() (r result) {
		r.index, r.err = f.readIndex(ctx, repository)
		return r
	})
	return r.index, r.err
}

func (f *Fetcher) readIndex(ctx context.Context, repository string) (index, error) {
	var i index
	u, err := url.Parse(strings.TrimRight(repository, "/"))
	if err != nil {
		return i, err
	}
	content, err := f.get(ctx, u, u.JoinPath("index.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, &i)
	}
	if err != nil {
		err = fmt.Errorf("read the index of %s: %w", u.Redacted(), err)
	}
	return i, err
}

// getChart returns the archive of a chart in a repository, and its version.
func (f *Fetcher) getChart(ctx context.Context, from fetched.Source) (content []byte, version string, err error) {
	i, err := f.index(ctx, from.Repository)
	if err != nil {
		return nil, "", err
	}
	versions := i.Entries[from.Chart]
	all := make([]string, len(versions))
	for n := range versions {
		all[n] = versions[n].Version
	}
	if version, err = choose(all, cmp.Or(from.Range, from.Version)); err != nil {
		return nil, "", fmt.Errorf("%s has %w of chart %s", from.Repository, err, from.Chart)
	}
	chosen := versions[slices.Index(all, version)]
	if len(chosen.URLs) == 0 {
		return nil, "", fmt.Errorf("%s has no URL of chart %s %s", from.Repository, from.Chart, version)
	}
	if _, content = f.cache.archive("sha256:" + strings.TrimPrefix(chosen.Digest, "sha256:")); content != nil {
		return content, version, nil
	}
	base, err := url.Parse(strings.TrimRight(from.Repository, "/") + "/")
	if err != nil {
		return nil, "", err
	}
	at, err := base.Parse(chosen.URLs[0])
	if err != nil {
		return nil, "", err
	}
	if at.Scheme == ociScheme {
		layer, _, err := f.getLayer(ctx, fetched.Source{Repository: at.String(), Version: version})
		return layer, version, cmp.Or(err, checkDigest(layer, chosen.Digest))
	}
	content, err = f.get(ctx, base, at)
	return content, version, cmp.Or(err, checkDigest(content, chosen.Digest))
}

// choose returns the version that is meant, or the newest one in a range, as Helm and source-controller choose.
func choose(versions []string, wanted string) (string, error) {
	if slices.Contains(versions, wanted) {
		return wanted, nil
	}
	constraint, err := semver.NewConstraint(cmp.Or(wanted, "*"))
	if err != nil {
		return "", fmt.Errorf("no version %s", wanted)
	}
	var newest *semver.Version
	for _, text := range versions {
		v, err := semver.NewVersion(text)
		if err == nil && constraint.Check(v) && (newest == nil || v.GreaterThan(newest)) {
			newest = v
		}
	}
	if newest == nil {
		return "", fmt.Errorf("no version %s", cmp.Or(wanted, "without a suffix"))
	}
	return newest.Original(), nil
}

// chooseTag is choose among the tags that match a filter.
func chooseTag(tags []string, from fetched.Source) (string, error) {
	filter, err := regexp.Compile(from.Filter)
	if err != nil {
		return "", fmt.Errorf("spec.ref.semverFilter: %w", err)
	}
	return choose(slices.DeleteFunc(tags, func(tag string) bool { return !filter.MatchString(tag) }), from.Range)
}

// checkDigest compares content with a digest, if there is one.
func checkDigest(content []byte, promised string) error {
	is := digestOf(content)
	if promised != "" && content != nil && "sha256:"+strings.TrimPrefix(promised, "sha256:") != is {
		return fmt.Errorf("the server sent content with the digest %s, and promised %s", is, promised)
	}
	return nil
}

// readChart returns the name and the version of the chart in an archive.
func readChart(content []byte) (name, version string, err error) {
	c, err := loader.LoadArchive(bytes.NewReader(content))
	if err != nil {
		return "", "", fmt.Errorf("is no chart: %w", err)
	}
	return c.Name(), c.Metadata.Version, nil
}

// get returns the content at a URL, with the credentials of a repository, if there is one, on the same server.
func (f *Fetcher) get(ctx context.Context, repository, at *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	username, password := f.logins.ofRepository(repository)
	if (username != "" || password != "") && at.Scheme == repository.Scheme && hostPort(at) == hostPort(repository) {
		request.SetBasicAuth(username, password)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, reason(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", at.Redacted(), response.Status)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", at.Redacted(), reason(err))
	}
	return content, nil
}

// reason returns the error of a request in few words: a URL in it may have a password.
func reason(err error) error {
	var of *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in %s, or no whole one in %s", usual.wait, usual.one)
	case errors.As(err, &of):
		return of.Err
	}
	return err
}
