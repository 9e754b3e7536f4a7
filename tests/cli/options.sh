# The table of options against what comes from it: help, parsing, man pages, completions.
build=$(dirname "$BPCN")
commands=$(bpcn help | awk '/^  [a-z]+ +[a-z0-9]/ && $1 != "bpcn" { print $1 }')
options_of() { bpcn help "$1" | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'; }
needs_value() { bpcn help "$1" | grep -qE -- "^ +(-[a-z], )?$2 [^ ]"; }

law "help lists every command" same "$(tr '\n' ' ' <<<"$commands")" \
    "create write read score search play locate follow fill forget delete sample list info check recover compact export import bench demo serve help "
for command in $commands; do
    [ "$command" = help ] && continue
    [ "$command" = serve ] && ! timeout 10 "$BPCN" serve --help >/dev/null 2>&1 && continue # left out of this build
    law "help $command and $command --help print the same page" same "$(bpcn help "$command")" "$(bpcn "$command" --help)"
    law "the page of $command fits a terminal" same "$(bpcn help "$command" | grep -vE '^usage|^  (bpcn|curl)' | awk 'length > 100')" ""
    for option in $(options_of "$command"); do
        if needs_value "$command" "$option"; then
            run bpcn "$command" "$option"
            [ "$status" = 2 ] && [[ $err == *"$option needs a value"* ]] || echo "$command $option: $status $err"
        else
            run timeout 10 "$BPCN" "$command" "$option" --help
            [ "$status" = 0 ] || echo "$command $option: $status $err"
        fi
    done >refused
    law "$command accepts every option of its page" same "$(cat refused)" ""
done
for word in $(bpcn help create | sed -n 's/.*set the activation function: \(.*\) (default.*/\1/p'); do
    bpcn create "$word.mem" --dim 4 --hidden 2 --activation "$word" -q
    law "the activation $word is the library's" contains "$(bpcn info "$word.mem")" "$word"
done

# man pages
export MANPATH= MAN_KEEP_FORMATTING=
for command in $commands; do
    [ "$command" = help ] || law "bpcn-$command has a man page" test -s "$build/man/bpcn-$command.1"
done
if command -v groff >/dev/null; then
    law "groff has no warning for any man page" same "$(cd "$build/man" && groff -man -Tascii -ww -z ./*.1 2>&1)" ""
else
    skip "man pages without warnings: no groff"
fi
law "no man page has a mark that was not replaced" same "$(grep -l '^@' "$build"/man/*.1)" ""
for command in $commands; do
    for option in $(options_of "$command"); do
        grep -q -- "^\.B .*$(sed 's/-/\\\\-/g' <<<"$option")" "$build/man/bpcn-$command.1" || echo "$command $option"
    done
done >missing
law "man pages have every option" same "$(cat missing)" ""

# completions
complete_with() { # complete_with WORDS...: what bash would offer for the last word
    bash -c '. "$0/completions/bpcn.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bpcn; printf "%s\n" "${COMPREPLY[@]}"' "$build" "$@"
}
law "bash loads the completion" bash -n "$build/completions/bpcn.bash"
law "bash completes a command" same "$(complete_with bpcn wr)" write
law "bash completes an option" same "$(complete_with bpcn read --refu)" --refuse-below
law "bash completes the value of an option" same "$(complete_with bpcn create x.mem --when-full re | tr '\n' ' ')" "recycle refuse "
law "bash completes the name of a file" same "$(touch afile && complete_with bpcn read x.mem --mask afi)" afile
for command in $commands; do
    [ "$command" = help ] || same "$(complete_with bpcn "$command" -- | sort)" "$(options_of "$command" | sort)"
done >missing
law "bash offers the options of every command" same "$(cat missing)" ""

zsh_completes() { # zsh_completes TEXT WANTED: the line after a tab in an interactive zsh
    rm -f line
    cat >zshrc <<RC
fpath=($build/completions \$fpath)
autoload -Uz compinit
compinit -u -D
take() { zle complete-word; print -r -- "\$BUFFER" >$PWD/part; mv $PWD/part $PWD/line }
zle -N take
bindkey '^I' take
RC
    zsh -f -c 'zmodload zsh/zpty; zpty z "zsh -f -i"; zpty -w z "source $1/zshrc"; zpty -w -n z "$2"$'\''\t'\''
        for i in {1..100}; do [[ -e $1/line ]] && break; sleep 0.1; done
        zpty -d z' x "$PWD" "$1"
    same "$(sed 's/ *$//' line)" "$2"
}
if command -v zsh >/dev/null; then
    law "zsh loads the completion" zsh -f -n "$build/completions/_bpcn"
    law "zsh completes a command" zsh_completes "bpcn sco" "bpcn score"
    law "zsh completes an option" zsh_completes "bpcn read --refu" "bpcn read --refuse-below"
    law "zsh completes the value of an option" zsh_completes "bpcn create x.mem --when-full rec" "bpcn create x.mem --when-full recycle"
else
    skip "zsh completions: no zsh"
fi
