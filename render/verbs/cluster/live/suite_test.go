package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/test/apiserver"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }

// world is a namespace of the API server and the environment that defines it.
type world struct {
	*testing.T
	client.Client // with all rights
	namespace     string
	kubeconfig    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	admin, err := client.New(unthrottled(server.Admin), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ",", "-").Replace(t.Name()))
	w := &world{T: t, Client: admin, namespace: name[:min(len(name), 50)]}
	w.kubeconfig = w.writeKubeconfig(server.Admin)
	return w
}

// unthrottled returns a config without a rate limit.
func unthrottled(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return config
}

func (w *world) writeKubeconfig(config *rest.Config) string {
	w.Helper()
	file := filepath.Join(w.TempDir(), "kubeconfig")
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	kubeconfig.Contexts["test"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "test"
	w.must(clientcmd.WriteToFile(*kubeconfig, file))
	return file
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// kubectl runs kubectl in the namespace.
func (w *world) kubectl(input string, arguments ...string) {
	w.Helper()
	folder := os.Getenv("KUBEBUILDER_ASSETS")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "..", "bin")
	}
	arguments = append([]string{"--kubeconfig", w.kubeconfig, "--namespace", w.namespace}, arguments...)
	run := func() (string, error) {
		cmd := exec.CommandContext(w.Context(), filepath.Join(folder, "kubectl"), arguments...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run()
	if err != nil && strings.Contains(out, "AlreadyExists") { // the API server was new to the kind, and kubectl asked twice
		out, err = run()
	}
	if err != nil {
		w.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// parse returns the objects of a text. It replaces NS by the namespace.
func (w *world) parse(text string) (objects []*unstructured.Unstructured) {
	w.Helper()
	for document := range strings.SplitSeq(strings.ReplaceAll(text, "NS", w.namespace), "---\n") {
		o := &unstructured.Unstructured{}
		w.must(yaml.Unmarshal([]byte(document), &o.Object))
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
	return objects
}

// apply applies objects with a field manager.
func (w *world) apply(manager, text string, change ...func(*unstructured.Unstructured)) {
	w.Helper()
	for _, o := range w.parse(text) {
		for _, c := range change {
			c(o)
		}
		w.must(w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager), client.ForceOwnership))
	}
}

func renderedAs(name string, objects []*unstructured.Unstructured) *render.Rendering {
	e := &render.Rendering{Environment: name}
	for _, o := range objects {
		e.Objects = append(e.Objects, manifest.Object{Unstructured: o, File: fmt.Sprintf("rendered/%s/%s-%s.yaml", name, strings.ToLower(o.GetKind()), o.GetName())})
	}
	return e
}

// compare compares an environment, named after the namespace, with the cluster.
func (w *world) compare(text string) *compare.Comparison {
	w.Helper()
	return w.compareAs("", text)
}

// compareAs compares as a user; the administrator if it is empty.
func (w *world) compareAs(user, text string) *compare.Comparison {
	w.Helper()
	config := unthrottled(server.Admin)
	config.Impersonate.UserName = user
	c, err := cluster.New(config, "a test")
	w.must(err)
	environments, err := compareAll(w.Context(), c, gatehouse.All(), []*render.Rendering{renderedAs(w.namespace, w.parse(text))}, func(string, string) {})
	w.must(err)
	return environments[0]
}

// wantNone expects neither differences nor problems.
func (w *world) wantNone(e *compare.Comparison) {
	w.Helper()
	for _, c := range e.Changes {
		w.Errorf("%s %s:\n%s", c.Action(), c.Object(), c.Unified())
	}
	for _, p := range e.Problems {
		w.Errorf("%s", p)
	}
}

// want expects changes and problems. Of a changed object, such as "changed ConfigMap a", the notes
// and the signed lines of the diff follow.
func (w *world) want(e *compare.Comparison, want ...string) {
	w.Helper()
	var got []string
	for _, c := range e.Changes {
		id := c.Object().ID()
		got = append(got, fmt.Sprintf("%s %s %s", c.Action(), id.Kind, id.Name))
		if c.Action() != compare.Changed {
			continue
		}
		for line := range strings.Lines(c.Unified()) {
			if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- ") {
				got = append(got, strings.TrimSpace(line[:1]+" "+strings.TrimSpace(withoutTime(line[1:]))))
			}
		}
	}
	for _, p := range e.Problems {
		got = append(got, p.String())
	}
	if a, b := strings.Join(got, "\n"), strings.ReplaceAll(strings.Join(want, "\n"), "NS", w.namespace); a != b {
		w.Errorf("got:\n%s\nwant:\n%s", a, b)
	}
}

// withoutTime removes the time from a note on a manager.
func withoutTime(line string) string {
	before, after, ok := strings.Cut(line, " at 20")
	if !ok {
		return line
	}
	_, after, _ = strings.Cut(after, "Z")
	return before + after
}

// problemsOf returns the problems of an environment, a line each.
func problemsOf(e *compare.Comparison) string {
	var lines strings.Builder
	for _, p := range e.Problems {
		lines.WriteString(p.String() + "\n")
	}
	return lines.String()
}

func hasErrors(e *compare.Comparison) bool { return manifest.HasErrors(e.Problems) }

// mark sets a label or annotation, as Flux and Argo CD do on each of their objects.
func mark(field, key, value string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, value, "metadata", field, key)
	}
}

// remove deletes an object without a grace period.
func (w *world) remove(o client.Object) {
	w.Helper()
	w.must(w.Delete(context.WithoutCancel(w.Context()), o, client.GracePeriodSeconds(0)))
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}
