package fetch

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/source/text"
)

// Trust bounds the sources that a run may fetch. A pull request is a wish: it must not choose the hosts that CI asks.
type Trust struct {
	// Base has the sources that reviewed files name; nil if these are unknown.
	Base *Names
	// IsTree reports whether all files of the tree are reviewed. What they name by variables or templates is then named
	// as well.
	IsTree bool
	// From are hosts that the caller allows: HOST, HOST:PORT, or http://HOST to speak HTTP with it.
	From []string
}

// Names are the sources that files name.
type Names struct {
	hosts        map[string]bool // with ports
	plain        map[string]bool // by HTTP
	registries   map[string]bool // of registries
	repositories map[string]bool // whole URLs
}

// NamesIn returns the sources that the YAML files of a revision name, outside of templates.
func NamesIn(revision source.Revision) *Names {
	n := &Names{hosts: map[string]bool{}, plain: map[string]bool{}, registries: map[string]bool{},
		repositories: map[string]bool{}}
	source.EachYAML(revision, "", func(name string, content []byte) {
		if !bytes.Contains(content, []byte("://")) && !remoteBase.Match(content) && !bytes.Contains(content, repoURL) {
			return
		}
		defer fault.Catch(new(error)) // an unreadable file names nothing
		for _, d := range text.Split(content) {
			if root, err := d.Parse(); err == nil && root != nil {
				n.read(path.Base(name), root)
			}
		}
	})
	return n
}

var (
	repoURL    = []byte("repoURL")
	remoteBase = regexp.MustCompile(`github\.com|git@`)
)

// read adds the sources that a document names.
func (n *Names) read(file string, root *yaml.Node) {
	group := manifest.Group(node.Text(root, "apiVersion"))
	isKustomization := slices.Contains(konfig.RecognizedKustomizationFileNames(), file)
	switch kind := node.Text(root, "kind"); {
	case group == "source.toolkit.fluxcd.io":
		n.add(node.Text(root, "spec", "url"), node.Text(root, "spec", "insecure") == "true")
	case group == "argoproj.io":
		for mapping := range node.All(root) {
			if mapping.Kind == yaml.MappingNode {
				n.add(node.Text(mapping, "repoURL"), false)
			}
		}
		if kind == "ApplicationSet" {
			n.addAll(node.Field(node.Field(root, "spec"), "generators"))
		}
	case file == "Chart.yaml" && kind == "":
		for _, d := range node.Items(node.Field(root, "dependencies")) {
			n.add(node.Text(d, "repository"), false)
		}
	case isKustomization:
		for _, chart := range slices.Concat(node.Items(node.Field(root, "helmCharts")),
			node.Items(node.Field(root, "helmChartInflationGenerator"))) {
			n.add(node.Text(chart, "repo"), false)
		}
		objects, others := source.Loads(root)
		for _, entry := range slices.Concat(objects, others) {
			n.addEntry(entry)
		}
	case strings.HasSuffix(kind, "List"):
		for _, item := range node.Items(node.Field(root, "items")) {
			n.read(file, item)
		}
	}
}

// addAll adds the URLs among the scalars of a node.
func (n *Names) addAll(within *yaml.Node) {
	if within == nil {
		return
	}
	for scalar := range node.Scalars(within) {
		if strings.Contains(scalar, "://") || remoteBase.MatchString(scalar) {
			n.add(scalar, false)
		}
	}
}

// addEntry adds an entry of a kustomization that kustomize would fetch: the URL, and the repository of a base.
func (n *Names) addEntry(entry string) {
	base, isBase := fetched.BaseOf(entry)
	if isBase {
		n.add(base.Repository, false)
	}
	if isBase || strings.Contains(entry, "://") {
		n.add(entry, false)
	}
}

// add adds a repository. A text with a variable in its host names none.
func (n *Names) add(repository string, isPlain bool) {
	u, err := parse(repository)
	if repository == "" || err != nil || strings.ContainsAny(u.Host, "${}") {
		return
	}
	n.hosts[hostPort(u)] = true
	n.plain[hostPort(u)] = n.plain[hostPort(u)] || isPlain || u.Scheme == "http"
	if u.Scheme == ociScheme {
		n.registries[u.Host] = true
	}
	n.repositories[normal(repository)] = true
}

