package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonroot is a user that is nobody on a node.
const nonroot = "65532:65532"

// newImage is an image that has one file, the program, and runs that.
func (r *release) newImage(p program) (v1.Image, error) {
	files, err := tarred([]packed{{p.name, 0o555, p.content}}, time.Unix(0, 0))
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, MediaType: types.OCILayer})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = p.platform.OS, p.platform.Architecture
	config.Created = v1.Time{Time: p.time()}
	config.History = nil
	config.Config = v1.Config{User: nonroot, Entrypoint: []string{"/" + p.name}, Labels: r.labels(p)}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return nil, err
	}
	annotated, _ := mutate.Annotations(image, r.labels(p)).(v1.Image)
	return annotated, nil
}

// labels are what an image says about itself.
// https://github.com/opencontainers/image-spec/blob/main/annotations.md
func (r *release) labels(p program) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":       "gatehouse-" + p.name,
		"org.opencontainers.image.description": "Opens the gates of Ats that are due, reports the status of Ats and Memcacheds",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.created":     p.time().Format(time.RFC3339),
	}
	if revision := p.revision(); revision != "" {
		labels["org.opencontainers.image.revision"] = revision
	}
	return labels
}

// writeLayout writes one image for several platforms as an OCI image layout, and returns
// its digest.
func (r *release) writeLayout(programs []program) (digest string, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := r.newImage(p)
		if err != nil {
			return "", err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p.platform}})
	}
	index, _ = mutate.Annotations(index, r.labels(programs[0])).(v1.ImageIndex)
	path, err := layout.Write(filepath.Join(r.out, programs[0].name), empty.Index)
	if err != nil {
		return "", err
	}
	// Tools find an image of a layout by its tag, and containerd by its name.
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.image.TagStr(),
		"io.containerd.image.name":          strings.Replace(r.image.Name(), "index.docker.io/", "docker.io/", 1),
	}))
	if err != nil {
		return "", err
	}
	hash, err := index.Digest()
	return hash.String(), err
}
