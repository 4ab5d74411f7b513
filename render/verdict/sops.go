package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What SOPS encrypted has metadata with a MAC, and not one value beside it that can be
// read. Metadata alone proves nothing: SOPS leaves out what it is told to.
// https://getsops.io/docs/#encryption-protocol

const encryptedValue = `ENC\[AES256_GCM,data:[A-Za-z0-9+/=]*,iv:[A-Za-z0-9+/=]+,tag:[A-Za-z0-9+/=]+,type:(?:str|int|float|bool|bytes|time|comment)\]`

var (
	encrypted          = regexp.MustCompile(`^` + encryptedValue + `$`)
	yamlComment        = regexp.MustCompile(`#.*`)
	encryptedComment   = regexp.MustCompile(`^[#;]+[ \t]*` + encryptedValue + `[ \t\r]*$`)
	yamlDirective      = regexp.MustCompile(`(?m)^%`)
	iniSection         = regexp.MustCompile(`^\[([^\[\]]+)\]$`)
	sopsMetadata       = []string{"shamir_threshold", "key_groups", "kms", "gcp_kms", "hckms", "azure_kv", "hc_vault", "age", "pgp", "lastmodified", "mac", "mac_only_encrypted", "unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex", "unencrypted_comment_regex", "encrypted_comment_regex", "version"}
	isEmptyOrEncrypted = func(value string) bool { return value == "" || encrypted.MatchString(value) }
)

// isSOPSMetadata reports whether metadata of SOPS may have a name, also one of a value in a
// list as formats without lists have it: age__list_0__map_enc.
func isSOPSMetadata(name string) bool {
	name, _, _ = strings.Cut(name, "__")
	return slices.Contains(sopsMetadata, name)
}

// sopsFormat is a format in which SOPS writes files.
type sopsFormat struct {
	// suffixes are those of the keys of a Secret whose values Flux writes in the format
	// when it has decrypted them.
	suffixes []string
	// marker is by what Flux knows that a value is encrypted, in the format:
	// https://github.com/fluxcd/kustomize-controller/blob/main/internal/decryptor/decryptor.go
	marker string
	// isEncrypted reports whether SOPS encrypted all of a file.
	isEncrypted func(content []byte) bool
}

// sopsFormats are the formats of SOPS; the last is that of the keys with any other
// suffix.
var sopsFormats = []sopsFormat{
	{[]string{".yaml", ".yml"}, "mac: ENC[", isEncryptedYAML},
	{[]string{".json", ".dockerconfigjson"}, `"mac": "ENC[`, isEncryptedJSON},
	{[]string{".env"}, "sops_mac=ENC[", isEncryptedDotenv},
	{[]string{".ini"}, "[sops]", isEncryptedINI},
	{[]string{""}, `"mac": "ENC[`, isEncryptedBinary},
}

// isEncryptedFile reports whether the value of a key of a Secret is a file that SOPS
// encrypted and that Flux decrypts.
func isEncryptedFile(key string, content []byte) bool {
	i := slices.IndexFunc(sopsFormats, func(format sopsFormat) bool {
		return slices.ContainsFunc(format.suffixes, func(suffix string) bool { return strings.HasSuffix(key, suffix) })
	})
	for _, other := range sopsFormats {
		// Of several formats that a value is marked with, Flux takes any.
		if bytes.Contains(content, []byte(other.marker)) != (other.marker == sopsFormats[i].marker) {
			return false
		}
	}
	return sopsFormats[i].isEncrypted(content)
}

// isMarked reports whether something of a value may be encrypted.
func isMarked(content []byte) bool { return bytes.Contains(content, []byte("ENC[AES256_GCM,")) }

