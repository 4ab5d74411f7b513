package pull

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/source/charts"
)

// maxDownload bounds an answer: the index of a large repository has 20 MiB.
const maxDownload = 100 << 20

// index is index.yaml of a repository: the versions of each chart.
type index struct {
	Entries map[string][]struct {
		Version string   `json:"version"`
		URLs    []string `json:"urls"`
		Digest  string   `json:"digest"`
	} `json:"entries"`
}

// download returns the archive of a chart.
func (p *puller) download(ctx context.Context, l charts.Locked) ([]byte, error) {
	if repository, is := strings.CutPrefix(l.Repository, "oci://"); is {
		return p.downloadArtifact(ctx, repository+"/"+l.Name, strings.ReplaceAll(l.Version, "+", "_"))
	}
	found, isKnown := p.indexes[l.Repository]
	if !isKnown {
		content, err := p.get(ctx, l.Repository+"/index.yaml", nil)
		if err == nil {
			err = yaml.Unmarshal(content, &found)
		}
		if err != nil {
			return nil, fmt.Errorf("read the index of %s: %w", l.Repository, err)
		}
		p.indexes[l.Repository] = found
	}
	for _, version := range found.Entries[l.Name] {
		if !l.HasVersion(version.Version) || len(version.URLs) == 0 {
			continue
		}
		base, err := url.Parse(l.Repository + "/")
		if err != nil {
			return nil, err
		}
		at, err := base.Parse(version.URLs[0])
		if err != nil {
			return nil, err
		}
		content, err := p.get(ctx, at.String(), nil)
		if err != nil {
			return nil, err
		}
		return content, checkDigest(content, version.Digest)
	}
	return nil, fmt.Errorf("%s has no chart %s %s", l.Repository, l.Name, l.Version)
}

// checkDigest compares content with a digest, if there is one.
func checkDigest(content []byte, digest string) error {
	if is := fmt.Sprintf("%x", sha256.Sum256(content)); digest != "" && strings.TrimPrefix(digest, "sha256:") != is {
		return fmt.Errorf("the server sent content with the digest sha256:%s, and promised %s", is, digest)
	}
	return nil
}

// contentLayer is the media type of the archive in an artifact.
const contentLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// downloadArtifact returns the archive in an OCI artifact.
func (p *puller) downloadArtifact(ctx context.Context, name, tag string) ([]byte, error) {
	host, repository, _ := strings.Cut(name, "/")
	if host == "docker.io" {
		host = "registry-1.docker.io"
	}
	base := "https://" + host + "/v2/" + repository
	header := http.Header{"Accept": {"application/vnd.oci.image.manifest.v1+json"}}
	content, err := p.get(ctx, base+"/manifests/"+tag, header)
	var refused *statusError
	if errors.As(err, &refused) && refused.code == http.StatusUnauthorized {
		var token string
		if token, err = p.token(ctx, refused.challenge, repository); err == nil {
			header.Set("Authorization", "Bearer "+token)
			content, err = p.get(ctx, base+"/manifests/"+tag, header)
		}
	}
	if err != nil {
		return nil, err
	}
	var artifact struct {
		Layers []struct {
			MediaType string `json:"mediaType"`
			Digest    string `json:"digest"`
		} `json:"layers"`
	}
	if err := json.Unmarshal(content, &artifact); err != nil {
		return nil, fmt.Errorf("read the manifest of oci://%s:%s: %w", name, tag, err)
	}
	for _, layer := range artifact.Layers {
		if layer.MediaType == contentLayer && strings.HasPrefix(layer.Digest, "sha256:") {
			content, err := p.get(ctx, base+"/blobs/"+layer.Digest, header)
			return content, cmp.Or(err, checkDigest(content, layer.Digest))
		}
	}
	return nil, fmt.Errorf("oci://%s:%s is no chart", name, tag)
}

var parameter = regexp.MustCompile(`(\w+)="([^"]*)"`)

// token returns the token that a registry gives to anybody.
func (p *puller) token(ctx context.Context, challenge, repository string) (string, error) {
	asked := map[string]string{"scope": "repository:" + repository + ":pull"}
	for _, match := range parameter.FindAllStringSubmatch(challenge, -1) {
		asked[match[1]] = match[2]
	}
	realm, err := url.Parse(asked["realm"])
	if err != nil || realm.Scheme != "https" {
		return "", errors.New("the registry asks for credentials: run helm pull -d " + charts.Folder)
	}
	query := realm.Query()
	query.Set("service", asked["service"])
	query.Set("scope", asked["scope"])
	realm.RawQuery = query.Encode()
	content, err := p.get(ctx, realm.String(), nil)
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err == nil {
		err = json.Unmarshal(content, &answer)
	}
	return cmp.Or(answer.Token, answer.AccessToken), err
}

// statusError is an answer without content.
type statusError struct {
	url, status, challenge string
	code                   int
}

func (e *statusError) Error() string {
	if e.code == http.StatusUnauthorized || e.code == http.StatusForbidden {
		return fmt.Sprintf("get %s: %s: for a private repository, run helm pull -d %s, and then this again", e.url,
			e.status, charts.Folder)
	}
	return fmt.Sprintf("get %s: %s", e.url, e.status)
}

// get returns the content at a URL.
func (p *puller) get(ctx context.Context, at string, header http.Header) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, &statusError{request.URL.Redacted(), response.Status, response.Header.Get("WWW-Authenticate"),
			response.StatusCode}
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxDownload+1))
	if len(content) > maxDownload {
		err = fmt.Errorf("get %s: is over %d MiB", request.URL.Redacted(), maxDownload>>20)
	}
	return content, err
}
