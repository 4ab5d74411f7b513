// Package page formats two files of a rendered environment: the page that GitHub or GitLab shows with
// the folder, and the schema for editors.
package page

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// maxRows is the maximum length of a table: hosts do not show pages of over half a megabyte.
const maxRows = 250

// filePaths has the path of the file of each object.
type filePaths map[manifest.ID]string

func (p filePaths) of(o *unstructured.Unstructured) string {
	return p[manifest.Object{Unstructured: o}.ID()]
}

// Files returns the Markdown page of an environment and the schema for editors. Without an object of a kind the page
// has no content: it would repeat the folder. The version of Kubernetes may be empty. Neither file depends on the time.
// The error names a kind whose Page panics.
func Files(kinds *registry.Kinds, name string, kubernetes string, objects []manifest.Object,
	files []tree.File) ([]tree.File, error) {
	all, paths, folders := make([]*unstructured.Unstructured, len(objects)), filePaths{}, map[string]bool{}
	for i, o := range objects {
		all[i], paths[o.ID()] = o.Unstructured, files[i].Path
		if folder := path.Dir(files[i].Path); folder != tree.ClusterFolder {
			folders[folder] = true
		}
	}
	views := kinds.Views(kind.Environment{All: all}, nil)
	schema, err := editorSchema(views)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(views, func(v registry.View) bool { return len(v.Objects) > 0 }) {
		return []tree.File{{Path: tree.PageFile}, {Path: tree.SchemaFile, Content: schema}}, nil
	}
	slices.SortStableFunc(views, func(a, b registry.View) int { // kinds with a time come last
		return cmp.Compare(min(1, len(a.Kind.TimeField())), min(1, len(b.Kind.TimeField())))
	})

	var page bytes.Buffer
	page.WriteString(tree.PageHeader + "\n")
	writeHeading(&page, name, kubernetes, len(objects), len(folders), views)
	for _, v := range views {
		if len(v.Objects) == 0 {
			continue
		}
		s, err := newSection(v, paths)
		if err != nil {
			return nil, err
		}
		s.write(&page)
	}
	return []tree.File{{Path: tree.PageFile, Content: page.Bytes()}, {Path: tree.SchemaFile, Content: schema}}, nil
}

// writeHeading writes the numbers of all objects and of the source objects of each kind.
func writeHeading(page *bytes.Buffer, name string, kubernetes string, objects, namespaces int, views []registry.View) {
	source := tree.EnvironmentsFolder + "/" + name
	fmt.Fprintf(page, "# %s\n\nRendered from [%s](../../%s): %s", word(name), source, source, count(objects, "object"))
	if namespaces > 0 {
		fmt.Fprintf(page, " in %s", count(namespaces, "namespace"))
	}
	separator := ", among them "
	for i, v := range views {
		number := "no " + v.Kind.GVK().Kind
		if len(v.Objects) > 0 {
			number = count(len(v.Objects), v.Kind.GVK().Kind)
		}
		page.WriteString(separator + number)
		if separator = ", "; i == len(views)-2 {
			separator = " and "
		}
	}
	page.WriteString(".\n")
	if kubernetes != "" {
		fmt.Fprintf(page, "\nFor Kubernetes %s.\n", kubernetes)
	}
}
