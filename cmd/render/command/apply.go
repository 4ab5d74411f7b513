package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/apply"
	"example.com/gatehouse/render/verbs/git"
)

type applyFlags struct {
	apply.Options
	cluster.Target
	root    string
	output  string
	counted []apply.Action // the actions that the summary counts

	kubernetes string // the version that the environment says; empty where it says none
}

func newApplyCommand(kinds *registry.Kinds) *cobra.Command {
	f := applyFlags{Options: apply.Options{Kinds: kinds}, counted: []apply.Action{apply.Created, apply.Configured, apply.Unchanged, apply.Deleted}}
	cmd := &cobra.Command{
		Use:   "apply --env NAME",
		Short: "Apply rendered/NAME to a cluster, and wait until it is ready",
		Long: `Apply applies rendered/NAME, as it is in the work tree, to the cluster of the
kubeconfig's current context, where there is neither Flux nor Argo CD. It creates and
changes by server-side apply, deletes what it applied before and git has no more, and
waits until all is ready.` + aboutGates(kinds, ` The Pod of %s is created where it is absent, and never
touched again.`) + `

First it asks the cluster about all of it, and where anything is refused, nothing is
written. It takes no field from somebody else, unless --force-conflicts is there, and
no object that belongs to another environment, Flux, Argo CD, Helm or a controller. What
it applied is in an inventory, the ConfigMap gatehouse-NAME in namespace default: killed
at any instant, applying again completes it. Of two runs for one environment at the same time,
the later one wins, and the other stops with an error.
` + aboutGates(kinds, `
Once its Pod is armed %s is ready, and stays so, whatever comes of it.
`) + `
Exit codes: 0 done; 2 error, which says whether anything was applied, or not ready in
time.`,
		Example: `  # What would be done?
  render apply --env dev --dry-run

  # Apply, and wait for up to five minutes until it is ready
  render apply --env dev

  # To the cluster of another context
  render apply --env dev --context kind-dev

  # What was done, for a script
  render apply --env dev -o json | jq -r '.objects[] | select(.action != "unchanged") | .name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runApply(cmd, f) },
	}
	addApplyFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.ForceConflicts, "force-conflicts", false, "take fields back from those who changed them, and objects from kubectl")
	return cmd
}

// addApplyFlags adds the flags that applying and deleting have in common.
func addApplyFlags(cmd *cobra.Command, f *applyFlags) {
	addEnvironmentFlag(cmd, &f.Environment)
	_ = cmd.MarkFlagRequired("env")
	addRootFlag(cmd, &f.root)
	addClusterFlags(cmd, &f.Target)
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "ask the cluster what would be done, and do nothing")
	cmd.Flags().BoolVar(&f.Wait, "wait", true, "wait until it is ready, and what is deleted is gone")
	cmd.Flags().DurationVar(&f.Timeout, "timeout", 5*time.Minute, "how long to wait, like 90s or 5m")
	addOutputFlag(cmd, &f.output, textOrJSON)
}

func runApply(cmd *cobra.Command, f applyFlags) error {
	r := newApplyReport(cmd, &f)
	var manifests []manifest.Object
	var problems []manifest.Problem // errors, or warnings of what is left out
	err := inRepository(cmd, f.Kinds, f.root, nil, func(repository *render.Repository, p *progress) (err error) {
		f.Repository = origin(cmd.Context(), repository)
		if f.kubernetes, _, err = repository.RenderedFor(f.Environment); err != nil {
			return err
		}
		manifests, problems, err = apply.Read(cmd.Context(), repository, f.Environment, p.step)
		return err
	})
	if err != nil || manifest.HasErrors(problems) {
		problems, _ = manifest.SplitProblems(problems)
		return r.end(problems, err)
	}
	return f.run(cmd, r, problems, func(ctx context.Context, c *cluster.Cluster, o apply.Options) ([]manifest.Problem, error) {
		return apply.Apply(ctx, c, manifests, o)
	})
}

// origin identifies the git repository; it is empty where that is not known.
func origin(ctx context.Context, repository *render.Repository) string {
	work, err := git.Open(ctx, repository.Dir())
	if err != nil {
		return ""
	}
	return work.Origin(ctx)
}

// run connects to the cluster, does something there and prints what was done.
func (f *applyFlags) run(cmd *cobra.Command, r *applyReport, warnings []manifest.Problem, do func(context.Context, *cluster.Cluster, apply.Options) ([]manifest.Problem, error)) error {
	if f.Timeout <= 0 {
		return errors.New("--timeout: write how long to wait, like 90s or 5m; --wait=false does not wait")
	}
	p := newProgress(cmd.ErrOrStderr(), "connecting to the cluster")
	defer p.stop()
	c, err := f.Connect(cmd.ErrOrStderr())
	if err != nil {
		p.stop()
		return r.end(warnings, err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a closed pipe must not stop a run halfway
	context.AfterFunc(ctx, stop)   // a second Ctrl-C ends it at once
	r.Cluster = c.Name
	f.Progress, f.Done = p.step, func(change apply.Change) { r.add(change, p) }
	p.pause(func() { fmt.Fprintf(cmd.ErrOrStderr(), "cluster: %s\n", c.Name) })
	problems, err := do(ctx, c, f.Options)
	p.stop()
	return r.end(slices.Concat(warnings, c.VersionWarnings(f.Environment, f.kubernetes), problems), err)
}

// applyReport reports what was done in a cluster, for people and programs.
type applyReport struct {
	Environment string             `json:"environment"`
	Cluster     string             `json:"cluster"`
	DryRun      bool               `json:"dryRun,omitempty"`
	Objects     []apply.Change     `json:"objects"`
	Errors      []manifest.Problem `json:"errors"`
	Warnings    []manifest.Problem `json:"warnings"`

	cmd   *cobra.Command
	flags *applyFlags
}

func newApplyReport(cmd *cobra.Command, f *applyFlags) *applyReport {
	return &applyReport{Environment: f.Environment, DryRun: f.DryRun, Objects: []apply.Change{}, cmd: cmd, flags: f}
}

// add notes what was done about an object, and prints it where it is a change.
func (r *applyReport) add(change apply.Change, p *progress) {
	r.Objects = append(r.Objects, change)
	if r.flags.output == "text" && change.Action != apply.Unchanged {
		p.pause(func() {
			fmt.Fprintf(r.cmd.OutOrStdout(), "%s %s%s\n", kind.Visible(change.String()), change.Action, r.dryRun())
		})
	}
}

func (r *applyReport) dryRun() string {
	if r.DryRun {
		return " (server dry run)"
	}
	return ""
}

// end prints what is left to say.
func (r *applyReport) end(problems []manifest.Problem, err error) error {
	r.Errors, r.Warnings = manifest.SplitProblems(problems)
	out, errOut := r.cmd.OutOrStdout(), r.cmd.ErrOrStderr()
	if r.flags.output == "json" {
		if err != nil {
			r.Errors = append(r.Errors, manifest.Problem{Message: err.Error()})
		}
		if printErr := printJSON(out, r); printErr != nil {
			return printErr
		}
	} else {
		printProblems(errOut, r.Warnings)
		printProblems(errOut, r.Errors)
		if len(r.Objects) > 0 || err == nil && len(r.Errors) == 0 {
			fmt.Fprintln(out, r.summary())
		}
	}
	switch {
	case err != nil:
		return errors.New(kind.Visible(err.Error(), '\n'))
	case len(r.Errors) > 0 && len(r.Objects) == 0:
		return fmt.Errorf("%s, nothing was written", count(len(r.Errors), "problem"))
	case len(r.Errors) > 0:
		return fmt.Errorf("%s, what was done stays: running this again completes it", count(len(r.Errors), "problem"))
	}
	return nil
}

// summary counts what was done.
func (r *applyReport) summary() string {
	counts := map[apply.Action]int{}
	for _, change := range r.Objects {
		counts[change.Action]++
	}
	parts := make([]string, len(r.flags.counted))
	for i, action := range r.flags.counted {
		parts[i] = fmt.Sprintf("%d %s", counts[action], action)
	}
	return fmt.Sprintf("%s: %s%s", r.Environment, strings.Join(parts, ", "), r.dryRun())
}
