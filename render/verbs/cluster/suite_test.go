package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) {
	if environment := os.Getenv(asProcess); environment != "" {
		os.Exit(runProcess(environment))
	}
	apiserver.Run(m, &server)
}

// world is a namespace and an environment of the name of a test.
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

func connect(config *rest.Config) (*Cluster, error) { return newCluster(config, "a test") }

// manifests returns the objects of a text, in which NAME is the name of the world.
func (w *world) manifests(text string) []manifest.Object {
	w.Helper()
	objects, err := ssautils.ReadObjects(strings.NewReader(strings.ReplaceAll(text, "NAME", w.name)))
	w.must(err)
	manifests := make([]manifest.Object, len(objects))
	for i, o := range objects {
		manifests[i] = manifest.Object{Unstructured: o, File: fmt.Sprintf("rendered/%s/%d.yaml", w.name, i)}
	}
	return manifests
}

// apply applies a text, with some changes to options, and returns what was done and the
// problems and error, a line each.
func (w *world) apply(text string, changes ...func(*Options)) (done, wrong []string) {
	w.Helper()
	return w.applyAs(server.Admin, text, changes...)
}

func (w *world) applyAs(config *rest.Config, text string, changes ...func(*Options)) (done, wrong []string) {
	w.Helper()
	c, err := connect(config)
	w.must(err)
	options, recorded := w.recorded(changes)
	problems, err := Apply(w.ctx, c, w.manifests(text), options)
	return *recorded, lines(problems, err)
}

func (w *world) delete(changes ...func(*Options)) (done, wrong []string) {
	w.Helper()
	c, err := connect(server.Admin)
	w.must(err)
	options, recorded := w.recorded(changes)
	problems, err := Delete(w.ctx, c, options)
	return *recorded, lines(problems, err)
}

func (w *world) recorded(changes []func(*Options)) (Options, *[]string) {
	options, recorded := w.options, &[]string{}
	options.Progress = func(string) {}
	options.Done = func(c Change) { *recorded = append(*recorded, c.String()+" "+c.Action.String()) }
	for _, change := range changes {
		change(&options)
	}
	return options, recorded
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

// mustApply applies what has no problem.
func (w *world) mustApply(text string, changes ...func(*Options)) []string {
	w.Helper()
	done, wrong := w.apply(text, changes...)
	if len(wrong) > 0 {
		w.Fatalf("%q", wrong)
	}
	return done
}

// mustRefuse applies what has to be refused with some words, and changes nothing.
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

// object returns an object of the cluster, nil where there is none.
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

// create creates what a text has, as somebody else.
func (w *world) create(text string) {
	w.Helper()
	for _, m := range w.manifests(text) {
		w.must(w.admin.Create(w.ctx, m.Unstructured, client.FieldOwner("somebody")))
	}
}

// applyElse applies what a text has as somebody else does, by force.
func (w *world) applyElse(manager, text string) {
	w.Helper()
	for _, m := range w.manifests(text) {
		//nolint:staticcheck // the other way takes no unstructured objects of any kind
		w.must(w.admin.Patch(w.ctx, m.Unstructured, client.Apply, client.ForceOwnership, client.FieldOwner(manager)))
	}
}

// inventory returns the objects in the inventory, like "Deployment.apps=shop/sessions".
func (w *world) inventory() (listed []string) {
	w.Helper()
	c := &corev1.ConfigMap{}
	err := w.admin.Get(w.ctx, client.ObjectKey{Namespace: "default", Name: "gatehouse-" + w.name}, c)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	ids, err := decodeInventory(c.Data[inventoryKey])
	w.must(err)
	for id := range ids {
		listed = append(listed, metaOf(id).GroupKind.String()+"="+strings.TrimPrefix(id.String(), id.Kind+" "))
	}
	slices.Sort(listed)
	return listed
}

// endNamespace plays the controller of namespaces.
func (w *world) endNamespace(name string) {
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

// asProcess has the environment to apply in a process that applies it: the kubeconfig and the
// manifests are the files that its arguments name.
const asProcess = "TEST_APPLY_ENVIRONMENT"

func runProcess(environment string) int {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	config.QPS = -1
	c, err := connect(config)
	if err != nil {
		panic(err)
	}
	file, err := os.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	objects, err := ssautils.ReadObjects(io.Reader(file))
	if err != nil {
		panic(err)
	}
	var manifests []manifest.Object
	for _, o := range objects {
		manifests = append(manifests, manifest.Object{Unstructured: o})
	}
	problems, err := Apply(context.Background(), c, manifests, Options{
		Environment: environment, Kinds: gatehouse.All(), Timeout: time.Minute,
		Progress: func(string) {}, Done: func(Change) {},
	})
	for _, line := range lines(problems, err) {
		fmt.Println(line)
	}
	if err = errors.Join(err); err != nil || manifest.HasErrors(problems) {
		return 1
	}
	return 0
}

// writeAdminConfig writes a kubeconfig file of the administrator.
func writeAdminConfig(config *rest.Config, file string) error {
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file)
}
