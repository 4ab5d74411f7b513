package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v4/pkg/registry"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"example.com/gatehouse/render/source/fetched"
)

const (
	ociScheme = registry.OCIScheme
	maxTags   = 50_000
)

// openRegistry returns the repository of an artifact.
func (f *Fetcher) openRegistry(from fetched.Source) (*remote.Repository, error) {
	name := strings.TrimPrefix(from.Repository, ociScheme+"://")
	if from.Chart != "" {
		name = strings.TrimRight(name, "/") + "/" + from.Chart
	}
	repository, err := remote.NewRepository(name)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = from.IsPlain
	repository.Client = &auth.Client{Client: f.client, Credential: f.logins.ofRegistry, Cache: f.tokens}
	return repository, nil
}

// getLayer returns the archive in an artifact, the layer of a chart or the first one, and the tag that a range stands
// for.
func (f *Fetcher) getLayer(ctx context.Context, from fetched.Source) (layer []byte, resolved string, err error) {
	repository, err := f.openRegistry(from)
	if err != nil {
		return nil, "", err
	}
	resolved = from.Manifest
	reference := from.Manifest
	if reference == "" {
		if resolved, err = f.chooseReference(ctx, repository, from); err != nil {
			return nil, "", err
		}
		reference = strings.ReplaceAll(resolved, "+", "_")
	}
	at, body, err := repository.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return nil, "", reason(err)
	}
	defer func() { _ = body.Close() }()
	found, err := readManifest(at, body)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", from, err)
	}
	if found.Size > maxAnswer || found.Size < 0 {
		return nil, "", fmt.Errorf("%s is over %d MiB", from, maxAnswer>>20)
	}
	if _, layer = f.cache.archive(found.Digest.String()); layer != nil {
		return layer, resolved, nil
	}
	blob, err := repository.Blobs().Fetch(ctx, found)
	if err != nil {
		return nil, "", reason(err)
	}
	defer func() { _ = blob.Close() }()
	layer, err = content.ReadAll(blob, found) // which checks the digest
	return layer, resolved, err
}

// chooseReference returns the tag of a source.
func (f *Fetcher) chooseReference(ctx context.Context, in *remote.Repository, from fetched.Source) (string, error) {
	switch {
	case from.Range == "" && from.Version == "":
		return "latest", nil
	case from.Range == "":
		return from.Version, nil
	}
	var all []string
	err := in.Tags(ctx, "", func(tags []string) error {
		if all = append(all, tags...); len(all) > maxTags {
			return fmt.Errorf("more than %d tags", maxTags)
		}
		return nil
	})
	if err != nil {
		return "", reason(err)
	}
	if from.Chart != "" { // as Helm writes the plus sign of a version
		for i := range all {
			all[i] = strings.ReplaceAll(all[i], "_", "+")
		}
	}
	tag, err := chooseTag(all, from)
	if err != nil {
		return "", fmt.Errorf("%s has %w", from.Repository, err)
	}
	return tag, nil
}

// maxManifest bounds the manifest of an artifact, as registries do.
const maxManifest = 4 << 20

// readManifest returns the layer of an artifact.
func readManifest(at ocispec.Descriptor, body io.Reader) (layer ocispec.Descriptor, err error) {
	if at.Size > maxManifest {
		return layer, errors.New("its manifest is too large")
	}
	read, err := content.ReadAll(body, at)
	if err != nil {
		return layer, err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(read, &m); err != nil {
		return layer, fmt.Errorf("read the manifest: %w", err)
	}
	if len(m.Layers) == 0 {
		return layer, errors.New("has no layer: it is no chart, and no artifact of Flux")
	}
	for _, l := range m.Layers {
		if l.MediaType == registry.ChartLayerMediaType || l.MediaType == registry.LegacyChartLayerMediaType {
			return l, nil
		}
	}
	return m.Layers[0], nil
}