func isEncryptedYAML(content []byte) bool {
	if yamlDirective.Match(content) {
		return false
	}
	for _, comment := range yamlComment.FindAll(content, -1) { // no encrypted value has a #
		if !encryptedComment.Match(comment) {
			return false
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for documents := 0; ; documents++ {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents > 0
		}
		if err != nil || len(document.Content) != 1 || !isEncryptedDocument(document.Content[0]) {
			return false
		}
	}
}

func isEncryptedJSON(content []byte) bool {
	return json.Valid(content) && isEncryptedYAML(content)
}

// isEncryptedBinary reports whether SOPS encrypted a file of no format: as one value of
// JSON.
func isEncryptedBinary(content []byte) bool {
	var file map[string]any
	_ = json.Unmarshal(content, &file)
	_, isText := file["data"].(string)
	return isText && len(file) == 2 && isEncryptedJSON(content)
}

// isEncryptedDocument reports whether all of a mapping is encrypted but its metadata.
func isEncryptedDocument(document *yaml.Node) bool {
	if document.Kind != yaml.MappingNode || !isPlainMapping(document) {
		return false
	}
	proven := false
	for i := 0; i+1 < len(document.Content); i += 2 {
		key, value := document.Content[i], document.Content[i+1]
		switch {
		case key.Value == "sops":
			proven = isMetadataNode(value)
		case !isEncryptedNode(value):
			return false
		}
	}
	return proven
}

// isMetadataNode reports whether a node is metadata of SOPS that has a MAC.
func isMetadataNode(node *yaml.Node) bool {
	if node.Kind != yaml.MappingNode || !isPlainMapping(node) {
		return false
	}
	hasMAC := false
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if !isSOPSMetadata(key.Value) {
			return false
		}
		hasMAC = hasMAC || key.Value == "mac" && encrypted.MatchString(value.Value)
	}
	return hasMAC
}

// isEncryptedNode reports whether each value in a node is encrypted, or there is none.
func isEncryptedNode(node *yaml.Node) bool {
	if node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 {
		return false // which anybody can read
	}
	switch node.Kind {
	case yaml.ScalarNode:
		return node.ShortTag() == "!!null" || node.ShortTag() == "!!str" && isEmptyOrEncrypted(node.Value)
	case yaml.SequenceNode:
		return !slices.ContainsFunc(node.Content, func(item *yaml.Node) bool { return !isEncryptedNode(item) })
	case yaml.MappingNode:
		if !isPlainMapping(node) {
			return false
		}
		for i := 1; i < len(node.Content); i += 2 {
			if !isEncryptedNode(node.Content[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// isPlainMapping reports whether a mapping has each key once, all of them as they are
// written.
func isPlainMapping(node *yaml.Node) bool {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 || seen[key.Value] {
			return false
		}
		seen[key.Value] = true
	}
	return node.Anchor == "" && node.Style&yaml.TaggedStyle == 0
}

func isEncryptedDotenv(content []byte) bool {
	hasMAC := false
	for line := range strings.SplitSeq(string(content), "\n") {
		key, value, isEntry := strings.Cut(line, "=")
		metadata, isMetadata := strings.CutPrefix(key, "sops_")
		switch {
		case line == "", encryptedComment.MatchString(line):
		case strings.HasPrefix(line, "#"), !isEntry:
			return false
		case isMetadata && isSOPSMetadata(metadata):
			hasMAC = hasMAC || metadata == "mac" && encrypted.MatchString(value)
		case !isEmptyOrEncrypted(value):
			return false
		}
	}
	return hasMAC
}

func isEncryptedINI(content []byte) bool {
	hasMAC, inMetadata, inText := false, false, false
	for line := range strings.SplitSeq(string(content), "\n") {
		line = strings.TrimSpace(line)
		if inText {
			inText = !strings.HasSuffix(line, `"""`)
			continue
		}
		if section := iniSection.FindStringSubmatch(line); section != nil {
			inMetadata = section[1] == "sops"
			continue
		}
		end := strings.IndexAny(line, "=:")
		switch {
		case line == "", encryptedComment.MatchString(line):
			continue
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, ";"), end < 0:
			return false
		}
		key, value := strings.TrimSpace(line[:end]), strings.TrimSpace(line[end+1:])
		switch {
		case inMetadata && isSOPSMetadata(key):
			hasMAC = hasMAC || key == "mac" && encrypted.MatchString(value)
			text, isQuoted := strings.CutPrefix(value, `"""`)
			inText = isQuoted && !strings.HasSuffix(text, `"""`)
		case !isEmptyOrEncrypted(value):
			return false
		}
	}
	return hasMAC && !inText
}
