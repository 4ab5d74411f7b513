package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/git"
)

// metadataFile names the source of a published commit for GitOps Promoter, at the top of the tree.
// https://github.com/argoproj-labs/gitops-promoter/blob/main/docs/advanced-usage/custom-hydrator.md
const metadataFile = "hydrator.metadata"

// proposedSuffix is the suffix of the branch that GitOps Promoter proposes from.
const proposedSuffix = "-next"

// metadata is the content of metadataFile.
type metadata struct {
	DrySHA  string `json:"drySha"`
	RepoURL string `json:"repoURL,omitempty"`
	Author  string `json:"author"`
	Date    string `json:"date"`
	Subject string `json:"subject"`
	Body    string `json:"body,omitempty"`
}

// metadata returns the content of metadataFile for the source commit.
func (p *publisher) metadata(ctx context.Context, repoURL string) ([]byte, error) {
	source, err := p.git.ReadCommit(ctx, p.head)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	compact := manifest.JSON(metadata{p.head, repoURL, source.Author, source.Date, source.Subject, source.Body})
	err = json.Indent(&content, []byte(compact+"\n"), "", "  ")
	return content.Bytes(), err
}

// isMetadata reports whether a file is metadataFile for the source commit, with any URL.
func (p *publisher) isMetadata(ctx context.Context, file git.File) bool {
	contents, err := p.git.ReadFiles(ctx, map[string]git.File{metadataFile: file})
	if err != nil {
		return false
	}
	var m metadata
	err = json.Unmarshal(contents[metadataFile], &m)
	want, metadataErr := p.metadata(ctx, m.RepoURL)
	return err == nil && metadataErr == nil && bytes.Equal(contents[metadataFile], want)
}

// repoURL returns the URL of the repository, without a password.
func (p *publisher) repoURL(ctx context.Context) string {
	remote := p.git.URL(ctx)
	if !strings.Contains(remote, "://") { // HOST:PATH has no password
		return remote
	}
	parsed, err := url.Parse(remote)
	if err != nil {
		return ""
	}
	parsed.User = nil
	return parsed.String()
}

// writeTree writes the tree to publish: the rendered folder and, for GitOps Promoter, metadataFile.
func (p *publisher) writeTree(ctx context.Context) (err error) {
	if p.rendered, err = p.git.WriteTree(ctx, p.head, p.folder, nil); err != nil || !p.Promoter {
		p.tree = p.rendered
		return err
	}
	content, err := p.metadata(ctx, p.repoURL(ctx))
	if err != nil {
		return err
	}
	p.tree, err = p.git.WriteTree(ctx, p.head, p.folder, map[string][]byte{metadataFile: content})
	return err
}

// isPublished reports whether a commit has the rendered folder of HEAD.
func (p *publisher) isPublished(ctx context.Context, now *branch) bool {
	if !p.Promoter {
		return now.commit.Tree == p.tree
	}
	published, err := p.git.WriteTree(ctx, now.tip, p.folder, nil)
	return err == nil && published == p.rendered
}

// noteSource tells GitOps Promoter by a git note that an unchanged commit is also the rendering of HEAD, unless
// the note names a later commit, or a commit that this clone lacks.
func (p *publisher) noteSource(ctx context.Context) error {
	note, err := json.Marshal(map[string]string{"drySha": p.head})
	if err != nil || !p.Promoter || !p.Push || p.DryRun {
		return err
	}
	return p.git.PushNote(ctx, p.remote, "refs/notes/"+metadataFile, p.result.Commit, string(note),
		func(old string) bool {
			var m metadata
			if json.Unmarshal([]byte(old), &m) != nil || !git.IsID(m.DrySHA) {
				return true
			}
			isLater, err := p.git.IsAncestor(ctx, p.head, m.DrySHA)
			return err == nil && !isLater
		})
}