func normal(repository string) string {
	return strings.TrimRight(application.NormalizeURL(repository), "/")
}

// scpURL matches the short form of a URL of ssh.
var scpURL = regexp.MustCompile(`^([A-Za-z0-9_.-]+@)?([A-Za-z0-9.-]+):([^/].*)$`)

// parse parses the URL of a repository. Without a scheme it is of a registry, as Argo CD has it, or of git over ssh.
func parse(repository string) (*url.URL, error) {
	repository = strings.TrimPrefix(strings.TrimSpace(repository), "git::")
	if match := scpURL.FindStringSubmatch(repository); match != nil && !strings.Contains(repository, "://") &&
		strings.Contains(match[1], "@") {
		repository = "ssh://" + match[1] + match[2] + "/" + match[3]
	}
	if !strings.Contains(repository, "://") {
		repository = "https://" + repository
	}
	u, err := url.Parse(repository)
	if err == nil && u.Hostname() == "" {
		err = fmt.Errorf("%s has no host", repository)
	}
	if err == nil {
		u.Scheme = strings.ToLower(u.Scheme)
		u.Host = strings.ToLower(u.Host)
	}
	return u, err
}

var ports = map[string]string{"http": "80", "ssh": "22"}

// hostPort returns the host of a URL with its port: another port is another server.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
}

// allows reports whether the caller allows a host, and whether by HTTP.
func (t *Trust) allows(host string) (isAllowed, isPlain bool) {
	for _, from := range t.From {
		u, err := parse(from)
		if err != nil {
			continue
		}
		if hostPort(u) == host || u.Port() == "" && u.Scheme == "https" && u.Hostname() == nameOf(host) {
			isAllowed = true
			isPlain = isPlain || u.Scheme == "http"
		}
	}
	return isAllowed, isPlain
}

func nameOf(hostPort string) string {
	name, _, _ := net.SplitHostPort(hostPort)
	return name
}

// names reports whether reviewed files or the caller name a host.
func (t *Trust) names(host string) bool {
	isAllowed, _ := t.allows(host)
	return isAllowed || t.Base != nil && t.Base.hosts[host]
}

// isPlain reports whether they name a host by HTTP.
func (t *Trust) isPlain(host string) bool {
	_, isPlain := t.allows(host)
	return isPlain || t.Base != nil && t.Base.plain[host]
}

// check returns an error for a source that may not be fetched.
func (t *Trust) check(from fetched.Source, u *url.URL) error {
	host := hostPort(u)
	isPlain := from.IsPlain || u.Scheme == "http"
	switch {
	case !t.IsTree && !t.names(host) && isPlain:
		return fetched.ErrNewSource{Host: "http://" + u.Host}
	case !t.IsTree && !t.names(host):
		return fetched.ErrNewSource{Host: u.Host}
	case isPlain && !t.isPlain(host):
		return fmt.Errorf("the base does not name %s by HTTP: write https://, or allow it by --fetch-from http://%s",
			u.Host, u.Host)
	}
	return nil
}

// isNamed reports whether reviewed files name a repository, and not only its host. Of GitHub, which leads to the files
// of a release on other hosts, they name all files of a repository.
func (t *Trust) isNamed(repository string) bool {
	u, err := parse(repository)
	if err != nil {
		return false
	}
	isAllowed, _ := t.allows(hostPort(u))
	isNamed := func(name string) bool { return t.Base != nil && t.Base.repositories[normal(name)] }
	base, isBase := fetched.BaseOf(repository)
	isOfGitHub := isBase && strings.HasPrefix(base.Repository, "https://github.com/")
	return isAllowed || t.IsTree || isNamed(repository) || isOfGitHub && isNamed(base.Repository)
}

// checkAddress returns an error for an address inside, unless a trusted file names its host.
func (t *Trust) checkAddress(host string, address netip.Addr) error {
	if isPublic(address) || t.names(host) {
		return nil
	}
	return fmt.Errorf("%s is %s, an address that is not public, and the base does not name it", nameOf(host), address)
}

// inside are networks that netip takes for public: of carriers, of translation, and reserved.
var inside = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("fec0::/10"),
}

func isPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return address.IsGlobalUnicast() && !address.IsPrivate() &&
		!slices.ContainsFunc(inside, func(p netip.Prefix) bool { return p.Contains(address) })
}
