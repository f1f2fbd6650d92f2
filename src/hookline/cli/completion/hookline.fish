# Completion of hookline for fish. For every shell from now on:
#   hookline completion fish > ~/.config/fish/completions/hookline.fish

function __hookline_verb -d 'True if the verb is this one'
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]
end

function __hookline_no_verb
    test (count (commandline -opc)) -eq 1
end

function __hookline_hooks
    set -l words (commandline -opc)
    command hookline completion --names -- $words[2..-1] 2>/dev/null
end

complete -c hookline -e
complete -c hookline -f
complete -c hookline -n __hookline_no_verb -s h -l help -d 'show the verbs'
complete -c hookline -n __hookline_no_verb -s V -l version -d 'print the version'
