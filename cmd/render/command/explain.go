package command

import (
	"bufio"
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

// explainFlags has the flags of the command explain.
type explainFlags struct {
	environment, namespace, root, output string
}

func newExplainCommand(kinds *registry.Kinds) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain (FILE | KIND/NAME | KIND NAME) [--env NAME]",
		Short: "Say where an object comes from, what changes it, and what it is rendered to",
		Long: `Explain says in which file and line an object is written, which kustomizations
change it, in the order in which they are applied, and what it is rendered to, with a
diff of what changed in all; of a rendered object it says what it was rendered from,
and what overrides changed of it.

FILE is one that render wrote, or one that people write: then it explains all objects
that the file has, or may change as a kustomization or as a file that one loads.
KIND is as kubectl takes it, in any case: deployment, deployments, deploy, deployments.apps.

Exit codes: 0 done; 2 error, also where the environment has errors: they are printed,
beside the answer where kustomize can build the environment.`,
		Example: `  # Where the image of a Deployment comes from
  render explain deployment/sessions --env prod

  # What a Deployment was rendered from
  render explain rendered/prod/shop/deployment-sessions.yaml

  # What a patch changes
  render explain environments/prod/catalog.yaml

  # The files that have to do with an object, for a script
  render explain memcached catalog -n shop --env prod -o json | jq -r '.objects[].changes[].file'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd, kinds, f, args) },
	}
	addEnvironmentFlag(cmd, &f.environment)
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "the namespace of the object, where several have one of its name")
	addRootFlag(cmd, &f.root)
	addOutputFlag(cmd, &f.output, textOrJSON)
	return cmd
}

func runExplain(cmd *cobra.Command, kinds *registry.Kinds, f explainFlags, args []string) error {
	return inRepository(cmd, kinds, f.root, nil, func(repository *render.Repository, p *progress) error {
		q, err := f.question(repository, args)
		if err != nil {
			return err
		}
		answer, err := explain.Ask(repository, q, func(step string) { p.step(q.Environment + ": " + step) })
		p.stop()
		if answer == nil {
			return err
		}
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
	b := bufio.NewWriter(w)
	for i, x := range answer.Objects {
		if i > 0 {
			fmt.Fprintln(b)
		}
		printExplanation(b, answer.Environment, x, isColored(w))
	}
	return b.Flush()
}

// question returns what the arguments ask for.
func (f explainFlags) question(repository *render.Repository, args []string) (q explain.Question, err error) {
	q = explain.Question{Environment: f.environment, Namespace: f.namespace}
	environments, err := repository.Environments()
	if err == nil && len(args) == 1 {
		q.File, err = fileOf(repository.Dir(), args[0])
	}
	switch {
	case err != nil:
		return q, err
	case q.File == "":
		q.Kind, q.Name, err = objectOf(args)
	default:
		q.Environment, err = f.environmentOf(q.File, environments)
	}
	if err == nil && q.Environment == "" {
		err = fmt.Errorf("which environment? write --env NAME%s", render.ListNames(environments))
	}
	return q, err
}

// objectOf returns the kind and name of KIND/NAME, or KIND and NAME.
func objectOf(args []string) (kind, name string, err error) {
	kind, name, _ = strings.Cut(strings.Join(args, "/"), "/")
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q is no object: write KIND/NAME, as memcached/sessions, and -n NAMESPACE where several have the name; or the path of a FILE", strings.Join(args, " "))
	}
	return kind, name, nil
}

// environmentOf returns the environment to explain a file in: the one of the flag, or else the one that
// the path of the file says.
func (f explainFlags) environmentOf(file string, environments []string) (string, error) {
	said := explain.EnvironmentOf(file, environments)
	isRendered := strings.HasPrefix(file, "rendered/")
	switch {
	case f.namespace != "":
		return "", errors.New("--namespace is for KIND/NAME: leave it out with a FILE")
	case isRendered && said == "":
		return "", fmt.Errorf("%s is of no environment%s", file, render.ListNames(environments))
	case isRendered && f.environment != "" && f.environment != said:
		return "", fmt.Errorf("%s is of %s: leave out --env %s", file, said, f.environment)
	}
	return cmp.Or(f.environment, said), nil
}

// fileOf returns the path from the root of the file that an argument names, empty where it names
// none but an object.
func fileOf(root, arg string) (string, error) {
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
			return "", fmt.Errorf("%s is a folder: name a file in it", arg)
		}
		return filepath.ToSlash(inside), nil
	}
	switch {
	case strings.HasPrefix(arg, "rendered/"): // it may be one that is yet to be written
		return path.Clean(filepath.ToSlash(arg)), nil
	case strings.HasPrefix(arg, "environments/") || strings.HasPrefix(arg, ".") || path.Ext(arg) == ".yaml":
		return "", fmt.Errorf("%s: no such file: name one of environments/ or rendered/, or an object as KIND/NAME", arg)
	}
	return "", nil
}

// printExplanation prints an explanation as kubectl describes an object.
func printExplanation(w io.Writer, environment string, x explain.Explanation, colored bool) {
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
	if x.Origin != nil {
		line("Written in", x.Origin.String()+"  "+x.Origin.Object)
	}
	switch {
	case !x.IsTraced:
		line("Changed by", "(not known)")
	case len(x.Changes) == 0 && x.Diff == "":
		line("Changed by", "(nothing)")
	}
	printList(w, "Changed by", x.Changes, explain.Place.String)
	printList(w, "Overridden by", x.Overrides.Changes, explain.Place.String)
	if x.IsRemoved {
		line("Rendered to", "(nothing)")
	}
	printList(w, "Rendered to", x.RenderedTo, func(to explain.Reference) string { return to.String() + "  " + to.File })
	printDiff(w, x.Diff, colored)
	printDiff(w, x.Overrides.Diff, colored)
}

// printList prints a list, each item on a line, below a title; nothing where it is empty.
func printList[T any](w io.Writer, title string, list []T, text func(T) string) {
	for i, item := range list {
		if i == 0 {
			fmt.Fprintln(w, title+":")
		}
		fmt.Fprintf(w, "  %s\n", kind.Visible(text(item)))
	}
}
