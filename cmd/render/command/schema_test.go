package command

import (
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/explain"
	"example.com/gatehouse/render/verbs/publish"
	"example.com/gatehouse/render/verbs/pull"
)

const outputSchema = "../../../docs/output.schema.json"

var rewrite = flag.Bool("update", false, "write the expected files of scripts and docs/output.schema.json")

// outputs are the values that -o json prints, by command.
var outputs = map[string]any{
	"render": report{}, "diff": reviewReport{}, "images": imagesReport{}, "upgrade": upgradeReport{},
	"explain": explain.Answer{}, "fetch": fetchReport{}, "charts": pull.Result{}, "publish": publish.Result{},
	"publish-verify": publish.Verification{}, "apply": applyReport{}, "version": versions{}, "coverage": render.Coverage{},
}

// schema is a JSON schema of Go types.
type schema struct{ definitions map[string]any }

func (s schema) of(t reflect.Type) map[string]any {
	switch {
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case t.Kind() == reflect.Struct:
		name := strings.ReplaceAll(t.String(), "*", "")
		if _, isThere := s.definitions[name]; !isThere {
			s.definitions[name] = nil // it may contain itself
			s.definitions[name] = s.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "number"}
}

func (s schema) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || name == "" {
			continue
		}
		properties[name] = s.of(field.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// The published schema is that of the types. A change that removes a field, or renames it, is a new outputVersion.
func TestSchemaIsUpToDate(t *testing.T) {
	s := schema{map[string]any{}}
	for name, value := range outputs {
		object := s.object(reflect.TypeOf(value))
		object["properties"].(map[string]any)["outputVersion"] = map[string]any{"const": outputVersion}
		object["required"] = append(object["required"].([]string), "outputVersion")
		s.definitions[name] = object
	}
	want, err := json.MarshalIndent(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id": "https://gatehouse.example.com/output/" + outputVersion, "title": "The output of render -o json, by command",
		"$defs": s.definitions}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(outputSchema, append(want, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(outputSchema); err != nil || strings.TrimSpace(string(got)) != string(want) {
		t.Errorf("%s is out of date (%v): run go test ./cmd/render/command -run TestSchema -update", outputSchema, err)
	}
}

// compiledSchema returns the schema of a command that takes no field that it does not name.
func compiledSchema(t *testing.T, command string) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open(outputSchema)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range document.(map[string]any)["$defs"].(map[string]any) {
		definition.(map[string]any)["additionalProperties"] = false
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("output.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("output.json#/$defs/" + command)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// Each command prints what the schema says, and no field that it does not name.
func TestOutputMatchesTheSchema(t *testing.T) {
	root := repository(t)
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	git("init", "-q", "-b", "main")
	if _, _, code, err := execute("--all", "--root", root); code != 0 || err != nil {
		t.Fatalf("exit code %d: %v", code, err)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "A")
	writeFile(t, root, "kustomization.yaml", "resources: [a.yaml, b.yaml]\n")
	writeFile(t, root, "b.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1", securityContext: {privileged: true}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default}]
---
apiVersion: example.com/v1
kind: Unknown
metadata: {name: x, namespace: shop}
`)
	check := func(command string, wantCode int, args ...string) {
		t.Helper()
		out, errOut, code, err := execute(append(args, "--root", root, "-o", "json")...)
		if code != wantCode || err != nil {
			t.Errorf("%q: exit code %d, want %d: %v %s", args, code, wantCode, err, errOut)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err == nil {
			err = compiledSchema(t, command).Validate(value)
		}
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	check("render", exitDiffers, "--all", "--check")
	check("diff", exitDiffers, "diff", "--base", "HEAD")
	check("diff", exitDiffers, "diff", "--env", "prod")
	check("images", 0, "images", "--base", "HEAD")
	check("explain", 0, "explain", "deployment/web", "--env", "prod")
	check("upgrade", 0, "upgrade", "--all", "--kubernetes", "1.35")
	check("charts", 0, "charts", "pull", "--all")
	check("render", 0, "--all")
	if err := os.WriteFile(filepath.Join(root, "rendered/prod/other.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check("render", exitDiffers, "--all", "--check")
	if err := os.Remove(filepath.Join(root, "rendered/prod/other.yaml")); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "B")
	t.Setenv("GIT_COMMITTER_NAME", "Ada")
	t.Setenv("GIT_COMMITTER_EMAIL", "ada@example.com")
	t.Setenv("GIT_AUTHOR_NAME", "Ada")
	t.Setenv("GIT_AUTHOR_EMAIL", "ada@example.com")
	check("publish", 0, "publish", "--env", "prod")
	check("publish-verify", 0, "publish", "--env", "prod", "--verify", "env/prod")
	writeFile(t, root, "b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: shop}\nbogus: 1\n")
	check("render", exitError, "--all", "--check")
	check("diff", exitError, "diff", "--base", "HEAD")
	out, _, _, _ := execute("version", "-o", "json")
	if value, err := jsonschema.UnmarshalJSON(strings.NewReader(out)); err != nil || compiledSchema(t, "version").Validate(value) != nil {
		t.Errorf("version: %v: %s", err, out)
	}
}
