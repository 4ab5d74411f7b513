package tree

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
)

const (
	schemaPath = "rendered/prod/" + SchemaFile
	indexPath  = "rendered/prod/" + IndexFile
)

// The index does not list the schema.
func TestSchemaIsWrittenAndPrunedAsOtherFiles(t *testing.T) {
	root := newRoot(t)
	for _, step := range []struct {
		files                      []File
		written, unchanged, pruned bool
	}{
		{before, true, false, false},
		{before, false, true, false},
		{after, true, false, false},
		{nil, false, false, true},
		{nil, false, false, false},
	} {
		p, problems := ReadPrevious(root, "prod").Plan(step.files, besideOf(step.files), Index{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for result, list := range map[string]struct {
			names []string
			want  bool
		}{"written": {p.Written(), step.written}, "unchanged": {p.Unchanged(), step.unchanged}, "pruned": {p.Pruned(), step.pruned}} {
			if slices.Contains(list.names, schemaPath) != list.want {
				t.Errorf("%s: %q", result, list.names)
			}
		}
		if got, want := strings.Contains(p.Diff(), "/"+schemaPath+"\n"), step.written || step.pruned; got != want {
			t.Errorf("is in the diff: %t, want %t", got, want)
		}
		p.Close()
		run(t, root, step.files, -1)
		if index := string(readFiles(t, root)[indexPath]); strings.Contains(index, SchemaFile) {
			t.Errorf("the index lists the schema:\n%s", index)
		}
	}
	if files := readFiles(t, root); len(files) > 0 {
		t.Errorf("left %v", files)
	}
}

func TestEditedSchemaIsWrittenAgain(t *testing.T) {
	for _, content := range []string{
		SchemaHeader, SchemaHeader + "mine\n", strings.ReplaceAll(SchemaHeader, "\n", "\r\n"), "<<<<<<< HEAD\n" + SchemaHeader + "=======\n" + SchemaHeader + ">>>>>>> theirs\n",
	} {
		root := newRoot(t)
		put(t, root, schemaPath)
		if err := root.WriteFile(schemaPath, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, root, before, -1)
		if got := readFiles(t, root)[schemaPath]; string(got) != string(schemaOf(before)) {
			t.Errorf("%q is %q now", content, got)
		}
	}
}

// It is a warning as long as render has a schema to write.
func TestForeignSchemaIsKept(t *testing.T) {
	for name, place := range map[string]func(root *os.Root) error{
		"text":  func(root *os.Root) error { return root.WriteFile(schemaPath, []byte("# prod\n"+SchemaHeader), 0o644) },
		"empty": func(root *os.Root) error { return root.WriteFile(schemaPath, nil, 0o644) },
		"link":  func(root *os.Root) error { return root.Symlink("../../docs/prod.md", schemaPath) },
		"link to a schema": func(root *os.Root) error {
			if err := root.WriteFile("rendered/prod/other.json", []byte(SchemaHeader), 0o644); err != nil {
				return err
			}
			return root.Symlink("other.json", schemaPath)
		},
		"folder": func(root *os.Root) error { return root.Mkdir(schemaPath, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			put(t, root, "rendered/prod/.gitkeep")
			if err := place(root); err != nil {
				t.Fatal(err)
			}
			was, err := root.Lstat(schemaPath)
			if err != nil {
				t.Fatal(err)
			}
			for _, files := range [][]File{before, after, nil} {
				p, problems := ReadPrevious(root, "prod").Plan(files, besideOf(files), Index{})
				switch {
				case files == nil && len(problems) > 0:
					t.Error(problems)
				case files != nil && (len(problems) != 1 || !problems[0].Warning || problems[0].File != schemaPath):
					t.Errorf("problems %v", problems)
				}
				if err := p.Stage(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := p.Commit(); err != nil {
					t.Fatal(err)
				}
				p.Close()
				if slices.Contains(slices.Concat(p.Written(), p.Unchanged(), p.Pruned()), schemaPath) {
					t.Error("the plan contains it")
				}
				if is, err := root.Lstat(schemaPath); err != nil || !os.SameFile(was, is) || is.Size() != was.Size() {
					t.Errorf("it was changed: %v", err)
				}
			}
		})
	}
}

func TestForeignSchemaIsNotPruned(t *testing.T) {
	root := newRoot(t)
	run(t, root, before, -1)
	if err := root.WriteFile(schemaPath, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, root, nil, -1)
	if files := readFiles(t, root); len(files) != 1 || string(files[schemaPath]) != "mine" {
		t.Errorf("left %q", files)
	}
}

func TestUnreadableSchemaIsOneProblemAmongAll(t *testing.T) {
	root := newRoot(t)
	put(t, root, schemaPath)
	file, err := root.Create(schemaPath)
	if err == nil {
		err = errors.Join(file.Truncate(regular.MaxSize+1), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, "rendered/prod/"+before[0].Path)
	p, problems := ReadPrevious(root, "prod").Plan(before, besideOf(before), Index{})
	defer p.Close()
	var text strings.Builder
	for _, problem := range problems {
		fmt.Fprintln(&text, problem)
	}
	if !strings.Contains(text.String(), SchemaFile+" is over 64 MiB") || !strings.Contains(text.String(), before[0].Path+" was not written by render") || !manifest.HasErrors(problems) {
		t.Errorf("problems %s", &text)
	}
}
