package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/git"
)

type applyFlags struct {
	cluster.Options
	cluster.Target
	names   []string
	root    string
	output  string
	counted []string // the actions that the summary counts
}

func newApplyCommand(kinds *registry.Kinds) *cobra.Command {
	f := applyFlags{Options: cluster.Options{Kinds: kinds}, counted: []string{cluster.Created, cluster.Configured, cluster.Unchanged, cluster.Deleted}}
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
at any instant, applying again completes it. Others who apply the same environment wait.
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runApply(cmd, f) },
	}
	addApplyFlags(cmd, &f, "apply")
	cmd.Flags().BoolVar(&f.ForceConflicts, "force-conflicts", false, "take fields back from those who changed them, and objects from kubectl")
	return cmd
}

// addApplyFlags adds the flags that applying and deleting have in common.
func addApplyFlags(cmd *cobra.Command, f *applyFlags, verb string) {
	cmd.Flags().StringArrayVarP(&f.names, "env", "e", nil, "the environment to "+verb+": a folder of environments/")
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
	addRootFlag(cmd, &f.root)
	addClusterFlags(cmd, &f.Target)
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "ask the cluster what would be done, and do nothing")
	cmd.Flags().BoolVar(&f.Wait, "wait", true, "wait until it is ready, and what is deleted is gone")
	cmd.Flags().DurationVar(&f.Timeout, "timeout", 5*time.Minute, "how long to wait, also for others who do so, like 90s or 5m")
	addOutputFlag(cmd, &f.output, textOrJSON)
}

// check returns an error if flags are wrong.
func (f *applyFlags) check() error {
	if err := checkOutput(f.output, textOrJSON); err != nil {
		return err
	}
	var err error
	if f.Environment, err = oneEnvironment(f.names, f.root); err != nil {
		return err
	}
	switch {
	case !render.IsEnvironmentName(f.Environment):
		return fmt.Errorf("%q is not the name of an environment%s", f.Environment, render.Instead(f.Environment, environmentNames(f.root)))
	case f.Timeout <= 0:
		return errors.New("--timeout: write how long to wait, like 90s or 5m; --wait=false does not wait")
	}
	return nil
}

func runApply(cmd *cobra.Command, f applyFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	r := newApplyReport(cmd, &f)
	manifests, problems, err := f.read(cmd.Context(), p)
	if err != nil || manifest.HasErrors(problems) {
		p.stop()
		problems, _ = manifest.SplitProblems(problems)
		return r.end(cmd, problems, err)
	}
	return f.run(cmd, p, r, problems, func(ctx context.Context, c *cluster.Cluster, o cluster.Options) ([]manifest.Problem, error) {
		return cluster.Apply(ctx, c, manifests, o)
	})
}

// read reads what to apply. The problems are errors, or warnings of what is left out.
func (f *applyFlags) read(ctx context.Context, p *progress) ([]cluster.Manifest, []manifest.Problem, error) {
	repository, err := openRepository(ctx, f.root)
	if err != nil {
		return nil, nil, err
	}
	defer repository.Close()
	repository.Now = time.Now()
	f.Repository = origin(ctx, repository)
	return cluster.Read(ctx, repository, f.Environment, p.step)
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
func (f *applyFlags) run(cmd *cobra.Command, p *progress, r *applyReport, warnings []manifest.Problem, do func(context.Context, *cluster.Cluster, cluster.Options) ([]manifest.Problem, error)) error {
	p.step("connecting to the cluster")
	c, err := f.Connect(cmd.ErrOrStderr())
	if err != nil {
		p.stop()
		return r.end(cmd, warnings, err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a closed pipe must not stop a run halfway
	context.AfterFunc(ctx, stop)   // a second Ctrl-C ends it at once
	r.Cluster = c.Name
	f.Progress, f.Done = p.step, func(change cluster.Change) { r.add(change, p) }
	p.pause(func() { fmt.Fprintf(cmd.ErrOrStderr(), "cluster: %s\n", c.Name) })
	problems, err := do(ctx, c, f.Options)
	p.stop()
	return r.end(cmd, append(warnings, problems...), err)
}

// applyReport reports what was done in a cluster, for people and programs.
type applyReport struct {
	Environment string             `json:"environment"`
	Cluster     string             `json:"cluster"`
	DryRun      bool               `json:"dryRun,omitempty"`
	Objects     []cluster.Change   `json:"objects"`
	Errors      []manifest.Problem `json:"errors"`
	Warnings    []manifest.Problem `json:"warnings"`

	out     io.Writer
	isJSON  bool
	counted []string // the actions that a summary counts
}

func newApplyReport(cmd *cobra.Command, f *applyFlags) *applyReport {
	return &applyReport{Environment: f.Environment, DryRun: f.DryRun, Objects: []cluster.Change{}, out: cmd.OutOrStdout(), isJSON: f.output == "json", counted: f.counted}
}

// add notes what was done about an object, and prints it where it is a change.
func (r *applyReport) add(change cluster.Change, p *progress) {
	r.Objects = append(r.Objects, change)
	if r.isJSON || change.Action == cluster.Unchanged {
		return
	}
	p.pause(func() {
		fmt.Fprintf(r.out, "%s %s%s\n", manifest.EscapeControls(change.Object.String()), change.Action, r.dryRun())
	})
}

func (r *applyReport) dryRun() string {
	if r.DryRun {
		return " (server dry run)"
	}
	return ""
}

// end prints what is left to say.
func (r *applyReport) end(cmd *cobra.Command, problems []manifest.Problem, err error) error {
	r.Errors, r.Warnings = manifest.SplitProblems(problems)
	if r.isJSON {
		if err != nil {
			r.Errors = append(r.Errors, manifest.Problem{Message: err.Error()})
		}
		if printErr := printJSON(r.out, r); printErr != nil {
			return printErr
		}
	} else {
		printProblems(cmd.ErrOrStderr(), r.Warnings)
		printProblems(cmd.ErrOrStderr(), r.Errors)
		if len(r.Objects) > 0 || err == nil && len(r.Errors) == 0 {
			fmt.Fprintln(r.out, r.summary())
		}
	}
	switch {
	case err != nil:
		return errors.New(escapeLines(err.Error()))
	case len(r.Errors) > 0:
		return fmt.Errorf("%s, %s", count(len(r.Errors), "problem"), r.done())
	}
	return nil
}

// escapeLines returns a text of which no line can control a terminal.
func escapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = manifest.EscapeControls(line)
	}
	return strings.Join(lines, "\n")
}

// done tells, after errors, whether anything was done.
func (r *applyReport) done() string {
	if len(r.Objects) == 0 {
		return "nothing was written"
	}
	return "what was done stays"
}

// summary counts what was done.
func (r *applyReport) summary() string {
	counts := map[string]int{}
	for _, change := range r.Objects {
		counts[change.Action]++
	}
	parts := make([]string, len(r.counted))
	for i, action := range r.counted {
		parts[i] = fmt.Sprintf("%d %s", counts[action], action)
	}
	return fmt.Sprintf("%s: %s%s", r.Environment, strings.Join(parts, ", "), r.dryRun())
}
