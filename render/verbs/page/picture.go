package page

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// picture shows who brings what to an environment: a tree of deliveries, with what each waits for.
type picture struct {
	Environment   string
	Nodes         []*node
	More          int // deliveries without a place
	Width, Height int
}

// node is a delivery in a picture.
type node struct {
	X, Y          int
	Name, Details string
	Unknown       []string
	Changed       int    // objects
	Edge          string // the path from the parent
	After         []string
	Waits         []string // the paths to what it waits for
}

const (
	nodeWidth  = 480
	nodeHeight = 44
	indent     = 48
	lineHeight = 54
	mostNodes  = 400
)

// pictureOf draws the deliveries of an environment, a parent left of its children.
func pictureOf(both *compare.Comparison) picture {
	changed := map[manifest.ID]int{}
	for _, c := range both.Changes {
		changed[c.InstalledBy]++
	}
	p := picture{Environment: kind.Visible(both.Name)}
	children := map[*render.Delivery][]*render.Delivery{}
	isBelow := map[*render.Delivery]bool{}
	below := both.Environment.Below()
	for _, d := range below {
		isBelow[d] = true
	}
	for _, d := range below {
		parent := d.Parent
		if !isBelow[parent] {
			parent = nil
		}
		children[parent] = append(children[parent], d)
	}
	places := map[string]*node{}
	of := map[*node]*render.Delivery{}
	root := &node{Name: p.Environment, Details: kind.Visible(both.Name), Changed: changed[manifest.ID{}]}
	p.Nodes = []*node{root}
	var add func(parent *node, depth int, all []*render.Delivery)
	add = func(parent *node, depth int, all []*render.Delivery) {
		for _, d := range all {
			if len(p.Nodes) >= mostNodes {
				p.More++
				continue
			}
			n := &node{X: depth * indent, Y: len(p.Nodes) * lineHeight, Name: kind.Visible(d.Of.String()),
				Changed: changed[d.By()]}
			n.Details = details(d)
			for _, reason := range d.Unknown {
				n.Unknown = append(n.Unknown, kind.Visible(reason))
			}
			n.Edge = fmt.Sprintf("M %d %d V %d H %d", parent.X+20, parent.Y+nodeHeight, n.Y+nodeHeight/2, n.X)
			p.Nodes = append(p.Nodes, n)
			places[d.Of.String()] = n
			of[n] = d
			add(n, depth+1, children[d])
		}
	}
	add(root, 1, children[nil])
	for _, n := range p.Nodes {
		p.Width = max(p.Width, n.X+nodeWidth+90)
		p.Height = n.Y + lineHeight
		if d := of[n]; d != nil {
			n.wait(d, places)
		}
	}
	return p
}

// details names the objects of a delivery, and their source.
func details(d *render.Delivery) string {
	text := []string{string(kind.Count(int64(len(d.Applied())), "object"))}
	if d.Chart != nil {
		text = []string{string(kind.Count(int64(len(d.Chart.Objects)), "object")), "chart " + d.Chart.String()}
	} else if d.Folder != "" {
		text = append(text, strings.TrimPrefix(d.Folder, "/"))
	}
	if wave := d.Of.GetAnnotations()["argocd.argoproj.io/sync-wave"]; wave != "" {
		text = append(text, "wave "+wave)
	}
	return kind.Visible(strings.Join(text, ", "))
}

// wait adds the deliveries of the same kind that a delivery waits for.
func (n *node) wait(d *render.Delivery, places map[string]*node) {
	all, _, _ := unstructured.NestedSlice(d.Of.Object, "spec", "dependsOn")
	for _, one := range all {
		fields, _ := one.(map[string]any)
		id := d.Of.ID()
		id.Name, _ = fields["name"].(string)
		if namespace, is := fields["namespace"].(string); is {
			id.Namespace = namespace
		}
		n.After = append(n.After, kind.Visible(id.Name))
		if to := places[id.String()]; to != nil {
			right := max(n.X, to.X) + nodeWidth
			n.Waits = append(n.Waits, fmt.Sprintf("M %d %d C %d %d %d %d %d %d", n.X+nodeWidth, n.Y+nodeHeight/2,
				right+60, n.Y+nodeHeight/2, right+60, to.Y+nodeHeight/2, to.X+nodeWidth, to.Y+nodeHeight/2))
		}
	}
	slices.Sort(n.After)
}
