package secret

import (
	"strings"
	"testing"
)

// enc is an encrypted value.
const enc = "ENC[AES256_GCM,data:p673w==,iv:YY=,tag:UQ==,type:str]"

func encryptedWith(text string) string {
	comment := strings.ReplaceAll(enc, "type:str", "type:comment")
	return strings.NewReplacer("<enc>", enc, "<comment>", comment).Replace(text)
}

const (
	yamlMetadata = "sops:\n    age:\n        - recipient: age1\n          enc: |\n            -----BEGIN AGE ENCRYPTED FILE-----\n            YWdl\n            -----END AGE ENCRYPTED FILE-----\n    lastmodified: \"2026-01-01T00:00:00Z\"\n    mac: <enc>\n    version: 3.9.0\n"
	jsonMetadata = "\"sops\": {\n\t\t\"age\": [{\"recipient\": \"age1\", \"enc\": \"-----BEGIN AGE ENCRYPTED FILE-----\\nYWdl\\n\"}],\n\t\t\"mac\": \"<enc>\",\n\t\t\"version\": \"3.9.0\"\n\t}\n}\n"
	envMetadata  = "sops_age__list_0__map_enc=-----BEGIN AGE ENCRYPTED FILE-----\\nYWdl\nsops_mac=<enc>\nsops_version=3.9.0\n"
	iniMetadata  = "[sops]\nage__list_0__map_enc = -----BEGIN AGE ENCRYPTED FILE-----\\nYWdl\nmac                  = <enc>\nversion              = 3.9.0\n"
)

func TestEncryptedFilesPass(t *testing.T) {
	for _, file := range []struct{ key, content string }{
		{"a.yaml", "a: <enc>\nb:\n    - <enc>\n    - c: <enc>\nd: \"\"\ne: null\nf: []\ng: {}\n" + yamlMetadata},
		{"a.yaml", "a:\n    1: <enc>\n    true: <enc>\n    ~: null\n2: <enc>\n" + yamlMetadata},
		{"a.yml", "#<comment>\na: <enc> #<comment>\n# <comment>\n" + yamlMetadata},
		{"a.yaml", "a: <enc>\n" + yamlMetadata + "---\nb: <enc>\n" + yamlMetadata},
		{"a.json", "{\n\t\"a\": \"<enc>\",\n\t\"b\": [\"<enc>\", {\"c\": \"<enc>\", \"d\": null, \"e\": \"\"}],\n\t" + jsonMetadata},
		{".dockerconfigjson", "{\n\t\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": \"<enc>\"}},\n\t" + jsonMetadata},
		{"config.env", "#<comment>\nA=<enc>\nB=\n\nC_D=<enc>\n" + envMetadata},
		{"config.ini", "; <comment>\n[a]\nb = <enc>\nc   = <enc>\nd =\n\n" + iniMetadata},
		{"config.ini", "[a]\nb = <enc>\n\n[sops]\npgp__list_0__map_enc = \"\"\"-----BEGIN PGP MESSAGE-----\n\nwcBM=\n-----END PGP MESSAGE-----\"\"\"\nmac = <enc>\n"},
		{"token", "{\n\t\"data\": \"<enc>\",\n\t" + jsonMetadata},
		{"tls.crt", "{\n\t\"data\": \"<enc>\",\n\t" + jsonMetadata},
	} {
		if problem := fileProblem(file.key, encryptedWith(file.content)); problem != "" {
			t.Errorf("%s: %s:\n%s", file.key, problem, file.content)
		}
	}
}

