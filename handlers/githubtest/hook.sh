#!/bin/sh
# The server's rules on pushes: git calls this for each ref with its name, old and new value.
ref=$1 old=$2 new=$3
zero=0000000000000000000000000000000000000000
case $ref in
refs/heads/* | refs/tags/*) ;;
refs/pull/*)
	echo "remote: deny updating a hidden ref" >&2
	exit 1
	;;
esac
if grep -qxF "$ref" "$GIT_DIR/githubtest-protected" 2>/dev/null; then
	if [ "$new" = "$zero" ]; then
		echo "error: GH006: Protected branch update failed for $ref. Cannot delete this protected branch" >&2
		exit 1
	fi
	if [ "$old" != "$zero" ] && ! git merge-base --is-ancestor "$old" "$new"; then
		echo "error: GH006: Protected branch update failed for $ref. Cannot force-push to this protected branch" >&2
		exit 1
	fi
fi
if [ "$GITHUBTEST_WORKFLOWS" = no ] && [ "$new" != "$zero" ]; then
	if [ "$old" = "$zero" ]; then
		touched=$(git log --format= --name-only "$new" --not --all -- .github/workflows | head -n 1)
	else
		touched=$(git diff --name-only "$old" "$new" -- .github/workflows | head -n 1)
	fi
	if [ -n "$touched" ]; then
		echo "refusing to allow a GitHub App to create or update workflow \`$touched\` without \`workflows\` permission" >&2
		exit 1
	fi
fi
exit 0
