package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"path"

	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"example.com/gatehouse/render/source/fetched"
)

// TrustImages trusts the registries of images that the base of a change runs. Nothing may be fetched meanwhile.
func (f *Fetcher) TrustImages(images []string) {
	if f.trust.Base == nil {
		return
	}
	for _, image := range images {
		if named, err := reference.ParseNormalizedNamed(image); err == nil {
			f.trust.Base.add(ociScheme+"://"+named.Name(), false)
		}
	}
}

// Image returns an image as its registry has it: by its manifests, and with its platforms if they are needed.
func (f *Fetcher) Image(name string, needsPlatforms bool) (image fetched.Image, err error) {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return image, err
	}
	from := fetched.Source{Repository: ociScheme + "://" + named.Name()}
	u, err := f.locate(from)
	if err != nil {
		return image, err
	}
	from.IsPlain = f.trust.isPlain(hostPort(u))
	repository, err := f.openRegistry(from)
	if err != nil {
		return image, err
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-f.ctx.Done():
		return image, reason(f.ctx.Err())
	}
	ctx, cancel := context.WithTimeout(context.WithValue(f.ctx, tripKey{}, trip{hostPort(u), true}), f.times.one)
	defer cancel()
	named = reference.TagNameOnly(named)
	at := ""
	if tagged, isTagged := named.(reference.Tagged); isTagged {
		at = tagged.Tag()
		image.Digest, err = resolve(ctx, repository, at)
	}
	if digested, isDigested := named.(reference.Digested); isDigested && err == nil {
		at = digested.Digest().String()
		if at != image.Digest {
			_, err = resolve(ctx, repository, at)
		}
	}
	if errors.Is(err, errdef.ErrNotFound) {
		image.Missing = at
		return image, nil
	}
	if err == nil && needsPlatforms {
		image.Platforms, err = platformsOf(ctx, repository, at)
	}
	return image, reason(err)
}

func resolve(ctx context.Context, in *remote.Repository, at string) (digest string, err error) {
	found, err := in.Manifests().Resolve(ctx, at)
	return found.Digest.String(), err
}

// platformsOf returns the platforms in the index of an image. Without an index only the configuration of a layer has
// the platform.
func platformsOf(ctx context.Context, in *remote.Repository, at string) (platforms []string, err error) {
	found, body, err := in.Manifests().FetchReference(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if found.Size > maxManifest {
		return nil, errors.New("its manifest is too large")
	}
	read, err := content.ReadAll(body, found)
	if err != nil {
		return nil, err
	}
	var index ocispec.Index
	err = json.Unmarshal(read, &index)
	for _, m := range index.Manifests {
		if m.Platform != nil && m.Platform.OS != "unknown" { // of an attestation
			platforms = append(platforms, path.Join(m.Platform.OS, m.Platform.Architecture))
		}
	}
	return platforms, err
}
