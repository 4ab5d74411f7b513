package plan

import "example.com/gatehouse/render/manifest"

// DropEncrypted returns the objects that SOPS has not encrypted, and a warning for each other
// object that names the consequence.
func DropEncrypted(objects []manifest.Object, consequence string) (readable []manifest.Object, warnings []manifest.Problem) {
	for _, o := range objects {
		if manifest.IsEncrypted(o.Unstructured) {
			warnings = append(warnings, manifest.Problem{File: o.File, Object: o.String(), Message: "SOPS encrypted it, and " + consequence, Warning: true})
		} else {
			readable = append(readable, o)
		}
	}
	return readable, warnings
}
