package pod

import "strings"

// Literal writes a text for a container's command or args, where Kubernetes expands
// $(NAME) and takes $$ for $ before anything runs, so that the program gets it to the
// byte: a value of NAME never becomes part of a command.
func Literal(text string) string {
	return strings.ReplaceAll(text, "$", "$$")
}
