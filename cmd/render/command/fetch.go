package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/fetch"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/verbs/git"
	"example.com/gatehouse/render/verbs/images"
	"example.com/gatehouse/render/verbs/pull"
)

// fetching are the flags of a command that may fetch what the repository does not have.
type fetching struct {
	isOn bool
	from []string

	fetcher *fetch.Fetcher // nil before open, and without --fetch
}

func (f *fetching) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.isOn, "fetch", false,
		"fetch what deliveries name and the repository does not have, such as charts, into a cache of the user")
	f.addFromFlag(cmd)
}

func (f *fetching) addFromFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.from, "fetch-from", nil,
		"fetch from the `HOST` as well, which the base of the change does not name (repeatable)")
}

// open returns the repository with what it fetches, until end. Base is the revision that a change is made from, as the
// flags of the command name it.
func (f *fetching) open(cmd *cobra.Command, repository *render.Repository, base string,
	p *progress) (with *render.Repository, end func(), err error) {
	if !f.isOn {
		if len(f.from) > 0 {
			return nil, nil, errors.New("--fetch-from needs --fetch: add it")
		}
		return repository, func() {}, nil
	}
	p.step("finding what the base names")
	dir := repository.Dir()
	if in := f.dir(cmd); in != "" {
		dir = in // the repository is a copy of the index
	}
	trust, closeBase, err := trustOf(cmd.Context(), repository, dir, base, cmd.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	defer closeBase()
	trust.From = f.from
	cache, err := fetch.CacheFolder()
	if err != nil {
		return nil, nil, fmt.Errorf("find the cache of fetched files: %w", err)
	}
	if f.fetcher, err = fetch.New(cmd.Context(), cache, trust, nil); err != nil {
		return nil, nil, err
	}
	f.fetcher.Progress = p.step
	return repository.Fetching(f.fetcher), f.fetcher.Close, nil
}

// dir returns the folder of --root, if the command has it.
func (*fetching) dir(cmd *cobra.Command) string {
	root, _ := cmd.Flags().GetString("root")
	return root
}

// all returns the fetched files.
func (f *fetching) all() []fetched.Files {
	if f.fetcher == nil {
		return nil
	}
	return f.fetcher.All()
}

// askForImages returns a comparison with the answers of the registries of added images, and warns of the others, which
// stay unknown.
func (f *fetching) askForImages(errOut io.Writer, d *compare.Diff, p *progress) *compare.Diff {
	if f.fetcher == nil {
		return d
	}
	p.step("asking the registries of new images")
	d, unknown := images.Ask(d, f.fetcher)
	p.stop()
	if len(unknown) > 0 {
		fmt.Fprintf(errOut, "warning: its registry did not tell of %s: %s\n",
			kind.Count(int64(len(unknown)), "new image"), kind.Visible(manifest.FirstOf(3, unknown)))
	}
	return d
}

// trustOf returns the trust of a change: in the sources that its base names. The base is a revision, or the
// merge base with the default branch of the remote. There the tree itself is reviewed, and without a remote it is the
// caller's.
func trustOf(ctx context.Context, repository *render.Repository, dir, base string,
	errOut io.Writer) (trust *fetch.Trust, end func(), err error) {
	end = func() {}
	tree := func() *fetch.Trust { return &fetch.Trust{IsTree: true, Base: fetch.NamesIn(repository.Files())} }
	in, err := openGit(ctx, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return tree(), end, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var commit string
	if base != "" {
		commit, err = in.MergeBase(ctx, base)
	} else {
		var isReviewed bool
		if commit, isReviewed, err = in.Reviewed(ctx); err == nil && isReviewed {
			return tree(), end, nil
		}
	}
	if err != nil {
		fmt.Fprintf(errOut, "warning: nothing is fetched without --fetch-from HOST, as the base of the change is "+
			"unknown: %v\n", err)
		return &fetch.Trust{}, end, nil
	}
	snapshot, err := in.Snapshot(ctx, commit)
	if err != nil {
		return nil, nil, err
	}
	return &fetch.Trust{Base: fetch.NamesIn(snapshot)}, snapshot.Close, nil
}

type fetchFlags struct {
	selected
	fetching
	vendor bool
}

// fetchReport is the list of fetched files as JSON.
type fetchReport struct {
	Fetched []fetched.Files `json:"fetched"`
	// NotFetched are the sources that failed, with their errors.
	NotFetched []fetch.Failure `json:"notFetched"`
}

func newFetchCommand(kinds *registry.Kinds) *cobra.Command {
	var f fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch (--env NAME... | --all) [--vendor]",
		Short: "Fetch the charts that environments name",
		Long: `Fetch the Helm charts that HelmReleases of Flux, Applications of Argo CD and helmCharts of
kustomizations name, and that the repository does not have: over HTTPS, or from an OCI
registry, with the credentials of helm and docker, and of ~/.netrc. They go to a cache of
the user, by digest, where --fetch of other commands finds them.

With --vendor, charts go to the repository: to the folder charts, and those of helmCharts to
their own folder. Each folder has a lock, charts.lock, with the repository and digest of each
chart. A chart with another digest than in the lock is an error, and a range of versions is
the version in the lock. With --all, charts in a lock that no environment names are removed.

Only what the base of a change names is fetched: its repositories and hosts. The base is the
merge base with the default branch of the remote. There, or without a remote, it is the work
tree. --fetch-from HOST allows another host.

Exit codes: 0 success; 2 error. An error of one chart does not affect the others.`,
		Example: `  # Fetch the charts of all environments into the cache
  render fetch --all

  # Keep them in the repository, with their digests
  render fetch --vendor --all`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFetch(cmd, kinds, f) },
	}
	f.selected.addFlags(cmd, "fetch for", "", "text", "json")
	f.addFromFlag(cmd)
	cmd.Flags().BoolVar(&f.vendor, "vendor", false, "write the charts to the repository, with a lock")
	return cmd
}

