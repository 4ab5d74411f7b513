package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
)

// nonroot is an unprivileged user.
const nonroot = "65532:65532"

// newImage returns an image that consists of the program and an empty /tmp, and runs the program.
func (r *release) newImage(p program) (v1.Image, error) {
	var files bytes.Buffer
	start := time.Unix(0, 0)
	if err := writeTar(&files, fstest.MapFS{p.name: {Data: p.content, Mode: 0o555, ModTime: start},
		"tmp": {Mode: fs.ModeDir | fs.ModeSticky | 0o777, ModTime: start}}); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	},
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
	config.OS = p.platform.OS
	config.Architecture = p.platform.Architecture
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

// descriptions describe the images.
var descriptions = map[string]string{
	"controller": "Opens scheduling gates that are due, and writes the status of high-level kinds",
	"render":     "Renders GitOps manifests, and reviews them",
}

// labels returns the labels and annotations of an image.
// https://github.com/opencontainers/image-spec/blob/main/annotations.md
func (r *release) labels(p program) map[string]string {
	labels := map[string]string{
		spec.AnnotationTitle:       "gatehouse-" + p.name,
		spec.AnnotationDescription: descriptions[p.name],
		spec.AnnotationLicenses:    "Apache-2.0",
		spec.AnnotationVersion:     r.version,
		spec.AnnotationCreated:     p.time().Format(time.RFC3339),
	}
	if revision := p.revision(); revision != "" {
		labels[spec.AnnotationRevision] = revision
	}
	return labels
}

// writeLayout writes an image for several platforms under a tag as an OCI image layout, and returns its digest.
func (r *release) writeLayout(programs []program, tag name.Tag) (string, error) {
	path, err := layout.Write(filepath.Join(r.out, programs[0].name), empty.Index)
	if err != nil {
		return "", err
	}
	index := spec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageIndex,
		Annotations: r.labels(programs[0])}
	for _, p := range programs {
		manifest, err := r.writeImage(path, p)
		if err != nil {
			return "", err
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	// This is skopeo's format of an index. Its copy of any other format has another digest.
	content, err := json.Marshal(index)
	if err != nil {
		return "", err
	}
	hash, size, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	if err := path.WriteBlob(hash, io.NopCloser(bytes.NewReader(content))); err != nil {
		return "", err
	}
	// containerd finds an image in a layout by name, other tools by tag.
	err = path.AppendDescriptor(v1.Descriptor{MediaType: types.OCIImageIndex, Digest: hash, Size: size,
		Annotations: map[string]string{
			spec.AnnotationRefName:     tag.TagStr(),
			"io.containerd.image.name": strings.Replace(tag.Name(), "index.docker.io/", "docker.io/", 1),
		}})
	return hash.String(), errors.Join(err, makeReadable(string(path)))
}

// writeImage writes an image to a layout, and returns its entry in an index.
func (r *release) writeImage(path layout.Path, p program) (spec.Descriptor, error) {
	image, err := r.newImage(p)
	if err != nil {
		return spec.Descriptor{}, err
	}
	if err := path.WriteImage(image); err != nil {
		return spec.Descriptor{}, err
	}
	hash, err := image.Digest()
	if err != nil {
		return spec.Descriptor{}, err
	}
	size, err := image.Size()
	platform := spec.Platform{OS: p.platform.OS, Architecture: p.platform.Architecture}
	return spec.Descriptor{MediaType: spec.MediaTypeImageManifest, Digest: digest.Digest(hash.String()), Size: size,
		Platform: &platform}, err
}

// makeReadable makes the files in a folder readable for all users.
func makeReadable(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return root.Chmod(name, 0o644)
	})
}
