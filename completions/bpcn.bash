# bash completion for bpcn. Install as share/bash-completion/completions/bpcn, or source it.

_bpcn() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local common='--quiet --json --help'
    local inputs='--rows --resize --pixels --channels-last --format --member --clip --skip-bad'
    local queries='--known --mask --hide --noise --assume-noise --seed'
    local outputs='--output --output-format --only --plain'
    local kinds='any png jpeg pnm npy npz idx cifar csv raw' options=

    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W 'create write read score fill forget delete list sample info check recover compact export import
            bench demo serve help --version --help' -- "$current"))
        return
    fi
    case $previous in
        --activation) COMPREPLY=($(compgen -W 'gelu relu tanh linear' -- "$current")); return ;;
        --when-full) COMPREPLY=($(compgen -W 'blur recycle refuse' -- "$current")); return ;;
        --precision) COMPREPLY=($(compgen -W 'float32 float64' -- "$current")); return ;;
        --format | --output-format) COMPREPLY=($(compgen -W "$kinds" -- "$current")); return ;;
        --forget) COMPREPLY=($(compgen -W 'auto' -- "$current")); return ;;
        --hide) COMPREPLY=($(compgen -W 'right:0.25 left:0.25 top:0.25 bottom:0.25 center:0.25 random:0.5' -- "$current")); return ;;
        --column | --ignore | --missing | --image | --dim | --fields | --hidden | --capacity | --shards | --shard-rows | --shards-read | --names | --name | --particles | --sigma-w | --sigma-x | --sigma-data | --seed | --rows | \
            --member | --known | --noise | --assume-noise | --only | --refuse-below | --beta | --times | --number | -n | \
            --listen | --token | --allow-host | --allow-origin | --max-body | --max-rows | --max-connections | --queue | --batch | --gather | --timeout) return ;;
    esac
    case $command in
        create) options="--like --column --ignore --missing --image --dim --fields --hidden --activation --particles --sigma-w --sigma-x --sigma-data
            --seed --resample --precision --capacity --shards --shard-rows --when-full --files --names --force" ;;
        write) options="$inputs --forget --name --skip-known" ;;
        read) options="$inputs $queries $outputs --refuse-below --shards-read" ;;
        score) options="$inputs $queries --shards-read --output --write --alarm" ;;
        fill) options="--output --spread --write --clip --format --member --pixels --channels-last" ;;
        forget) options="--beta --times" ;;
        delete) options="$inputs" ;;
        sample) options="--number --seed $outputs" ;;
        info) options="--measure --header" ;;
        import) options="--force" ;;
        serve) options="--listen --token --token-file --allow-host --allow-origin --read-only --examples --max-body --max-rows
            --max-connections --queue --batch --gather --timeout" ;;
        demo) options="--serve --listen" ;;
        help) COMPREPLY=($(compgen -W 'create write read score fill forget delete list sample info check recover compact export import
            bench demo serve' -- "$current")); return ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options $common" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}

complete -o filenames -o bashdefault -F _bpcn bpcn
