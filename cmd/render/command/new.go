package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/spec"
)

// newNewCommand adds the command new. Its commands are read from CustomResourceDefinitions:
// every other command line leaves them out, as that takes longer than to print a help.
func newNewCommand(kinds *registry.Kinds, args []string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new KIND NAME --env NAME",
		Short: "Add " + kinds.String() + " to an environment",
		Long: `New writes the manifest of one object to a file in the folder of an environment, and
lists it in the kustomization there, of which it keeps every other byte. Nothing is
written if the environment would not take it. The flags of a kind are fields of its
spec.`,
		RunE: func(*cobra.Command, []string) error { return nil }, // never, because of Args
	}
	if !slices.Contains(args, "new") {
		return cmd
	}
	for _, k := range renderedKinds(kinds) {
		cmd.AddCommand(newNewKindCommand(k))
	}
	names, examples := make([]string, len(cmd.Commands())), make([]string, len(cmd.Commands()))
	for i, one := range cmd.Commands() {
		_, example, _ := strings.Cut(one.Example, "\n")
		names[i], examples[i] = one.Name(), "  # "+one.Short+"\n"+example
	}
	cmd.Example = strings.Join(examples, "\n\n")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("new what? write %s%s", listed(names), seeHelp(cmd))
		}
		return fmt.Errorf("unknown kind %q: write %s%s", args[0], listed(names), seeHelp(cmd))
	}
	return cmd
}

// renderedKinds are the kinds that are not converted to another version.
func renderedKinds(kinds *registry.Kinds) (rendered []*kind.Kind) {
	for i := range kinds.All {
		if k := &kinds.All[i]; !k.IsConverted() {
			rendered = append(rendered, k)
		}
	}
	return rendered
}

func newNewKindCommand(k *kind.Kind) *cobra.Command {
	var root string
	s := spec.Spec{Kind: k, Values: map[string]any{}}
	outline, err := spec.NewOutline(k)
	if err != nil {
		outline = &spec.Outline{} // to add a spec is the same error
	}
	name := strings.ToLower(k.GVK.Kind)
	use, example, required := name+" NAME --env NAME", "render new "+name+" sample --env prod", []string(nil)
	for _, f := range outline.Fields {
		if f.Required && f.Flag != "" {
			required = append(required, f.Flag)
			use += fmt.Sprintf(" --%s %s", f.Flag, strings.ToUpper(f.Flag))
		}
		if f.Flag != "" && (f.Required || f.Shown) {
			example += fmt.Sprintf(" --%s %s", f.Flag, word(spec.Text(f.Sample())))
		}
	}
	cmd := &cobra.Command{
		Use:     use,
		Short:   strings.TrimSuffix(outline.Sentence, "."),
		Example: fmt.Sprintf("  # environments/prod/%s-sample.yaml\n  %s", name, example),
		Args:    func(cmd *cobra.Command, args []string) error { return checkNew(cmd, args, required...) },
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			return runNew(cmd, root, s)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	addEnvironmentFlag(cmd, &s.Environment)
	cmd.Flags().StringVarP(&s.Namespace, "namespace", "n", "", "the namespace (default: the one that the environment has, or default)")
	addRootFlag(cmd, &root)
	for _, f := range outline.Fields {
		if f.Flag != "" {
			addFieldFlag(cmd, f, s.Values)
		}
	}
	return cmd
}

// fieldValue is the value of a flag for a field of a spec.
type fieldValue struct {
	spec.Field
	text   string
	values map[string]any // of all fields that are given
}

// String implements pflag.Value.
func (v *fieldValue) String() string { return v.text }

// Set implements pflag.Value.
func (v *fieldValue) Set(text string) (err error) {
	v.text = text
	v.values[v.Name], err = v.Parse(text)
	return err
}

// addFieldFlag adds the flag of a field, which sets its value.
func addFieldFlag(cmd *cobra.Command, f spec.Field, values map[string]any) {
	usage := strings.ReplaceAll(f.Usage, "`", "'") // in which the name of a value would be
	flag := cmd.Flags().VarPF(&fieldValue{Field: f, values: values}, f.Flag, "", usage)
	if f.Default != nil {
		flag.DefValue = spec.Text(f.Default)
	}
	words := f.Values()
	if f.Type() == "bool" {
		flag.NoOptDefVal, words = "true", []string{"true", "false"}
	}
	_ = cmd.RegisterFlagCompletionFunc(f.Flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// checkNew is the error of a command line that leaves out what a new spec has to have, with
// all of that.
func checkNew(cmd *cobra.Command, args []string, flags ...string) error {
	var missing []string
	if len(args) == 0 {
		missing = append(missing, "NAME")
	}
	for _, name := range append([]string{"env"}, flags...) {
		if !cmd.Flags().Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	switch {
	case len(args) > 1:
		return fmt.Errorf("one name, not %d: %q: quote what has spaces%s", len(args), args, seeHelp(cmd))
	case len(missing) > 0:
		return fmt.Errorf("%s missing: write render new %s%s", strings.Join(missing, ", "), cmd.Use, seeHelp(cmd))
	}
	return nil
}

func runNew(cmd *cobra.Command, root string, s spec.Spec) error {
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, done, err := openLocked(cmd.Context(), root, (*render.Repository).Lock, p)
	if err != nil {
		return err
	}
	defer done()
	addition, err := spec.Add(cmd.Context(), repository, s, p.step)
	p.stop()
	if err != nil {
		return err
	}
	return printAddition(cmd, addition, flags{root: root, Selection: render.Selection{Names: []string{s.Environment}}})
}

// printAddition prints what was written, or why nothing was, and what to run next.
func printAddition(cmd *cobra.Command, a *spec.Addition, f flags) error {
	errOut := cmd.ErrOrStderr()
	printProblems(errOut, few(a.Problems))
	if a.Failed() {
		errors, _ := object.SplitProblems(a.Problems)
		fmt.Fprintf(errOut, "error: %s, nothing was written\n", count(len(errors), "problem"))
		return exitCode(exitError)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n%s: lists it\n", a.File, a.Object, a.Kustomization)
	if len(a.Before) == 0 {
		fmt.Fprintf(out, "next: %s\n", f.renderCommand())
		return nil
	}
	printProblems(errOut, a.Before)
	fmt.Fprintf(errOut, "the environment had %s before: mend that, then run %s\n", count(len(a.Before), "problem"), f.renderCommand())
	return nil
}
