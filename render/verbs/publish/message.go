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
	trailerPath        = "Gatehouse-Path"   // the rendered folder, from the top of the work tree
	trailerSource      = "Gatehouse-Source" // the rendered commit
)

// objectID matches full object ids.
var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// path returns the path of the rendered folder for trailers.
func (p *publisher) path() string { return git.Tidy(path.Join(p.git.Prefix(), p.folder)) }

// commit makes the commit to publish, and returns its id. The parent of a first commit is empty.
func (p *publisher) commit(ctx context.Context, parent string) (string, error) {
	source, err := p.git.ReadCommit(ctx, p.head)
	if err != nil {
		return "", err
	}
	const short = 12
	subject := fmt.Sprintf("Publish %s from %s", p.Environment, p.head[:short])
	message := fmt.Sprintf("%s\n\n%s\n\n%s: %s\n%s: %s\n%s: %s\n", subject, git.Tidy(source.Subject),
		trailerEnvironment, p.Environment, trailerPath, p.path(), trailerSource, p.head)
	id, err := p.git.Commit(ctx, p.tree, parent, message)
	if err != nil {
		return "", err
	}
	made, err := p.git.ReadCommit(ctx, id)
	if err == nil && (p.checkTip(made) != nil || made.Trailers[trailerSource] != p.head) {
		err = fmt.Errorf("the hook commit-msg changes the trailers of the message %q: it must keep the last paragraph",
			subject)
	}
	return id, err
}