func runFetch(cmd *cobra.Command, kinds *registry.Kinds, f fetchFlags) error {
	f.isOn = true
	lock := (*render.Repository).RLock
	if f.vendor {
		lock = (*render.Repository).Lock
	}
	return f.inRepository(cmd, kinds, opening{root: f.root, lock: lock}, func(repository *render.Repository,
		p *progress) error {
		if f.vendor {
			result, err := pull.Run(cmd.Context(), f.fetcher, repository, f.Selection, p.step)
			p.stop()
			if err != nil {
				return err
			}
			if err := printVendored(cmd.OutOrStdout(), result, f.output); err != nil {
				return err
			}
			return problemsError(cmd, result.Problems, "")
		}
		problems, err := pull.Fetch(cmd.Context(), repository, f.Selection, p.step)
		p.stop()
		if err != nil {
			return err
		}
		if err := printFetched(cmd, fetchReport{f.fetcher.All(), f.fetcher.Failures()}, f.output); err != nil {
			return err
		}
		return problemsError(cmd, problems, "")
	})
}

// printFetched prints the fetched files. The error of a source is an exit code.
func printFetched(cmd *cobra.Command, r fetchReport, output string) (err error) {
	if output == "json" {
		err = printJSON(cmd.OutOrStdout(), r)
	} else {
		for _, files := range r.Fetched {
			to := strings.TrimSpace(files.Resolved + " " + files.Digest)
			fmt.Fprintf(cmd.OutOrStdout(), "%s -> %s\n", files.Source, to)
		}
		for _, failure := range r.NotFetched {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", failure.Source, failure.Error)
		}
	}
	if err == nil && len(r.NotFetched) > 0 {
		err = exitCode(exitError)
	}
	return err
}

func printVendored(out io.Writer, result *pull.Result, output string) error {
	if output == "json" {
		return printJSON(out, result)
	}
	for _, list := range []struct {
		files []string
		verb  string
	}{{result.Pulled, "pulled"}, {result.Locked, "locked"}, {result.Unchanged, "unchanged"},
		{result.Removed, "removed"}} {
		for _, file := range list.files {
			fmt.Fprintf(out, "%s %s\n", file, list.verb)
		}
	}
	return nil
}

// newChartsCommand returns the old name of render fetch --vendor.
func newChartsCommand(kinds *registry.Kinds) *cobra.Command {
	cmd := &cobra.Command{Use: "charts", Hidden: true, Short: "Fetch charts into the repository"}
	pull := newFetchCommand(kinds)
	pull.Use = "pull (--env NAME... | --all)"
	pull.Example = ""
	_ = pull.Flags().Set("vendor", "true")
	cmd.AddCommand(pull)
	return cmd
}
