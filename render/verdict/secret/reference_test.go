package secret

import (
	"encoding/base64"
	"testing"
)

func TestReferencesHaveNoPlainText(t *testing.T) {
	for _, value := range []string{
		"${PW}", " ${PW}\n", "${A}${B}", "${PW:=}", "${PW:-${OTHER}}", "${PW^^}", "${PW:0:8}",
		"<path:secret/data/shop#password>", "<path:secret/data/shop#password#3>", "<path:kv/a#b | base64encode>", "<password>",
		"ref+vault://secret/shop#/password", "secretref+awsssm://shop/password", "ref+vault://a/b#/c+ref+gcpsecrets://p/s+",
		"op://vault/item/field", "op://My vault/my item/my section/field", "{{ op://vault/item/field }}", "op://${ENV}/item/field", "op://vault/item/one-time password?attribute=otp",
		"postgres://shop:${PW}@db.shop:5432/shop?sslmode=disable", "redis://:${PW}@cache", "postgres://${U}:${PW}@${HOST}/${DB}",
		"user=${U} password=${PW}", "username: ${U}\npassword: \"${PW}\"\n", `{"auths": {"ghcr.io": {"auth": ` +
			`"${AUTH}"}}}`, "Bearer ${TOKEN}", "${KEY}?ephemeral=true&tags=3",
	} {
		annotations := map[string]string{pathAnnotation: "secret/data/shop"}
		if !isReferenceIn("stringData", value, annotations) || !isReferenceIn("data", base64.StdEncoding.EncodeToString([]byte(value)), annotations) {
			t.Errorf("%q is no reference", value)
		}
	}
	for _, value := range []string{
		"", "hunter2", "${PW:-hunter2}", "${PW:=hunter2}", "${PW=hunter2}", "${PW:-${OTHER:-hunter2}}", "${PW/a/hunter2}", "hunter2${PW}", "${PW}-hunter2", "$PW",
		"<password>", "<path:hunter2>", "ref+echo://hunter2", "ref+hunter2", "ref+echo://hunter2+${PW}", "op://hunter2", "op://vault/hunter2", "{{ hunter2 }}",
		"postgres://shop:hunter2@${HOST}/shop", "postgres://shop:${PW}@db/shop?password=hunter2", "https://hooks.example.com/T0/hunter2?${PW}",
		"user: ${U}\npassword: hunter2\n", "# hunter2\n${PW}", "${PW} hunter2", "пароль${PW}", "${PW}?ephemeral=hunter2", "password: hunter2=${PW}",
	} {
		if isReferenceIn("stringData", value, nil) || isReferenceIn("data", base64.StdEncoding.EncodeToString([]byte(value)), nil) {
			t.Errorf("%q is a reference", value)
		}
	}
}
