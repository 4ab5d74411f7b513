package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/watchdog"
)

func addRootFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "root", "",
		"the folder with environments/, or the top of the repository (default: the nearest at or above the current "+
			"folder)")
	_ = cmd.MarkFlagDirname("root")
	const bySize = " (default: by the size of its files)"
	cmd.Flags().Duration("max-cpu", 0, "the CPU `TIME` that the run may take, like 30s"+bySize)
	cmd.Flags().Var(&resource.QuantityValue{}, "max-memory",
		"the `SIZE` of the memory that the run may take, like 2Gi"+bySize)
}

// limitWatchdog sets the limits of the run by the flags of its command. Without these they follow from the size of its
// files.
func limitWatchdog(cmd *cobra.Command) {
	if cmd.Flags().Lookup("max-cpu") == nil {
		return
	}
	cpu, _ := cmd.Flags().GetDuration("max-cpu")
	memory := cmd.Flags().Lookup("max-memory").Value.(*resource.QuantityValue)
	if cpu != 0 || memory.Value() != 0 {
		watchdog.Limit(watchdog.Limits{CPU: cpu, Memory: memory.Value()})
	}
}

// addEnvironmentFlags adds --env for one environment, and --root.
func addEnvironmentFlags(cmd *cobra.Command, environment, root *string) {
	set := func(name string) error {
		if *environment != "" && *environment != name { // completion parses flags twice
			return errors.New("only one environment is allowed: run this once for each")
		}
		*environment = name
		return nil
	}
	cmd.Flags().FuncP("env", "e", "the environment `NAME`: a folder of environments/ or, where the command takes "+
		"one, the path of a cluster", set)
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
	addRootFlag(cmd, root)
}

// selected are the flags of a command for any number of environments.
type selected struct {
	render.Selection
	root, output string
	isVerbose    bool
}

func (f *selected) addVerboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.isVerbose, "verbose", false, "print each problem, and not only the first places of a cause")
}

// addFlags adds the flags of a command that does something with an environment, and a little more with all.
func (f *selected) addFlags(cmd *cobra.Command, does, more string, formats ...string) {
	cmd.Flags().StringArrayVarP(&f.Names, "env", "e", nil,
		does+" the environment `NAME`, a folder of environments/ or of a cluster (repeatable)")
	cmd.Flags().BoolVarP(&f.All, "all", "A", false, does+" every environment"+more)
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
	cmd.MarkFlagsMutuallyExclusive("env", "all")
	addRootFlag(cmd, &f.root)
	addOutputFlag(cmd, &f.output, formats...)
}

// words returns the flags that select the same environments.
func (f selected) words() (words []string) {
	if f.All {
		words = append(words, "--all")
	}
	for _, name := range f.Names {
		words = append(words, "--env", quote(name))
	}
	if f.root != "" {
		words = append(words, "--root", quote(f.root))
	}
	return words
}

// renderCommand returns the command that renders the same environments.
func (f selected) renderCommand() string {
	return strings.Join(append([]string{"render"}, f.words()...), " ")
}

// argsBetween returns a check for the number of arguments. missing is the error without the least number, with
// an example.
func argsBetween(least, most int, missing string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return errors.New(missing)
		case len(args) > most:
			return fmt.Errorf("unexpected argument %q: remove it", args[most])
		}
		return nil
	}
}

func addClusterFlags(cmd *cobra.Command, target *cluster.Target) {
	cmd.Flags().StringVar(&target.Kubeconfig, "kubeconfig", "",
		"the kubeconfig file (default: the files in KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringVar(&target.Context, "context", "", "the kubeconfig context (default: the current one)")
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return target.Contexts(), cobra.ShellCompDirectiveNoFileComp
		})
}

func completeVersions(*cobra.Command, []string, string) (versions []string, _ cobra.ShellCompDirective) {
	for _, v := range apiserver.Versions() {
		versions = append(versions, v.String())
	}
	return versions, cobra.ShellCompDirectiveNoFileComp
}

// addOutputFlag adds --output. The first format is the default.
func addOutputFlag(cmd *cobra.Command, output *string, forms ...string) {
	*output = forms[0]
	cmd.Flags().FuncP("output", "o", fmt.Sprintf("print as `FORMAT`: %s (default %s)", kind.Or(forms), forms[0]),
		func(form string) error {
			if !slices.Contains(forms, form) {
				return errors.New("use " + kind.Or(forms))
			}
			*output = form
			return nil
		})
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// aboutGates returns text with the gated kinds in the place of %s, or nothing if no kind is gated.
func aboutGates(kinds *registry.Kinds, text string) string {
	gated := kinds.Gated()
	if len(gated.All) == 0 {
		return ""
	}
	return strings.ReplaceAll(text, "%s", gated.String())
}

// flagNames matches the names of flags in their usage.
var flagNames = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)

// suggestFlag adds the flag that an unknown one may be meant to be, such as --env for --environment.
func suggestFlag(cmd *cobra.Command, err error) error {
	name, isUnknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !isUnknown {
		return err
	}
	var known []string
	hint := ""
	for _, match := range flagNames.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		known = append(known, match[1])
		if strings.HasPrefix(name, match[1]) {
			hint = fmt.Sprintf(": did you mean %q?", match[1])
		}
	}
	if hint == "" {
		hint = manifest.DidYouMean(name, known)
	}
	return errors.New(err.Error() + strings.Replace(hint, `"`, `"--`, 1))
}

// completeEnvironments completes the names of environments. It completes nothing without a repository.
func completeEnvironments(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	if repository, err := openRepository(root, nil); err == nil { // the kinds do not matter for names
		defer repository.Close()
		names, _ = repository.Environments()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRevisions completes the branches and tags of git.
func completeRevisions(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	if repository, err := openRepository(root, nil); err == nil { // the kinds do not matter for files
		defer repository.Close()
		if in, err := openGit(cmd.Context(), repository.Dir()); err == nil {
			names, _ = in.BranchesAndTags(cmd.Context())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeObjects completes rendered objects, as deployment/web, of the named environments or of all.
func completeObjects(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	repository, err := openRepository(root, nil) // the kinds do not matter for names
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer repository.Close()
	environments, _ := repository.Environments()
	if named, _ := cmd.Flags().GetString("env"); named != "" {
		environments = []string{named}
	}
	for _, environment := range environments {
		files, _ := repository.Rendered(environment)
		objects, _ := tree.Objects("", files)
		for _, o := range objects {
			names = append(names, strings.ToLower(o.GetKind())+"/"+o.GetName())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveDefault // a file serves, too
}
