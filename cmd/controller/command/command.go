// Package command implements the controller's program for any list of kinds.
package command

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/kind/registry"
)

// Main runs the program with one controller for each kind, and exits with 1 on an error.
func Main(controllers ...setup.Controller) {
	if err := execute(controllers); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

func execute(controllers []setup.Controller) error {
	kinds, err := controller.Kinds(controllers)
	if err != nil {
		return err
	}
	return newCommand(controllers, kinds).ExecuteContext(ctrl.SetupSignalHandler())
}

func newCommand(controllers []setup.Controller, kinds *registry.Kinds) *cobra.Command {
	options := controller.Options{}
	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	logging := zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Write the status of " + kinds.String(),
		Long:  describe(kinds),
		Example: `  # Run against the cluster of the current context, as the controller's ServiceAccount
  controller --as system:serviceaccount:gatehouse-system:gatehouse-controller`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger := zap.New(zap.UseFlagOptions(&logging))
			ctrl.SetLogger(logger)
			klog.SetLogger(logger) // for client-go, as in leader election
			return run(cmd.Context(), controllers, options)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.LeaderElect, "leader-elect", false, "elect one active replica; the others stand by")
	flags.StringVar(&options.LeaderElectNamespace, "leader-election-namespace", "",
		"`namespace` of the Lease (default: the namespace of the controller's Pod)")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", ":8443", "`host:port` for metrics; 0 disables it")
	flags.BoolVar(&options.MetricsSecure, "metrics-secure", true,
		"serve metrics over HTTPS, only to clients that the API server authorizes")
	flags.StringVar(&options.ProbeAddress, "health-probe-bind-address", ":8081",
		"`host:port` for /healthz and /readyz; 0 disables it")
	flags.BoolVar(&options.EnableHTTP2, "enable-http2", false, "also serve metrics over HTTP/2")
	flags.StringSliceVar(&options.Namespaces, "namespaces", nil, "watch only these `namespaces` (default: all)")
	flags.IntVar(&options.Concurrency, "concurrency", 20,
		"number of objects of a kind and namespace to reconcile in parallel")
	flags.StringVar(&options.As, "as", "",
		"`user` to impersonate (default: the user of the kubeconfig); only the controller's ServiceAccount, "+
			"system:serviceaccount:NAMESPACE:NAME, may open gates")
	flags.DurationVar(&options.Grace, "grace-period", 2*time.Minute,
		"how long rendered objects may be missing before the status is Stalled")
	ctrlconfig.RegisterFlags(goFlags)
	logging.BindFlags(goFlags)
	flags.AddGoFlagSet(goFlags)
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(newRBACCommand(kinds))
	return cmd
}

func describe(kinds *registry.Kinds) string {
	text := "Write the status of each object that is " + kinds.String() + ", from the state of its\nrendered objects."
	for i := range kinds.All {
		if k := &kinds.All[i]; k.Gate() != "" {
			text += fmt.Sprintf("\nOpen the scheduling gate %s of the Pod of each due %s.", k.Gate(), k.GVK().Kind)
		}
	}
	return text
}

func run(ctx context.Context, controllers []setup.Controller, options controller.Options) error {
	cfg, err := ctrlconfig.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := controller.New(cfg, controllers, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newRBACCommand(kinds *registry.Kinds) *cobra.Command {
	return &cobra.Command{
		Use:     "rbac",
		Short:   "Print the controller's ClusterRole and Role",
		Example: "  # Update the rights of the controller\n  controller rbac > environments/base/gatehouse/role.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manifest, err := rbac.Manifest(kinds)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(manifest)
			return err
		},
	}
}
