package text

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds the nesting of a document. Kubernetes objects do not come near.
const maxDepth = 200

// checkNesting returns an error for a node, below others, that is nested too deep, or that has an alias of a node
// around it: to expand it would not end. The error is an Error.
func checkNesting(n *yaml.Node, above []*yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode && slices.Contains(above, n.Alias):
		return Error{n.Line,
			fmt.Sprintf("the alias *%s is within what it stands for: write out what it is to be", n.Value), 0}
	case len(above) > maxDepth:
		return Error{n.Line, fmt.Sprintf("nested over %d levels deep: no object of Kubernetes is", maxDepth), 0}
	}
	for _, child := range n.Content {
		if err := checkNesting(child, append(above, n)); err != nil {
			return err
		}
	}
	return nil
}
