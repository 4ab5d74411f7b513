package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/setup"
)

// newNewCommand returns the command new. It adds a subcommand for each kind only if args contain new,
// because reading CustomResourceDefinitions is slow.
func newNewCommand(kinds *registry.Kinds, args []string) *cobra.Command {
	var names, examples []string // of the subcommands
	cmd := &cobra.Command{
		Use:   "new KIND NAME --env NAME",
		Short: "Add " + kinds.String() + " to an environment",
		Long: `Write the manifest of an object, with a comment on each field, to a file in the folder
of an environment, and list the file in the kustomization. If the environment would not
render, nothing is written. Each flag of a kind sets a field of its spec. If resources:
of the kustomization is not a list with one entry per line, new prints the entry to add.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown kind %q: specify a kind: %s", args[0], kind.Or(names))
			}
			return fmt.Errorf("specify a kind: %s", kind.Or(names))
		},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // the flags of an unknown kind
	}
	if !slices.Contains(args, "new") {
		return cmd
	}
	for k := range kinds.Rendered() {
		one := newNewKindCommand(kinds, k)
		cmd.AddCommand(one)
		_, example, _ := strings.Cut(one.Example, "\n")
		names = append(names, one.Name())
		examples = append(examples, "  # "+one.Short+"\n"+example)
	}
	cmd.Example = strings.Join(examples, "\n\n")
	return cmd
}

func newNewKindCommand(kinds *registry.Kinds, k *kind.Kind) *cobra.Command {
	var root string
	s := setup.Spec{Kind: k, Values: map[string]any{}}
	outline := setup.NewOutline(k)
	name := strings.ToLower(k.GVK().Kind)
	cmd := &cobra.Command{
		Use:   name + " NAME --env NAME",
		Short: strings.TrimSuffix(outline.Sentence, "."),
		Example: fmt.Sprintf("  # Create environments/prod/%s-sample.yaml\n  render new %s sample --env prod",
			name, name),
		Args: argsBetween(1, 1, "which name? write render new "+name+" NAME --env NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			return runNew(cmd, kinds, root, s)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	addEnvironmentFlags(cmd, &s.Environment, &root)
	_ = cmd.MarkFlagRequired("env")
	cmd.Flags().StringVarP(&s.Namespace, "namespace", "n", "",
		"the namespace (default: the one of the kustomization, the only one of the environment, or default)")
	for _, f := range outline.Fields {
		if f.Flag == "" || cmd.Flags().Lookup(f.Flag) != nil {
			continue
		}
		addFieldFlag(cmd, f, s.Values)
		if f.Required {
			_ = cmd.MarkFlagRequired(f.Flag)
			cmd.Use += " " + flagAndValue(f, strings.ToUpper(f.Flag))
		}
		if f.Required || f.Shown {
			cmd.Example += " " + flagAndValue(f, quote(f.Sample()))
		}
	}
	return cmd
}

// flagAndValue returns the flag of a field with a value. A bool needs an equals sign: its flag alone means
// true.
func flagAndValue(f setup.Field, value string) string {
	if f.Type() == "bool" {
		return "--" + f.Flag + "=" + value
	}
	return "--" + f.Flag + " " + value
}

// fieldValue is the value of the flag of a field. It implements pflag.Value.
type fieldValue struct {
	setup.Field
	text   string
	values map[string]any // of all set fields
}

func (v *fieldValue) String() string { return v.text }

func (v *fieldValue) Set(text string) (err error) {
	v.text = text
	v.values[v.Name], err = v.Parse(text)
	return err
}

func addFieldFlag(cmd *cobra.Command, f setup.Field, values map[string]any) {
	usage := strings.ReplaceAll(f.Usage, "`", "'") // pflag parses ` as the name of the value
	flag := cmd.Flags().VarPF(&fieldValue{Field: f, values: values}, f.Flag, "", usage)
	if f.Default != nil {
		flag.DefValue = setup.Text(f.Default)
	}
	words := f.Values
	if f.Type() == "bool" {
		flag.NoOptDefVal = "true"
		words = []string{"true", "false"}
	}
	_ = cmd.RegisterFlagCompletionFunc(f.Flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func runNew(cmd *cobra.Command, kinds *registry.Kinds, root string, s setup.Spec) error {
	return inRepository(cmd, kinds, opening{root: root, lock: (*render.Repository).Lock},
		func(repository *render.Repository, p *progress) error {
			addition, err := setup.Add(cmd.Context(), repository, s, p.step)
			p.stop()
			if err != nil {
				return err
			}
			return printAddition(cmd, addition,
				selected{root: root, Selection: render.Selection{Names: []string{s.Environment}}})
		})
}

// printAddition prints the written files and the next command, or errors.
func printAddition(cmd *cobra.Command, a *setup.Addition, f selected) error {
	if err := problemsError(cmd, a.Problems, ", nothing was written"); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n", a.File, a.Object)
	if a.Unlisted == "" {
		fmt.Fprintf(out, "%s: lists the file\n", a.Kustomization)
	} else {
		fmt.Fprintf(out, "next: add %s to resources in %s\n", a.Unlisted, a.Kustomization)
	}
	fmt.Fprintf(out, "next: %s\n", f.renderCommand())
	return nil
}
