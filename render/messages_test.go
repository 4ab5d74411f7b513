package render

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"example.com/gatehouse/render/manifest"
)

// serverCodes are the codes of the API server.
var serverCodes = map[string]string{
	"FieldValueRequired":     "a field without a value that the kind requires",
	"FieldValueInvalid":      "a value of the right type that the API server refuses",
	"FieldValueNotSupported": "a value that is none of the supported ones",
	"FieldValueForbidden":    "a field that must not be there, beside others or at all",
	"FieldValueDuplicate":    "a value that is in a list twice",
	"FieldValueNotFound":     "a name of a part of the object that it does not have",
	"FieldValueTypeInvalid":  "a value of a wrong type",
	"FieldValueTooLong":      "a value that is too long",
	"FieldValueTooMany":      "too many items",
	"FieldValueTooFew":       "too few items",
	"InternalError":          "an error of the API server itself",
}

const settingsSchema = "settings/settings.schema.json"

// The schema of the settings has each code.
func TestMessagesAreInTheSchemaOfSettings(t *testing.T) {
	codes := codeComments(t)
	maps.Copy(codes, serverCodes)
	have, err := os.ReadFile(settingsSchema)
	if err != nil {
		t.Fatal(err)
	}
	list := "\"" + strings.Join(slices.Sorted(maps.Keys(codes)), "\", \"") + "\""
	want := regexp.MustCompile(`("code": \{"enum": \[)[^]]*`).ReplaceAllString(string(have), "${1}"+list)
	if *rewrite {
		if err := os.WriteFile(settingsSchema, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(have) != want {
		t.Errorf("%s lacks codes: run this test with -update", settingsSchema)
	}
}

const messagesPage = "../docs/messages.md"

// TestMessagesPageHasEachCode keeps docs/messages.md: each code, with the messages of the tests of problems and
// warnings, and with the texts in the source code that no test prints. A problem without a code fails it, and so does a
// code without a message.
func TestMessagesPageHasEachCode(t *testing.T) {
	meaning, messages := codeComments(t), map[string]map[string]string{} // by code and shape
	maps.Copy(meaning, serverCodes)
	add := func(code, message string) {
		if messages[code] == nil {
			messages[code] = map[string]string{}
		}
		shape := shapeOf(message)
		if known, is := messages[code][shape]; !is || len(message) < len(known) {
			messages[code][shape] = message
		}
	}
	for _, p := range problemsOfTests(t) {
		if p.Code == "" {
			t.Errorf("no code: %s", p)
		}
		add(string(p.Code), p.Message)
	}
	for code, texts := range textsOfSource(t) {
		for _, text := range texts {
			if len(messages[code]) < mostMessages {
				add(code, text)
			}
		}
	}
	add(string(manifest.RunFailed), "open …: permission denied") // the errors of the system
	page := &strings.Builder{}
	page.WriteString("# Messages\n\nProblems by their code, which `-o json` has as `code`, each with its messages or the " +
		"most different of them. Codes stay,\nand messages may change. `…` stands for a value. Tests write this page.\n")
	for _, code := range slices.Sorted(maps.Keys(meaning)) {
		if len(messages[code]) == 0 && serverCodes[code] == "" {
			t.Errorf("%s has no message", code)
		}
		if len(messages[code]) == 0 {
			continue
		}
		fmt.Fprintf(page, "\n## %s\n%s%s.\n", code, strings.ToUpper(meaning[code][:1]), meaning[code][1:])
		shown := slices.Sorted(maps.Values(messages[code]))
		for _, message := range shown[:min(len(shown), mostMessages)] {
			fmt.Fprintf(page, "- `%s`\n", strings.NewReplacer("`", "'", "\n", " ").Replace(message))
		}
	}
	for code := range messages {
		if code != "" && meaning[code] == "" {
			t.Errorf("%s is in no table", code)
		}
	}
	if *rewrite {
		if err := os.WriteFile(messagesPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, _ := os.ReadFile(messagesPage); string(have) != page.String() {
		t.Errorf("%s is stale: run this test with -update", messagesPage)
	}
}

// mostMessages bounds the messages of a code.
const mostMessages = 8

// values matches what differs in messages of one text.
var values = regexp.MustCompile(`"[^"]*"|'[^']*'|\d[\w.]*|\S*[./:]\S*|\b[A-Z]\w* \S+`)

// shapeOf returns the first words of a message without its values: messages of one shape are one on the page.
func shapeOf(message string) string {
	const most = 6
	words := strings.FieldsFunc(values.ReplaceAllString(message, " "), unicode.IsSpace)
	return strings.Join(words[:min(len(words), most)], " ")
}

// problemsOfTests returns the problems of all repositories in testdata.
func problemsOfTests(t *testing.T) (all []manifest.Problem) {
	for _, pattern := range []string{"testdata/problems/*.txtar", "testdata/warnings/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			archive, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, u := warningsAt(t, write(t, string(archive)), time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
			for _, e := range u.Environments {
				all = append(all, e.Problems...)
			}
		}
	}
	return all
}

// codeComments returns the comments of the codes of package manifest.
func codeComments(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "manifest/codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is {
			name := spec.Names[0].Name
			text := strings.Join(strings.Fields(spec.Doc.Text()), " ")
			comments[name] = strings.TrimSuffix(strings.TrimPrefix(text, name+" is "), ".")
		}
		return true
	})
	return comments
}

// textsOfSource returns the texts of messages by code: of a Problem with both, in the source code of the product.
func textsOfSource(t *testing.T) map[string][]string {
	found := map[string][]string{}
	for _, folder := range []string{".", "../cmd"} {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				code, text := "", ""
				switch n := n.(type) {
				case *ast.CompositeLit:
					code, text = codeAndText(n.Elts)
				case *ast.BlockStmt:
					code, text = codeAndText(assigned(n))
				}
				if code != "" && text != "" {
					found[code] = append(found[code], text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// assigned returns the assignments to fields in a block, as fields of a literal.
func assigned(block *ast.BlockStmt) (fields []ast.Expr) {
	for _, statement := range block.List {
		if set, is := statement.(*ast.AssignStmt); is {
			if to, is := set.Lhs[0].(*ast.SelectorExpr); is {
				fields = append(fields, &ast.KeyValueExpr{Key: to.Sel, Value: set.Rhs[0]})
			}
		}
	}
	return fields
}

// codeAndText returns the code and the message among fields of a Problem, with … for what is put into it.
func codeAndText(fields []ast.Expr) (code, text string) {
	for _, element := range fields {
		field, is := element.(*ast.KeyValueExpr)
		if !is {
			continue
		}
		switch key, _ := field.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Code":
			selector, _ := field.Value.(*ast.SelectorExpr)
			if selector != nil && textOf(selector.X) == "manifest" {
				code = selector.Sel.Name
			}
		case key.Name == "Message":
			text = textOf(field.Value)
		}
	}
	if strings.Trim(text, "… ") == "" {
		return "", ""
	}
	return code, text
}

var verb = regexp.MustCompile(`%(\[\d+\])?[a-z]`)

// textOf returns the text of an expression.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "manifest" {
			return e.Name
		}
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.CallExpr:
		if f, is := e.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "Sprintf" {
			return verb.ReplaceAllString(textOf(e.Args[0]), "…")
		}
	}
	return "…"
}
