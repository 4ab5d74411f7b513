package plan

import (
	"testing"

	"example.com/gatehouse/render/tree"
)

func TestDropEncryptedWarns(t *testing.T) {
	objects, problems := tree.Objects("dev", []tree.File{
		{Path: "shop/configmap-one.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: shop}\ndata: {key: 'ENC[AES256_GCM,no'}\n")},
		{Path: "shop/secret-two.yaml", Content: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: two, namespace: shop}\ndata: {key: aGVsbG8=}\n")},
		{Path: "shop/secret-three.yaml", Content: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: three, namespace: shop}\ndata: {key: eA==}\nsops: {mac: x}\n")},
		{Path: "shop/secret-four.yaml", Content: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: four, namespace: shop}\ndata: {key.yaml: YTogRU5DW0FFUzI1Nl9HQ00sZGF0YTp4XQ==}\n")},
		{Path: "README.md", Content: []byte("# dev")},
		{Path: tree.IndexFile, Content: []byte("resources: []")},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	objects, problems = DropEncrypted(objects, "it is left out")
	if len(objects) != 2 || objects[0].String() != "ConfigMap shop/one" || objects[1].String() != "Secret shop/two" {
		t.Errorf("%v", objects)
	}
	if len(problems) != 2 || !problems[0].Warning || problems[1].String() != "rendered/dev/shop/secret-four.yaml: warning: Secret shop/four: SOPS encrypted it, and it is left out" {
		t.Errorf("%v", problems)
	}
}
