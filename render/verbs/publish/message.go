package publish

import (
	"context"
	"fmt"
	"path"
	"regexp"

	"example.com/gatehouse/render/verbs/git"
)

// The trailers of a published commit.
const (
	trailerEnvironment = "Gatehouse-Environment"
	trailerPath        = "Gatehouse-Path"   // of the rendered folder, from the top of the work tree
	trailerSource      = "Gatehouse-Source" // the id of the commit that was rendered
)

// objectID matches the full ids of objects.
var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// path returns the path of the rendered folder as it is in trailers.
func (p *publisher) path() string { return git.Tidy(path.Join(p.git.Prefix(), p.folder)) }

// commit makes the commit to publish, and returns its id. Parent is empty for the first of a branch.
func (p *publisher) commit(ctx context.Context, parent string) (string, error) {
	source, err := p.git.Read(ctx, p.head)
	if err != nil {
		return "", err
	}
	const short = 12
	subject := fmt.Sprintf("Publish %s from %s", p.Environment, p.head[:short])
	message := fmt.Sprintf("%s\n\n%s\n\n%s: %s\n%s: %s\n%s: %s\n", subject, git.Tidy(source.Subject), trailerEnvironment, p.Environment, trailerPath, p.path(), trailerSource, p.head)
	id, err := p.git.Make(ctx, p.tree, parent, message)
	if err != nil {
		return "", err
	}
	made, err := p.git.Read(ctx, id)
	if err == nil && (p.refuse(made) != nil || made.Trailers[trailerSource] != p.head) {
		err = fmt.Errorf("the hook commit-msg takes the last paragraph from the message %q: it has to keep the trailers there", subject)
	}
	return id, err
}
