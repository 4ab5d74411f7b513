package render

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict/apiserver"
)

// KubernetesVersions returns the minor versions of Kubernetes that an environment may name, the
// oldest first.
func KubernetesVersions() (names []string) {
	for _, v := range apiserver.Versions() {
		names = append(names, v.String())
	}
	return names
}

// CheckKubernetes returns an error, with the known versions, unless text is one of them.
func CheckKubernetes(text string) error {
	_, err := apiserver.ParseVersion(text)
	return err
}

// readKubernetes reads the version of Kubernetes that the environment is for, unless another one is asked for.
func (in *input) readKubernetes(other string) []manifest.Problem {
	if other != "" {
		in.kubernetes, _ = apiserver.ParseVersion(other) // see CheckKubernetes
		return nil
	}
	return in.readAnnotation(tree.KubernetesAnnotation, func(version string) (err error) {
		in.kubernetes, err = apiserver.ParseVersion(version)
		return err
	})
}

// readRuntimeConfig reads the beta versions that the cluster of the environment serves.
func (in *input) readRuntimeConfig() []manifest.Problem {
	return in.readAnnotation(apiserver.RuntimeConfigAnnotation, func(versions string) (err error) {
		in.runtimeConfig, err = cmp.Or(in.kubernetes, apiserver.Newest).ParseRuntimeConfig(versions)
		return err
	})
}

// readAnnotation calls use with an annotation of the environment's kustomization, if it has that.
// The annotation has no effect on the kustomizations of bases: there it is a problem.
func (in *input) readAnnotation(name string, use func(value string) error) (problems []manifest.Problem) {
	own := in.sources.Kustomizations[in.folder]
	_, ownHas := annotationOf(own, name)
	for _, k := range in.sources.Kustomizations {
		text, has := annotationOf(k, name)
		var message string
		switch {
		case !has:
		case k == own:
			if err := use(text); err != nil {
				message = err.Error()
			}
		case !ownHas:
			message = "only the kustomization of an environment says this: write it in " + path.Join(source.Relative(in.folder), "kustomization.yaml")
		}
		if message != "" {
			line := in.sources.Line(k.File, "metadata", "annotations", name)
			problems = append(problems, manifest.Problem{File: source.Relative(k.File), Line: line, Message: name + ": " + message})
		}
	}
	return problems
}

// annotationOf returns an annotation of a kustomization, which may be nil.
func annotationOf(k *source.Kustomization, name string) (value string, ok bool) {
	if k == nil || k.MetaData == nil {
		return "", false
	}
	value, ok = k.MetaData.Annotations[name]
	return value, ok
}

// readPostBuild reads the values that Flux substitutes in the environment.
func (in *input) readPostBuild() (problems []manifest.Problem) {
	return in.readAnnotation(flux.Annotation, func(file string) (err error) {
		in.postBuild, err = readPostBuild(in.sources.FS.ReadFile, in.folder, file)
		return err
	})
}

// readPostBuild reads the values of variables from a file of an environment.
func readPostBuild(read func(path string) ([]byte, error), folder, file string) (*flux.PostBuild, error) {
	if file == flux.Unknown {
		return &flux.PostBuild{}, nil
	}
	content, err := read(path.Join(folder, file))
	if err != nil {
		return nil, fmt.Errorf("%w: write the path of a file with the ConfigMaps that have the values, or %s", err, flux.Unknown)
	}
	b, err := flux.Read(source.Documents(content))
	if err != nil {
		return nil, fmt.Errorf("%s %w", path.Join(source.Relative(folder), file), err)
	}
	return b, nil
}

// unknownValues returns one warning about all objects with variables of unknown values.
func (p *pipeline) unknownValues(objects []manifest.Object) []manifest.Problem {
	names := p.checker.Unjudged(objects)
	if len(names) == 0 {
		return nil
	}
	k := p.sources.Kustomizations[p.folder]
	return []manifest.Problem{{
		Warning: true,
		File:    source.Relative(k.File),
		Line:    p.sources.Line(k.File, "metadata", "annotations", flux.Annotation),
		Message: fmt.Sprintf("%s: values that Flux substitutes are not judged, as in %s: name the file with their ConfigMaps here instead of %s",
			flux.Annotation, manifest.FirstOf(3, names), flux.Unknown),
	}}
}

// PostBuild reads the values that Flux substitutes in an environment; nil if it substitutes nothing.
func (r *Repository) PostBuild(environment string) (*flux.PostBuild, error) {
	return ReadPostBuild(environment, r.fileSystem().ReadFile)
}

// ReadPostBuild is PostBuild for files that read returns by their paths, from the root.
func ReadPostBuild(environment string, read func(path string) ([]byte, error)) (*flux.PostBuild, error) {
	folder := path.Join("/", tree.EnvironmentsFolder, environment)
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		content, err := read(path.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var k struct {
			Metadata types.ObjectMeta `json:"metadata"`
		}
		if err == nil {
			err = yaml.Unmarshal(content, &k)
		}
		file, ok := k.Metadata.Annotations[flux.Annotation]
		if err != nil || !ok {
			return nil, err
		}
		return readPostBuild(read, folder, file)
	}
	return nil, nil
}
