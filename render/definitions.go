package render

import (
	"bytes"
	"slices"
	"strings"

	"example.com/gatehouse/render/build"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// Kustomize leaves out what has localConfig. Under the name of keptConfig it stays in.
const (
	localConfig = "config.kubernetes.io/local-config"
	keptConfig  = "gatehouse.example.com/local-config"
)

// localDefinitions are the CustomResourceDefinitions that an environment knows its objects by
// and does not bring, as another one of the cluster does: those that kustomize leaves out.
func (r *renderer) localDefinitions(files *source.FileSystem) (definitions []object.Object) {
	keeping := map[string][]byte{}
	for _, name := range files.FilesRead() {
		content, err := files.ReadFile("/" + name)
		if err == nil && (bytes.Contains(content, []byte(localConfig)) || bytes.Contains(content, inPointer(localConfig))) {
			keeping["/"+name] = keepLocal(content)
		}
	}
	if len(keeping) == 0 {
		return nil
	}
	sources := source.Read(files.With(keeping), r.written(), r.folder)
	if !sources.CanBuild(r.folder) {
		return nil
	}
	objects, _ := build.Folder(sources, r.folder) // what is wrong is wrong without them, too
	return slices.DeleteFunc(objects, func(o object.Object) bool {
		_, isLocal := o.GetAnnotations()[keptConfig]
		return !isLocal || o.GetKind() != "CustomResourceDefinition"
	})
}

// keepLocal is a file in which nothing is left out, whether a manifest says so or a patch.
func keepLocal(content []byte) []byte {
	content = bytes.ReplaceAll(content, []byte(localConfig), []byte(keptConfig))
	return bytes.ReplaceAll(content, inPointer(localConfig), inPointer(keptConfig))
}

// inPointer is the key of an annotation in a path of a JSON patch.
func inPointer(key string) []byte { return []byte(strings.ReplaceAll(key, "/", "~1")) }
