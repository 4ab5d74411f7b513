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
	"example.com/gatehouse/render/watchdog"
)

type applyFlags struct {
	apply.Options
	cluster.Target
	root    string
	output  string
	counted []apply.Action // actions in the summary

	kubernetes string // the Kubernetes version of the environment, if it declares one
}

func newApplyCommand(kinds *registry.Kinds) *cobra.Command {
	f := applyFlags{Options: apply.Options{Kinds: kinds},
		counted: []apply.Action{apply.Created, apply.Configured, apply.Unchanged, apply.Deleted}}
	cmd := &cobra.Command{
		Use:   "apply --env NAME",
		Short: "Apply rendered/NAME to a cluster, and wait until it is ready",
		Long: `Apply rendered/NAME, from the work tree, to the cluster of the current context. Use it
in clusters without Flux and Argo CD. Apply uses server-side apply, prunes objects that
are no longer in rendered/NAME, and waits until all objects are ready.` + aboutGates(kinds, `
The Pod of %s is created if it is missing, and never changed.`) + `

A dry run of all objects comes first: if the cluster refuses one, nothing is written.
Apply never overwrites others' fields without --force-conflicts, and never changes
objects of other environments, Flux, Argo CD, Helm or controllers. An inventory, the
ConfigMap gatehouse-NAME in namespace default, lists the applied objects. If apply is
interrupted, run it again. If two runs overlap, the later one wins, and the other fails.
` + aboutGates(kinds, `
Once its Pod is armed, %s is ready, and stays ready even if its command fails.
`) + `
Exit codes: 0 success; 2 error, or not ready in time. The error says whether anything
was applied.`,
		Example: `  # Show what would change
  render apply --env dev --dry-run

  # Apply, and wait up to five minutes until it is ready
  render apply --env dev

  # Apply to the cluster of another context
  render apply --env dev --context kind-dev

  # List the changed objects
  render apply --env dev -o json | jq -r '.objects[] | select(.action != "unchanged") | .name'`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runApply(cmd, f) },
	}
	addApplyFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.ForceConflicts, "force-conflicts", false,
		"overwrite fields of other field managers, and take over objects of kubectl")
	return cmd
}

func addApplyFlags(cmd *cobra.Command, f *applyFlags) {
	addEnvironmentFlags(cmd, &f.Environment, &f.root)
	_ = cmd.MarkFlagRequired("env")
	addClusterFlags(cmd, &f.Target)
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show what would change, by a server-side dry run")
	cmd.Flags().BoolVar(&f.Wait, "wait", true, "wait until objects are ready, and deleted ones are gone")
	cmd.Flags().DurationVar(&f.Timeout, "timeout", 5*time.Minute, "how long to wait for readiness, like 90s or 5m")
	addOutputFlag(cmd, &f.output, "text", "json")
}

func runApply(cmd *cobra.Command, f applyFlags) error {
	r := newApplyReport(cmd, &f)
	var manifests []manifest.Object
	var problems []manifest.Problem // errors, or warnings about skipped objects
	from := opening{root: f.root}
	err := inRepository(cmd, f.Kinds, from, func(repository *render.Repository, p *progress) (err error) {
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
	return f.run(cmd, r, problems,
		func(ctx context.Context, c *cluster.Cluster, o apply.Options) ([]manifest.Problem, error) {
			return apply.Apply(ctx, c, manifests, o)
		})
}

// origin identifies the git repository. It is empty if git does not know.
func origin(ctx context.Context, repository *render.Repository) string {
	work, err := openGit(ctx, repository.Dir())
	if err != nil {
		return ""
	}
	return work.Origin(ctx)
}

// run connects to the cluster, calls do and prints the report.
func (f *applyFlags) run(cmd *cobra.Command, r *applyReport, warnings []manifest.Problem,
	do func(context.Context, *cluster.Cluster, apply.Options) ([]manifest.Problem, error)) error {
	if f.Timeout <= 0 {
		return errors.New("--timeout must be positive, like 90s or 5m; use --wait=false to skip waiting")
	}
	p := newProgress(cmd.ErrOrStderr(), "connecting to the cluster")
	defer p.stop()
	c, err := f.Connect(cmd.ErrOrStderr())
	if err != nil {
		p.stop()
		return r.end(warnings, err)
	}
	defer watchdog.Hold()()
	ending.leaveSignals()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a closed pipe must not stop a run halfway
	context.AfterFunc(ctx, stop)   // a second Ctrl-C ends it at once
	r.Cluster = c.Name
	f.Progress = p.step
	f.Done = func(change apply.Change) { r.add(change, p) }
	p.pause(func() { fmt.Fprintf(cmd.ErrOrStderr(), "cluster: %s\n", c.Name) })
	problems, err := do(ctx, c, f.Options)
	p.stop()
	return r.end(slices.Concat(warnings, c.VersionWarnings(f.Environment, f.kubernetes), problems), err)
}

// applyReport lists the changes of a cluster, for people and programs.
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

// add records an object, and prints it if it changed.
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

// end prints problems and the summary.
func (r *applyReport) end(problems []manifest.Problem, err error) error {
	r.Errors, r.Warnings = manifest.SplitProblems(problems)
	out := r.cmd.OutOrStdout()
	errOut := r.cmd.ErrOrStderr()
	if r.flags.output == "json" {
		if err != nil {
			r.Errors = append(r.Errors, manifest.Problem{Code: manifest.RunFailed, Message: err.Error()})
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
		return err
	case len(r.Errors) > 0 && len(r.Objects) == 0:
		return fmt.Errorf("%s, nothing was written", count(len(r.Errors), "problem"))
	case len(r.Errors) > 0:
		return fmt.Errorf("%s, earlier changes stay: run this again to complete them", count(len(r.Errors), "problem"))
	}
	return nil
}

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
