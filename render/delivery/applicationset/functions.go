package applicationset

import (
	"errors"
	"regexp"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/templates"
)

// functions are the additions of Argo CD to sprig's (applicationset/utils: utils.go and template_functions.go).
var functions = template.FuncMap{"toYaml": templates.ToYAML, "normalize": normalize, "slugify": slugify,
	"fromYaml": fromYAML[map[string]any], "fromYamlArray": fromYAML[[]any]}

func fromYAML[T any](text string) (value T, err error) {
	err = yaml.Unmarshal([]byte(text), &value)
	return value, err
}

// hasTemplate matches a text with a template, without Go templates.
var hasTemplate = regexp.MustCompile(`{{.*}}`)

var notInNames = regexp.MustCompile("[^-a-z0-9.]")

// normalize returns a text as a part of names (SanitizeName of Argo CD).
func normalize(text string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(name[:min(len(name), 253)], "-.")
}

var notInSlugs = regexp.MustCompile("[^a-z0-9]+")

// slugify returns a text as a part of addresses: the last argument, in at most as many characters as the first says, 50
// without it, and cut at a word unless the second is false (SlugifyName of Argo CD, and github.com/gosimple/slug).
func slugify(arguments ...any) (string, error) {
	most := 50
	isAtWord := true
	text := ""
	for i, argument := range arguments {
		isRight := true
		switch {
		case i == len(arguments)-1:
			text, isRight = argument.(string)
		case i == 0:
			most, isRight = argument.(int)
		case i == 1:
			isAtWord, isRight = argument.(bool)
		}
		if !isRight || most < 0 {
			return "", errors.New("slugify takes a number, true or false, and a text")
		}
	}
	text = normalize(text)
	if !isAtWord && len(text) > most {
		text = text[:most]
	}
	slug := strings.Trim(notInSlugs.ReplaceAllString(text, "-"), "-")
	if !isAtWord || most == 0 || len(slug) <= most {
		return slug, nil
	}
	if end := strings.LastIndex(slug[:most+1], "-"); end >= 0 {
		return slug[:end], nil
	}
	return slug[:most], nil
}
