# SPDX-License-Identifier: Apache-2.0
#
# usage: bash complete.bash PROGRAM WORD...
#
# Prints what the completion for bash offers for the last WORD, one in a line, for zsh and
# fish: options and values are listed once, in the files of bash. Prints nothing where bash
# completes names of files, which the other shells do better themselves.

program=${1##*/}
function=
prefix=

compopt() {
	:
}

compgen() {
	case $1 in
	-d | -f) ;;
	*) builtin compgen "$@" ;;
	esac
}

# complete -F FUNCTION PROGRAM
complete() {
	function=$2
}

COMP_WORDS=("$@")
# --format=json is completed as --format json.
case ${COMP_WORDS[-1]} in
--*=*)
	prefix=${COMP_WORDS[-1]%%=*}=
	COMP_WORDS=("${COMP_WORDS[@]:0:$# - 1}" "${prefix%=}"
		"${COMP_WORDS[-1]#*=}")
	;;
esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMPREPLY=()
source "${BASH_SOURCE[0]%/*}/../bash-completion/completions/$program" &&
	$function
for word in "${COMPREPLY[@]}"; do
	printf '%s\n' "$prefix$word"
done
