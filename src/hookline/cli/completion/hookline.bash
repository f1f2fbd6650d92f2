# Completion of hookline for bash. For every shell from now on:
#   mkdir -p ~/.local/share/bash-completion/completions
#   hookline completion bash > ~/.local/share/bash-completion/completions/hookline
# or, without the package bash-completion, this line in ~/.bashrc:
#   eval "$(hookline completion bash)"

# Splits the line before the cursor as the shell would. Sets words, cur (the last word), quote (the
# quote still open in it) and head (the part of it that readline treats as a separate word).
_hookline_split() {
    local line=${COMP_LINE:0:COMP_POINT} char word='' began='' i
    words=() head='' quote=''
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $quote == "'" ]]; then
            if [[ $char == "'" ]]; then quote=''; else word+=$char; fi
        elif [[ $char == '\' ]]; then
            ((i++))
            word+=${line:i:1} began=1
        elif [[ $quote == '"' ]]; then
            if [[ $char == '"' ]]; then quote=''; else word+=$char; fi
        elif [[ $char == "'" || $char == '"' ]]; then
            quote=$char began=1
        elif [[ $char == ' ' || $char == $'\t' ]]; then
            if [[ $began ]]; then words+=("$word"); fi
            word='' began='' head=''
        else
            word+=$char began=1
            if [[ $char == [:=@] && $COMP_WORDBREAKS == *"$char"* ]]; then
                # Of these, only an @ stays with the text after it.
                head=${word%@}
            fi
        fi
    done
    cur=$word
    while [[ ${words[0]} == [A-Za-z_]*=* ]]; do words=("${words[@]:1}"); done
}

# Offers the words that begin with cur, quoted so that the shell takes them literally.
_hookline_offer() {
    local word
    for word in "$@"; do
        word=$lead$word
        if [[ $word != "$cur"* ]]; then continue; fi
        word=${word:${#head}}
        case $quote in
            "'") word=${word//\'/\'\\\'\'} ;;
            '"')
                # A ! cannot be protected from history expansion inside double quotes.
                if [[ $word == *'!'* ]]; then continue; fi
                word=${word//\\/\\\\}
                word=${word//\"/\\\"}
                word=${word//\$/\\\$}
                word=${word//\`/\\\`} ;;
            *) if [[ $raw != 1 ]]; then printf -v word %q "$word"; fi ;;
        esac
        COMPREPLY+=("$word")
    done
}

_hookline_hooks() {
    local name
    while IFS= read -r name; do
        _hookline_offer "$name"
    done < <(command hookline completion --names -- "${words[@]:1}" 2> /dev/null)
}

_hookline_files() {
    local file raw=''
    # With this, readline quotes file names and marks directories itself; not after an @.
    if [[ $lead != *@ ]] && compopt -o filenames 2> /dev/null; then raw=1; fi
    while IFS= read -r file; do
        if [[ ! $raw && -d $file ]]; then
            file+=/
            compopt -o nospace 2> /dev/null
        fi
        _hookline_offer "$file"
    done < <(compgen "$1" -- "${cur:${#lead}}")
}

_hookline_value() {
    case $1 in
        hooks) _hookline_hooks ;;
        files) _hookline_files -f ;;
        directories) _hookline_files -d ;;
        input)
            if [[ ${cur:${#lead}} == @* ]]; then
                lead+=@
                _hookline_files -f
            fi ;;
        words:*)
            local IFS=,
            # These words are our own, and the shell expands none of them.
            _hookline_offer ${1#words:} ;;
    esac
}

# Sets expected to what follows an option, a number of arguments, or "options".
_hookline_grammar() {
    expected=''
    case $1:$2 in
@CASES@
    esac
}

_hookline() {
    local words cur head quote lead='' expected='' verb='' behind='' dashes='' word count=0
    COMPREPLY=()
    _hookline_split
    for word in "${words[@]:1}"; do
        if [[ ! $verb ]]; then
            verb=$word
        elif [[ $behind ]]; then
            behind=''
        elif [[ $dashes || $word != -* || $word == - ]]; then
            ((count++))
        elif [[ $word == -- ]]; then
            dashes=1
        elif [[ $word != *=* ]]; then
            _hookline_grammar "$verb" "$word"
            behind=$expected
        fi
    done
    if [[ ! $verb ]]; then
        _hookline_offer @VERBS@ --help --version
    elif [[ $behind ]]; then
        _hookline_value "$behind"
    elif [[ ! $dashes && $cur == --*=* ]]; then
        _hookline_grammar "$verb" "${cur%%=*}"
        lead=${cur%%=*}=
        _hookline_value "$expected"
    elif [[ ! $dashes && $cur == -* ]]; then
        _hookline_grammar "$verb" options
        _hookline_value "$expected"
    else
        _hookline_grammar "$verb" "$count"
        if [[ ! $expected ]]; then _hookline_grammar "$verb" rest; fi
        _hookline_value "$expected"
    fi
}

complete -F _hookline hookline
