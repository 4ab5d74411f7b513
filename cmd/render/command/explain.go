package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/explain"
)

type explainFlags struct {
	fetching
	environment, namespace, root, output string
}

func newExplainCommand(kinds *registry.Kinds) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain (FILE | KIND/NAME | KIND NAME) [--env NAME]",
		Short: "Show the source of an object, its changes and its rendered objects",
		Long: `Show the file and line that define an object, the entries of kustomizations that change it,
in the order of application, its rendered objects, and a diff of all changes. Each entry, as
patches[1], has the fields that no later entry sets. For a rendered object, show its source
object and the changes by overrides. Another diff shows the changes that
MutatingAdmissionPolicies of the environment make in the cluster. For an object that Flux or
Argo CD brings by another object of the environment, from a folder or a chart of this
repository, show that other object, and its fields that change the first.

A change that no single entry explains names the kustomization only. So does each change if
a file defines or changes very many objects.

FILE is a rendered file, or a source file in environments/ or elsewhere. For a source
file, explain shows every object that the file defines or may change. KIND is a name
that kubectl accepts, in any case: deployment, deployments, deploy, deployments.apps.

Exit codes: 0 success; 2 error, including errors in the environment. If kustomize can
build the environment, explain prints its errors and the answer.`,
		Example: `  # Find the file that sets the image of a Deployment
  render explain deployment/sessions --env prod

  # Find the source of a rendered Deployment
  render explain rendered/prod/shop/deployment-sessions.yaml

  # Show the objects that a patch changes
  render explain environments/prod/catalog.yaml

  # Find the patch that sets the size
  render explain memcached catalog -n shop --env prod -o json |
    jq -r '.objects[].changes[] | select(.fields[]? == "spec.size") | "\(.file):\(.line): \(.entry)"'`,
		Args: argsBetween(1, 2, "which object? write render explain deployment/NAME --env NAME, or a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd, kinds, f, args) },

		ValidArgsFunction: completeObjects,
	}
	f.addFlags(cmd)
	addEnvironmentFlags(cmd, &f.environment, &f.root)
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "",
		"the namespace of the object; needed if the name exists in several")
	addOutputFlag(cmd, &f.output, "text", "json")
	return cmd
}

func runExplain(cmd *cobra.Command, kinds *registry.Kinds, f explainFlags, args []string) error {
	return f.inRepository(cmd, kinds, opening{root: f.root}, func(repository *render.Repository, p *progress) error {
		q, err := f.question(repository, args)
		if err != nil {
			return err
		}
		answer, err := explain.Ask(repository, q, func(step string) { p.step(q.Environment + ": " + step) })
		p.stop()
		if answer == nil {
			return err
		}
		answer.Fetched = f.all()
		printProblems(cmd.ErrOrStderr(), answer.Errors)
		if len(answer.Objects) > 0 || f.output == "json" && len(answer.Errors) > 0 {
			if err := printAnswer(cmd.OutOrStdout(), *answer, f.output); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
		if err == nil && len(answer.Errors) > 0 {
			err = exitCode(exitError)
		}
		return err
	})
}

func printAnswer(w io.Writer, answer explain.Answer, output string) error {
	if output == "json" {
		return printJSON(w, answer)
	}
	b, flush := buffered(w)
	for i, x := range answer.Objects {
		if i > 0 {
			fmt.Fprintln(b)
		}
		printExplanation(b, answer.Environment, x)
	}
	return flush()
}

func (f explainFlags) question(repository *render.Repository, args []string) (q explain.Question, err error) {
	q = explain.Question{Environment: f.environment, Namespace: f.namespace}
	environments, err := repository.Environments()
	if err == nil && len(args) == 1 {
		q.File, err = findFile(repository.Dir(), args[0])
	}
	switch {
	case err != nil:
		return q, err
	case q.File == "":
		q.Kind, q.Name, err = parseObject(args)
	default:
		q.Environment, err = f.chooseEnvironment(q.File, environments)
	}
	switch {
	case err == nil && q.Environment == "" && len(environments) == 1:
		q.Environment = environments[0]
	case err == nil && q.Environment == "":
		err = fmt.Errorf("specify an environment with --env NAME%s", render.ListNames(environments))
	}
	return q, err
}

func parseObject(args []string) (kind, name string, err error) {
	kind, name, _ = strings.Cut(strings.Join(args, "/"), "/")
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q is neither a file nor an object: write an object as KIND/NAME, like "+
			"deployment/web, or the path of a file", strings.Join(args, " "))
	}
	return kind, name, nil
}

