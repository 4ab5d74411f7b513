package publish

import (
	"context"
	"fmt"
	"path"
	"regexp"

	"example.com/gatehouse/render/verbs/git"
)

// published has the trailers of a commit that render published; zero for any other commit.
type published struct {
	environment string
	path        string // of the rendered folder, from the top of the work tree
	source      string // the id of the commit that was rendered
}

// The trailers of a published commit.
const (
	trailerEnvironment = "Gatehouse-Environment"
	trailerPath        = "Gatehouse-Path"
	trailerSource      = "Gatehouse-Source"
)

// objectID matches the full ids of objects.
var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// publishedBy returns the trailers of a commit.
func publishedBy(commit git.Commit) published {
	trailers := commit.Trailers()
	if !objectID.MatchString(trailers[trailerSource]) {
		return published{}
	}
	return published{trailers[trailerEnvironment], trailers[trailerPath], trailers[trailerSource]}
}

// Published returns the environment that was published to a branch; empty where git does not know the
// branch, or render did not make it.
func Published(ctx context.Context, work *git.Repository, branch string) (environment string, err error) {
	remote, err := work.Remote(ctx)
	if err != nil {
		return "", err
	}
	for _, ref := range []string{git.BranchRef(branch), "refs/remotes/" + remote + "/" + branch} {
		id, err := work.Tip(ctx, ref)
		if err != nil {
			return "", err
		}
		if id != "" {
			commit, err := work.Read(ctx, id)
			return publishedBy(commit).environment, err
		}
	}
	return "", nil
}

// published returns the trailers of the commit to make.
func (p *publisher) published() published {
	return published{p.Environment, git.Tidy(path.Join(p.git.Prefix(), p.folder)), p.head}
}

// commit makes the commit to publish, and returns its id. Parent is empty for the first of a branch.
func (p *publisher) commit(ctx context.Context, parent string) (string, error) {
	source, err := p.git.Read(ctx, p.head)
	if err != nil {
		return "", err
	}
	is := p.published()
	const short = 12
	message := fmt.Sprintf("Publish %s from %s\n\n", is.environment, is.source[:short])
	if subject := git.Tidy(source.Subject()); subject != "" {
		message += subject + "\n\n"
	}
	message += fmt.Sprintf("%s: %s\n%s: %s\n%s: %s\n", trailerEnvironment, is.environment, trailerPath, is.path, trailerSource, is.source)
	id, err := p.git.Make(ctx, git.Commit{Tree: p.tree, Message: message}, parent)
	if err != nil {
		return "", err
	}
	made, err := p.git.Read(ctx, id)
	if err == nil && publishedBy(made) != is {
		err = fmt.Errorf("the hook commit-msg takes the last paragraph from the message %q: it has to keep the trailers there", git.Commit{Message: message}.Subject())
	}
	return id, err
}
