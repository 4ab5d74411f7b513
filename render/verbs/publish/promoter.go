package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
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

// metadata returns the content of metadataFile for HEAD. The URL has no password.
func (p *publisher) metadata(ctx context.Context) ([]byte, error) {
	head, err := p.git.ReadCommit(ctx, p.head)
	if err != nil {
		return nil, err
	}
	m := metadata{p.head, p.git.URL(ctx), head.Author, head.Date, head.Subject, head.Body}
	if parsed, err := url.Parse(m.RepoURL); err == nil && parsed.User != nil {
		parsed.User = nil
		m.RepoURL = parsed.String()
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(m)
	return content.Bytes(), err
}

// writeTree writes the tree to publish: the rendered folder and, for GitOps Promoter, metadataFile.
func (p *publisher) writeTree(ctx context.Context) (err error) {
	if p.rendered, err = p.git.WriteTree(ctx, p.head, p.folder, nil); err != nil || !p.Promoter {
		p.tree = p.rendered
		return err
	}
	content, err := p.metadata(ctx)
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

// noteSource tells GitOps Promoter by a git note that an unchanged commit is also the rendering of HEAD.
func (p *publisher) noteSource(ctx context.Context) error {
	note, err := json.Marshal(map[string]string{"drySha": p.head})
	if err != nil || !p.Promoter || !p.Push || p.DryRun {
		return err
	}
	return p.git.PushNote(ctx, p.remote, "refs/notes/"+metadataFile, p.result.Commit, string(note))
}
