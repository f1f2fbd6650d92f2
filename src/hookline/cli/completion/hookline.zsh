#compdef hookline
# Completion of hookline for zsh. For every shell from now on, into a directory of your $fpath:
#   hookline completion zsh > ~/.zfunc/_hookline
# with "fpath=(~/.zfunc $fpath)" before "compinit" in ~/.zshrc; or, after it, this line:
#   eval "$(hookline completion zsh)"

_hookline_hooks() {
    local -a names
    names=("${(@f)$(command hookline completion --names -- "${(@Q)words}" 2> /dev/null)}")
    compadd -a names
}

_hookline_input() {
    if compset -P @; then _files; fi
}

_hookline_verbs() {
    local -a verbs
    verbs=(
@VERBS@
    )
    _describe -t verbs verb verbs
}

_hookline() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C \
        '(- *)'{-h,--help}'[show the verbs]' \
        '(- *)'{-V,--version}'[print the version]' \
        '1:verb:_hookline_verbs' \
        '*::argument:->arguments'
    if [[ $state != arguments ]]; then return; fi
    curcontext=${curcontext%:*:*}:hookline-$words[1]:
    case $words[1] in
@CASES@
    esac
}

if [[ $funcstack[1] == _hookline ]]; then
    _hookline "$@"
else
    compdef _hookline hookline
fi
