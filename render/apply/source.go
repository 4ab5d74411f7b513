package apply

import (
	"bytes"
	"context"
	"fmt"
	"path"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// Manifest is an object as git has it.
type Manifest struct {
	*unstructured.Unstructured
	// File is where it is, relative to the root, with slashes.
	File string
}

// Read returns what is in rendered/ENVIRONMENT, which has to be what rendering gives. Without
// it there are problems that are errors. Warnings are of what is left out: those of rendering
// were read when it was rendered.
func Read(ctx context.Context, repository *render.Repository, environment string, progress func(step string)) ([]Manifest, []object.Problem, error) {
	if err := repository.CheckEnvironment(environment); err != nil {
		if render.IsEnvironmentName(environment) {
			err = fmt.Errorf("%w\nif it is gone from git, render delete --env %s deletes it from the cluster", err, environment)
		}
		return nil, nil, err
	}
	unlock, err := repository.RLock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	update, err := render.NewUpdate(ctx, repository, render.Selection{Names: []string{environment}}, func(_, step string) { progress(step) })
	if err != nil {
		return nil, nil, err
	}
	defer update.Close()
	e := update.Environments[0]
	switch {
	case update.Failed():
		return nil, e.Problems, nil
	case update.Changes():
		return nil, nil, fmt.Errorf("%s is not what %s renders to: run render --env %s first", path.Join(tree.Folder, environment), path.Join("environments", environment), environment)
	}
	return decode(path.Join(tree.Folder, environment), e.Plan.Files())
}

// decode returns the objects of files, but for those that SOPS encrypted.
func decode(folder string, files []tree.File) (manifests []Manifest, problems []object.Problem, err error) {
	for _, file := range files {
		if file.Path == tree.IndexFile || path.Ext(file.Path) != ".yaml" { // the page about it
			continue
		}
		m := Manifest{File: path.Join(folder, file.Path)}
		if m.Unstructured, err = ssautils.ReadObject(bytes.NewReader(file.Content)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.File, err)
		}
		if object.IsEncrypted(m.Unstructured) {
			p := m.problem("SOPS encrypted it, and render apply has no keys: it is left out; decrypt it and apply it with kubectl")
			p.Warning = true
			problems = append(problems, p)
			continue
		}
		manifests = append(manifests, m)
	}
	return manifests, problems, nil
}

// id tells the object from others of the cluster.
func (m Manifest) id() object.ID { return idOf(m.Unstructured) }

// problem is what is wrong with the object.
func (m Manifest) problem(message string) object.Problem {
	return object.Problem{File: m.File, Object: m.id().String(), Message: message}
}

func idOf(u *unstructured.Unstructured) object.ID {
	return object.ID{Group: u.GroupVersionKind().Group, Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}