// chooseEnvironment returns the environment of the flag, or else the environment in the path of the file.
func (f explainFlags) chooseEnvironment(file string, environments []string) (string, error) {
	inPath := explain.EnvironmentOf(file, environments)
	isRendered := strings.HasPrefix(file, "rendered/")
	switch {
	case f.namespace != "":
		return "", errors.New("--namespace applies to KIND/NAME only: omit it with a FILE")
	case isRendered && inPath == "":
		return "", fmt.Errorf("%s belongs to no environment%s", file, render.ListNames(environments))
	case isRendered && f.environment != "" && f.environment != inPath:
		return "", fmt.Errorf("%s belongs to %s: omit --env %s", file, inPath, f.environment)
	}
	return cmp.Or(f.environment, inPath), nil
}

// findFile returns the path of an argument from the root, or an empty path if the argument names an object.
func findFile(root, arg string) (string, error) {
	absolute, err := filepath.Abs(arg)
	if err != nil {
		return "", err
	}
	for _, name := range []string{absolute, filepath.Join(root, arg)} {
		resolved, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		inside, err := filepath.Rel(root, resolved)
		if err != nil || !filepath.IsLocal(inside) {
			return "", fmt.Errorf("%s is outside %s: name a file of the repository, or set --root", arg, root)
		}
		if info, err := os.Stat(resolved); err == nil && info.IsDir() {
			return "", fmt.Errorf("%s is a folder: name a file", arg)
		}
		return filepath.ToSlash(inside), nil
	}
	switch {
	case strings.HasPrefix(arg, "rendered/"): // the file may not be rendered yet
		return path.Clean(filepath.ToSlash(arg)), nil
	case strings.HasPrefix(arg, "environments/") || strings.HasPrefix(arg, ".") || path.Ext(arg) == ".yaml":
		return "", fmt.Errorf("%s: no such file: name a file in environments/ or rendered/, or an object as "+
			"KIND/NAME", arg)
	}
	return "", nil
}

// printExplanation prints an explanation in the layout of kubectl describe.
func printExplanation(w io.Writer, environment string, x explain.Explanation) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-15s %s\n", name+":", kind.Visible(value))
		}
	}
	line("Name", x.Name)
	line("Namespace", x.Namespace)
	line("Kind", x.Kind)
	line("API version", x.APIVersion)
	line("Environment", environment)
	line("File", x.File)
	if x.RenderedFrom != nil {
		line("Rendered from", strings.TrimSpace(x.RenderedFrom.String()+"  "+x.RenderedFrom.File))
	}
	if x.DeliveredBy != nil {
		line("Delivered by", x.DeliveredBy.Object+"  "+x.DeliveredBy.String())
	}
	if x.Origin != nil {
		line("Written in", x.Origin.String()+"  "+x.Origin.Object)
	}
	printList(w, "Values", x.Values, func(value string) string { return value })
	switch {
	case !x.IsTraced:
		line("Changed by", "(unknown)")
	case len(x.Changes) == 0 && x.Diff == "":
		line("Changed by", "(nothing)")
	}
	printList(w, "Changed by", x.Changes, explain.Change.String)
	printList(w, "Overridden by", x.Overrides.Changes, explain.Change.String)
	printList(w, "Mutated by", x.Mutations.Changes, explain.Change.String)
	printList(w, "Not evaluated", x.Unevaluated, strings.Clone)
	if x.IsRemoved {
		line("Rendered to", "(nothing)")
	}
	printList(w, "Rendered to", x.RenderedTo, func(to explain.Reference) string { return to.String() + "  " + to.File })
	printDiff(w, x.Diff)
	printDiff(w, x.Overrides.Diff)
	printDiff(w, x.Mutations.Diff)
}

// printList prints a title and one item a line, or nothing for an empty list.
func printList[T any](w io.Writer, title string, list []T, text func(T) string) {
	for i, item := range list {
		if i == 0 {
			fmt.Fprintln(w, title+":")
		}
		fmt.Fprintf(w, "  %s\n", kind.Visible(text(item)))
	}
}
