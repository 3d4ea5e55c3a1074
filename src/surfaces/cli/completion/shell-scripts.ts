export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/**
 * The scripts know no command: they ask `codecell completion --words`, so an installed script never goes out of date. The
 * first line of the answer says whether names of files are wanted, each other line is a word, a tab and its description.
 */
export const shellScripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for codecell
# Put this into ~/.bashrc:  source <(codecell completion bash)
_codecell() {
  local kind="" line before="" word joined="" last=-1 i
  local -a words
  COMPREPLY=()
  # bash splits at "=", codecell does not.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((last >= 0)) && [[ $word == "=" || $before == "=" ]]; then
      words[last]=\${words[last]}$word
    else
      last=$((last + 1))
      words[last]=$word
    fi
    before=$word
  done
  [[ \${words[last]} == --*=* ]] && joined=\${words[last]%%=*}=
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
      continue
    fi
    line=\${line%%$'\\t'*}
    COMPREPLY[\${#COMPREPLY[@]}]=\${line#"$joined"}
  done < <("$1" completion --words -- "\${words[@]}" 2>/dev/null)
  word=\${words[last]#"$joined"}
  case $kind in
    files) compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$word")) ;;
    dirs)
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY[\${#COMPREPLY[@]}]=$line; done < <(compgen -d -- "$word")
      ;;
  esac
}
complete -F _codecell codecell
`,
  zsh: `#compdef codecell
# zsh completion for codecell
# Put this into ~/.zshrc, after compinit:  source <(codecell completion zsh)
_codecell() {
  local -a lines values
  local kind line
  lines=("\${(@f)$("\${words[1]}" completion --words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  kind=\${lines[1]}
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  ((\${#values})) && _describe -V 'codecell' values
  case $kind in
    files) _files ;;
    dirs) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _codecell ]]; then
  _codecell "$@"
else
  compdef _codecell codecell
fi
`,
  fish: `# fish completion for codecell
# Install it:  codecell completion fish > ~/.config/fish/completions/codecell.fish
function __codecell_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program completion --words -- $words 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    for line in $lines
        echo $line
    end
    switch "$kind"
        case files
            __fish_complete_path (commandline -ct)
        case dirs
            __fish_complete_directories (commandline -ct)
    end
end
complete -c codecell -f -a '(__codecell_complete)'
`,
};
