package fetched

// Image is an image as its registry has it.
type Image struct {
	// Missing is the tag or the digest that the registry does not have; empty if the image is there.
	Missing string
	// Digest is the digest of the tag, if the image has a tag.
	Digest string
	// Platforms are listed in an index, OS/ARCHITECTURE. They are unknown of an image without one.
	Platforms []string
}

// Registry has images.
type Registry interface {
	// TrustImages trusts the registries of some images.
	TrustImages(images []string)
	// Image returns an image as its registry has it. Without an answer it is unknown, for the reason of the error.
	Image(name string, needsPlatforms bool) (Image, error)
}
