// Package command is the program of the controller, for any list of kinds.
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
	"example.com/gatehouse/kind/registry"
)

// Main runs the program with controllers, one for each kind. It exits with 1 on an error.
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
	options, goFlags := controller.Options{}, flag.NewFlagSet("", flag.ContinueOnError)
	logging := zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Write the status of " + kinds.String(),
		Long:  describe(kinds),
		Example: `  # Against the cluster of the current context, as the ServiceAccount that may open gates
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
	flags.BoolVar(&options.LeaderElect, "leader-elect", false, "let one of several replicas act, while the others stand by")
	flags.StringVar(&options.LeaderElectNamespace, "leader-election-namespace", "", "`namespace` of the Lease (default that of the controller's own Pod)")
	flags.StringVar(&options.MetricsAddress, "metrics-bind-address", ":8443", "`host:port` that serves metrics; 0 for none")
	flags.BoolVar(&options.MetricsSecure, "metrics-secure", true, "serve metrics over HTTPS, to clients that the API server authorizes")
	flags.StringVar(&options.ProbeAddress, "health-probe-bind-address", ":8081", "`host:port` that serves /healthz and /readyz; 0 for none")
	flags.BoolVar(&options.EnableHTTP2, "enable-http2", false, "serve metrics over HTTP/2 too")
	flags.StringSliceVar(&options.Namespaces, "namespaces", nil, "watch these `namespaces` only")
	flags.IntVar(&options.Concurrency, "concurrency", 20, "reconcile this many objects of a kind at a time")
	flags.StringVar(&options.As, "as", "", "`user` to impersonate: the ServiceAccount of the controller, system:serviceaccount:NAMESPACE:NAME, as the API server lets nobody else open gates (default that of the kubeconfig)")
	flags.DurationVar(&options.Grace, "grace-period", 2*time.Minute, "how long objects that were rendered from a spec may be missing before the status is Stalled")
	ctrlconfig.RegisterFlags(goFlags)
	logging.BindFlags(goFlags)
	flags.AddGoFlagSet(goFlags)
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(newRBACCommand(kinds))
	return cmd
}

// describe returns what the controller does for kinds.
func describe(kinds *registry.Kinds) string {
	text := "Write the status of each object that is " + kinds.String() + ", from the state of the objects\nthat it was rendered to."
	for i := range kinds.All {
		if k := &kinds.All[i]; k.Gate() != "" {
			text += fmt.Sprintf("\nOpen the scheduling gate %s of the Pod of each %s that is due.", k.Gate(), k.GVK().Kind)
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