func TestReadableFilesAreRefused(t *testing.T) {
	for name, file := range map[string]struct{ key, content string }{
		"a value":                          {"a.yaml", "a: <enc>\nb: hunter2\n" + yamlMetadata},
		"a value after the metadata":       {"a.yaml", "a: <enc>\n" + yamlMetadata + "b: hunter2\n"},
		"a number":                         {"a.yaml", "a: 1234\n" + yamlMetadata},
		"a truth value":                    {"a.yaml", "a: true\n" + yamlMetadata},
		"a time":                           {"a.yaml", "a: 2027-01-01\n" + yamlMetadata},
		"an unencrypted suffix":            {"a.yaml", "a_unencrypted: hunter2\n" + yamlMetadata + "    unencrypted_suffix: _unencrypted\n"},
		"an item":                          {"a.yaml", "a:\n    - <enc>\n    - hunter2\n" + yamlMetadata},
		"a nested value":                   {"a.yaml", "a: {b: {c: [{d: hunter2}]}}\n" + yamlMetadata},
		"a second document":                {"a.yaml", "a: <enc>\n" + yamlMetadata + "---\nhunter2\n"},
		"a second document of metadata":    {"a.yaml", "a: <enc>\n" + yamlMetadata + "---\na: hunter2\n" + yamlMetadata},
		"a second document that is bad":    {"a.yaml", "a: <enc>\n" + yamlMetadata + "---\na: [hunter2\n"},
		"a document after the end":         {"a.yaml", "a: <enc>\n" + yamlMetadata + "...\nhunter2\n"},
		"a comment":                        {"a.yaml", "a: <enc> # hunter2\n" + yamlMetadata},
		"a comment at the end":             {"a.yaml", "a: <enc>\n" + yamlMetadata + "# hunter2\n"},
		"a comment in the metadata":        {"a.yaml", "a: <enc>\n" + yamlMetadata + "    # hunter2\n"},
		"a comment after a mark":           {"a.yaml", "--- # hunter2\na: <enc>\n" + yamlMetadata},
		"a comment of both":                {"a.yaml", "#<comment> hunter2\na: <enc>\n" + yamlMetadata},
		"a key that is there twice":        {"a.yaml", "a: hunter2\na: <enc>\n" + yamlMetadata},
		"a number that is there twice":     {"a.yaml", "a:\n    0x1: hunter2\n    1: <enc>\n" + yamlMetadata},
		"a merge":                          {"a.yaml", "a:\n    <<: {b: hunter2}\n    b: <enc>\n" + yamlMetadata},
		"a mapping that is a key":          {"a.yaml", "a:\n    ? {b: hunter2}\n    : <enc>\n" + yamlMetadata},
		"metadata twice":                   {"a.yaml", "a: <enc>\nsops: {hunter2: a}\n" + yamlMetadata},
		"an alias":                         {"a.yaml", "a: &x <enc>\nb: *x\n" + yamlMetadata},
		"an anchor":                        {"a.yaml", "a: &hunter2 <enc>\n" + yamlMetadata},
		"an anchor of a mapping":           {"a.yaml", "a: &hunter2 {b: <enc>}\n" + yamlMetadata},
		"a tag":                            {"a.yaml", "a: !hunter2 <enc>\n" + yamlMetadata},
		"a tag of a mapping":               {"a.yaml", "a: !hunter2 {b: <enc>}\n" + yamlMetadata},
		"a directive":                      {"a.yaml", "%TAG !hunter2! tag:a\n---\na: <enc>\n" + yamlMetadata},
		"text beside":                      {"a.yaml", "a: <enc> hunter2\n" + yamlMetadata},
		"lines of text":                    {"a.yaml", "a: |\n    <enc>\n    hunter2\n" + yamlMetadata},
		"a type that is none":              {"a.yaml", "a: ENC[AES256_GCM,data:aa==,iv:aa=,tag:aa=,type:hunter2]\n" + yamlMetadata},
		"ENC alone":                        {"a.yaml", "a: ENC[hunter2]\n" + yamlMetadata},
		"metadata of another name":         {"a.yaml", "a: <enc>\n" + yamlMetadata + "    password: hunter2\n"},
		"no metadata":                      {"a.yaml", "a: <enc>\nb: {mac: <enc>}\n"},
		"a MAC that can be read":           {"a.yaml", "a: <enc>\nsops: {mac: ENC[hunter2]}\n"},
		"a MAC in quotes, not decrypted":   {"a.yaml", "a: <enc>\nsops:\n    mac: \"<enc>\"\n"},
		"a list":                           {"a.yaml", "- <enc>\n"},
		"nothing":                          {"a.yaml", ""},
		"YAML under the name of JSON":      {"a.json", "a: <enc>\n" + yamlMetadata},
		"YAML under no suffix":             {"config", "a: <enc>\n" + yamlMetadata},
		"JSON with a value":                {"a.json", "{\"a\": \"hunter2\", " + jsonMetadata},
		"JSON with a number":               {"a.json", "{\"a\": 1, " + jsonMetadata},
		"JSON with a key twice":            {"a.json", "{\"a\": \"hunter2\", \"a\": \"<enc>\", " + jsonMetadata},
		"JSON with a key twice, escaped":   {"a.json", "{\"\\u0061\": \"hunter2\", \"a\": \"<enc>\", " + jsonMetadata},
		"JSON and more":                    {"a.json", "{\"a\": \"<enc>\", " + jsonMetadata + "\"hunter2\""},
		"JSON with a comment":              {"a.json", "{\"a\": \"<enc>\", # hunter2\n" + jsonMetadata},
		"JSON without spaces":              {"a.json", "{\"a\":\"<enc>\",\"sops\":{\"mac\":\"<enc>\"}}"},
		"JSON under the name of YAML":      {"a.yaml", "{\"a\": \"<enc>\", " + jsonMetadata},
		"JSON under no suffix":             {"token", "{\"a\": \"<enc>\", " + jsonMetadata},
		"binary with another key":          {"token", "{\"data\": \"<enc>\", \"b\": \"hunter2\", " + jsonMetadata},
		"binary of no text":                {"token", "{\"data\": [\"<enc>\"], " + jsonMetadata},
		"dotenv with a value":              {"a.env", "A=<enc>\nB=hunter2\n" + envMetadata},
		"dotenv with a value at the end":   {"a.env", "A=<enc>\n" + envMetadata + "B=hunter2"},
		"dotenv with a comment":            {"a.env", "#hunter2\nA=<enc>\n" + envMetadata},
		"dotenv with metadata that is not": {"a.env", "A=<enc>\nsops_password=hunter2\n" + envMetadata},
		"dotenv with a line":               {"a.env", "A=<enc>\nhunter2\n" + envMetadata},
		"dotenv with a key twice":          {"a.env", "A=hunter2\nA=<enc>\n" + envMetadata},
		"dotenv with a value named sops":   {"a.env", "sops=hunter2\nA=<enc>\n" + envMetadata},
		"dotenv without a MAC":             {"a.env", "A=<enc>\nsops_mac=ENC[hunter2]\n"},
		"INI with a value":                 {"a.ini", "[a]\nb = <enc>\nc = hunter2\n" + iniMetadata},
		"INI with a value after":           {"a.ini", "[a]\nb = <enc>\n" + iniMetadata + "[c]\nd = hunter2\n"},
		"INI with a value before":          {"a.ini", "d = hunter2\n[a]\nb = <enc>\n" + iniMetadata},
		"INI with a comment":               {"a.ini", "; hunter2\n[a]\nb = <enc>\n" + iniMetadata},
		"INI with a comment beside":        {"a.ini", "[a] ; hunter2\nb = <enc> ; hunter2\n" + iniMetadata},
		"INI with metadata that is not":    {"a.ini", "[a]\nb = <enc>\n" + iniMetadata + "password = hunter2\n"},
		"INI with lines of text":           {"a.ini", "[a]\nb = \"\"\"<enc>\nhunter2\"\"\"\n" + iniMetadata},
		"INI with text that has no end":    {"a.ini", "[a]\nb = <enc>\n" + iniMetadata + "version = \"\"\"\nhunter2\n"},
		"INI with a key twice":             {"a.ini", "[a]\nb = hunter2\nb = <enc>\n" + iniMetadata},
		"INI with a value like metadata":   {"a.ini", "sops.version = hunter2\nsops = hunter2\n[a]\nb = <enc>\n" + iniMetadata},
		"INI with lines as a version":      {"a.ini", "version = \"\"\"hunter2\n\"\"\"\n[a]\nb = <enc>\n" + iniMetadata},
		"INI without a MAC":                {"a.ini", "[a]\nb = <enc>\n[sops]\nversion = 3\n"},
	} {
		if fileProblem(file.key, encryptedWith(file.content)) == "" {
			t.Errorf("%s: %s is accepted:\n%s", name, file.key, file.content)
		}
	}
}
