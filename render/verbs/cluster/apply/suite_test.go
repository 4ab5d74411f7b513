package apply

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	ssautils "github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/inventory"
	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) {
	requestTimeout = 3 * time.Second
	if environment := os.Getenv(processEnvironment); environment != "" {
		os.Exit(applyInProcess(environment))
	}
	apiserver.Run(m, &server)
}

// world is a namespace and an environment, both named after a test.
type world struct {
	*testing.T
	ctx     context.Context
	admin   client.Client
	name    string
	options Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	admin, err := client.New(server.Admin, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "Test")))
	w := &world{T: t, ctx: t.Context(), admin: admin, name: name[:min(len(name), 40)]}
	w.options = Options{Environment: w.name, Kinds: gatehouse.All(), Timeout: time.Minute}
	return w
}

// objects parses a text and replaces NAME by the name of the world.
func (w *world) objects(text string) []manifest.Object {
	w.Helper()
	parsed, err := ssautils.ReadObjects(strings.NewReader(strings.ReplaceAll(text, "NAME", w.name)))
	w.must(err)
	objects := make([]manifest.Object, len(parsed))
	for i, o := range parsed {
		objects[i] = manifest.Object{Unstructured: o, File: fmt.Sprintf("rendered/%s/%d.yaml", w.name, i)}
	}
	return objects
}

// apply applies a text. It returns the changes, and the problems and the error, a line each.
func (w *world) apply(text string, options ...func(*Options)) (done, wrong []string) {
	w.Helper()
	return w.applyAs(server.Admin, text, options...)
}

func (w *world) applyAs(config *rest.Config, text string, options ...func(*Options)) (done, wrong []string) {
	w.Helper()
	return w.record(config, options, func(c *cluster.Cluster, o Options) ([]manifest.Problem, error) {
		return Apply(w.ctx, c, w.objects(text), o)
	})
}

func (w *world) delete(options ...func(*Options)) (done, wrong []string) {
	w.Helper()
	return w.record(server.Admin, options, func(c *cluster.Cluster, o Options) ([]manifest.Problem, error) {
		return Delete(w.ctx, c, o)
	})
}

func (w *world) record(config *rest.Config, options []func(*Options), do func(*cluster.Cluster, Options) ([]manifest.Problem, error)) (done, wrong []string) {
	w.Helper()
	c, err := cluster.New(config, "a test")
	w.must(err)
	o := w.options
	o.Progress = func(string) {}
	o.Done = func(c Change) { done = append(done, c.String()+" "+c.Action.String()) }
	for _, set := range options {
		set(&o)
	}
	problems, err := do(c, o)
	return done, lines(problems, err)
}

func dryRun(o *Options) { o.DryRun = true }
func force(o *Options)  { o.ForceConflicts = true }
func wait(o *Options)   { o.Wait = true }

func timeout(d time.Duration) func(*Options) {
	return func(o *Options) { o.Timeout = d }
}

func lines(problems []manifest.Problem, err error) (lines []string) {
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	if err != nil {
		lines = append(lines, strings.Split(err.Error(), "\n")...)
	}
	return lines
}

// mustApply applies a text without problems.
func (w *world) mustApply(text string, options ...func(*Options)) []string {
	w.Helper()
	done, wrong := w.apply(text, options...)
	if len(wrong) > 0 {
		w.Fatalf("%q", wrong)
	}
	return done
}

// mustRefuse expects problems with some words, and no change.
func (w *world) mustRefuse(text string, words ...string) {
	w.Helper()
	done, wrong := w.apply(text)
	if len(done) > 0 {
		w.Errorf("done: %q", done)
	}
	w.mustSay(wrong, words...)
}

func (w *world) mustSay(lines []string, words ...string) {
	w.Helper()
	all := strings.Join(lines, "\n")
	for _, word := range words {
		if word = strings.ReplaceAll(word, "NAME", w.name); !strings.Contains(all, word) {
			w.Errorf("%s\nwant %q in it", all, word)
		}
	}
}

func (w *world) mustBe(got []string, want ...string) {
	w.Helper()
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "NAME", w.name)
	}
	if !slices.Equal(got, want) {
		w.Errorf("got  %q\nwant %q", got, want)
	}
}

// object returns a live object, or nil.
func (w *world) object(apiVersion, kind, name string) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	namespace, short, ok := strings.Cut(strings.ReplaceAll(name, "NAME", w.name), "/")
	if !ok {
		namespace, short = "", namespace
	}
	err := w.admin.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: short}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	return o
}

func (w *world) configMap(name string) *unstructured.Unstructured {
	w.Helper()
	return w.object("v1", "ConfigMap", "NAME/"+name)
}

// inventoryMap returns the ConfigMap of the inventory, or nil.
func (w *world) inventoryMap() *unstructured.Unstructured {
	w.Helper()
	return w.object("v1", "ConfigMap", "default/gatehouse-NAME")
}

// create creates objects as another user.
func (w *world) create(text string) {
	w.Helper()
	for _, o := range w.objects(text) {
		w.must(w.admin.Create(w.ctx, o.Unstructured, client.FieldOwner("somebody")))
	}
}

// applyElse applies objects with another field manager, by force.
func (w *world) applyElse(manager, text string) {
	w.Helper()
	for _, o := range w.objects(text) {
		w.must(w.admin.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(o.Unstructured), client.ForceOwnership, client.FieldOwner(manager)))
	}
}

// inventory returns the listed objects, such as "Deployment.apps=shop/sessions".
func (w *world) inventory() (listed []string) {
	w.Helper()
	configMap := w.inventoryMap()
	if configMap == nil {
		return nil
	}
	text, _, _ := unstructured.NestedString(configMap.Object, "data", inventory.Key)
	ids, err := inventory.Decode(text)
	w.must(err)
	for id := range ids {
		listed = append(listed, inventory.Metadata(id).GroupKind.String()+"="+strings.TrimPrefix(id.String(), id.Kind+" "))
	}
	slices.Sort(listed)
	return listed
}

// finalizeNamespace does the work of the namespace controller.
func (w *world) finalizeNamespace(name string) {
	w.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.must(w.admin.Get(w.ctx, client.ObjectKeyFromObject(namespace), namespace))
	namespace.Spec.Finalizers = nil
	w.must(w.admin.SubResource("finalize").Update(w.ctx, namespace))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// processEnvironment is the variable with the environment to apply in a separate process. The
// arguments of the process are the files of a kubeconfig and of the objects.
const processEnvironment = "TEST_APPLY_ENVIRONMENT"

func applyInProcess(environment string) int {
	problems, err := func() ([]manifest.Problem, error) {
		config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
		if err != nil {
			return nil, err
		}
		config.QPS = -1
		c, err := cluster.New(config, "a test")
		if err != nil {
			return nil, err
		}
		file, err := os.Open(os.Args[2])
		if err != nil {
			return nil, err
		}
		parsed, err := ssautils.ReadObjects(file)
		if err != nil {
			return nil, err
		}
		var objects []manifest.Object
		for _, o := range parsed {
			objects = append(objects, manifest.Object{Unstructured: o})
		}
		return Apply(context.Background(), c, objects, Options{
			Environment: environment, Kinds: gatehouse.All(), Timeout: time.Minute,
			Progress: func(string) {}, Done: func(Change) {},
		})
	}()
	for _, line := range lines(problems, err) {
		fmt.Println(line)
	}
	if err != nil || manifest.HasErrors(problems) {
		return 1
	}
	return 0
}

func writeAdminConfig(config *rest.Config, file string) error {
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file)
}
