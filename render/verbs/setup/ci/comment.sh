#!/bin/sh
# Writes the effects of a pull request as its one comment, on Forgejo or Gitea, Bitbucket Cloud and Azure DevOps; GitHub
# and GitLab have jobs of their own. docs/ci.md has the job that calls it. It needs render, git, curl and jq.
#   comment.sh HOST BASE    HOST is forgejo, bitbucket or azure; BASE the revision to compare with
# TOKEN is the token that comments, API the URL of the repository in the API of the host, and NUMBER that of the pull
# request. Without TOKEN, as in a fork, gatehouse.md alone has the comment.
set -eu
host=$1 base=$2
marker='<!-- gatehouse-diff -->'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
token=${TOKEN:-}
unset TOKEN # no program has it in its environment
differs=0
render diff --root "${ROOT:-.}" --base "$base" -o markdown > gatehouse.md || differs=$?
[ -s gatehouse.md ] || exit "$differs" # the comparison failed
result=0
[ "$differs" -le 1 ] || result=$differs # does not render: the comment has the errors
if [ -z "$token" ]; then
  echo "no comment: TOKEN is not set, as in forks; see gatehouse.md"
  exit "$result"
fi
if [ "$host" = bitbucket ]; then # it shows HTML as text
  marker='[//]: # (gatehouse-diff)'
  sed -i.html -e "1s|.*|$marker|" -e 's|<br>| · |g' -e '/^<\/details>$/d' \
    -e 's|^<details><summary>\(.*\)</summary>$|**\1**|' gatehouse.md
fi
case $host in
  forgejo) scheme=token ;;
  *) scheme=Bearer ;;
esac
# api METHOD URL [BODY] prints the status, and writes the answer.
api() {
  printf 'header = "Authorization: %s %s"\n' "$scheme" "$token" |
    curl -sS --config - -X "$1" -o "$work/answer" -w '%{http_code}' -H 'Content-Type: application/json' \
      ${3:+--data-binary "@$3"} "$2"
}
refused() {
  echo "no comment: $host answered $1; see gatehouse.md" >&2
  # It may quote the comment: no line of it is a command for the runner.
  tr '\000-\037' '\n' < "$work/answer" | sed 's/#/\\x23/g; s/^/| /' >&2
  case $1 in
    401 | 403) exit "$result" ;; # the token lacks rights
  esac
  exit 1
}
# get URL requires an answer.
get() {
  code=$(api GET "$1")
  [ "$code" = 200 ] || refused "$code"
}
# Find the comment of an earlier run by its first line and its author.
# Each host names the account of the token, the comments, and the fields of one in its own way.
me='' id='' page=''
case $host in
  forgejo)
    get "${API%%/repos/*}/user"
    me=$(jq -r .id "$work/answer")
    comments=$API/issues/$NUMBER/comments
    get "$comments" # all: this API has no pages
    id=$(jq -r --arg me "$me" --arg m "$marker" \
      '[.[] | select((.user.id | tostring) == $me and (.body | startswith($m))) | .id][0] // empty' "$work/answer")
    one=$API/issues/comments/$id method=PATCH
    jq -Rs '{body: .}' gatehouse.md > "$work/body"
    ;;
  bitbucket)
    get "${API%%/repositories/*}/user"
    me=$(jq -r .uuid "$work/answer")
    comments=$API/pullrequests/$NUMBER/comments page=$comments?pagelen=100
    while [ -z "$id" ] && [ -n "$page" ]; do
      get "$page"
      id=$(jq -r --arg me "$me" --arg m "$marker" \
        '[.values[] | select(.user.uuid == $me and .deleted != true and (.content.raw | startswith($m))) | .id][0] // empty' \
        "$work/answer")
      page=$(jq -r '.next // empty' "$work/answer")
    done
    one=$comments/$id method=PUT
    jq -Rs '{content: {raw: .}}' gatehouse.md > "$work/body"
    ;;
  azure)
    version='api-version=7.1' project=${API%%/_apis/*}
    get "${project%/*}/_apis/connectionData"
    me=$(jq -r .authenticatedUser.id "$work/answer")
    comments=$API/pullRequests/$NUMBER/threads
    get "$comments?$version" # all: this API has no pages
    id=$(jq -r --arg me "$me" --arg m "$marker" \
      '[.value[] | select(.comments[0].author.id == $me and ((.comments[0].content // "") | startswith($m))) | .id][0] // empty' \
      "$work/answer")
    one=$comments/$id/comments/1?$version method=PATCH
    comments=$comments?$version
    if [ -n "$id" ]; then
      jq -Rs '{content: .}' gatehouse.md > "$work/body"
    else
      jq -Rs '{comments: [{parentCommentId: 0, content: ., commentType: 1}], status: "closed"}' gatehouse.md > "$work/body"
    fi
    ;;
  *)
    echo "$host: use forgejo, bitbucket or azure" >&2
    exit 2
    ;;
esac
if [ -n "$id" ]; then
  code=$(api "$method" "$one" "$work/body")
elif [ "$differs" != 0 ]; then
  code=$(api POST "$comments" "$work/body")
else
  exit 0 # no changes and no earlier comment
fi
case $code in
  20?) exit "$result" ;;
  *) refused "$code" ;;
esac
