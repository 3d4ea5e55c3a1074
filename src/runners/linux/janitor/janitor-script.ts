/**
 * POSIX shell. Arguments: directories of cgroups, `--`, directories to remove. Standard input: the tag on the first line,
 * then "nothing left" if the owner has removed everything itself, or "done" if it exits normally. No input is evaluated as
 * shell code.
 */
export const janitorScript = `
PATH=/usr/bin:/bin:/usr/sbin:/sbin
export PATH
trap '' HUP INT TERM PIPE
IFS= read -r tag || exit 0
case $tag in ''|*[!a-z0-9]*) exit 1;; esac
ending=crash
while IFS= read -r word; do ending=$word; done
[ "$ending" = "nothing left" ] && exit 0
# a bubblewrap may just be starting when its host process is killed, so check several times
case $ending in done) looks=1;; *) looks=5;; esac

# pids of processes that have exactly the tag as an argument
tagged() {
  printf '%s\\n' "$tag" | grep -alF -f - /proc/[0-9]*/cmdline 2>/dev/null | while IFS= read -r file; do
    tr '\\000' '\\n' <"$file" 2>/dev/null | { IFS= read -r first; found=
      while IFS= read -r word; do [ "$word" = "$tag" ] && found=1; done; [ -n "$found" ]; } || continue
    pid=\${file#/proc/}; pid=\${pid%/cmdline}
    [ "$pid" = "$$" ] || echo "$pid"
  done
}

# does not delete files on other file systems, if rm supports that
rm --help 2>&1 | grep -q one-file-system && alone=--one-file-system || alone=

round=0
while [ "$round" -lt 150 ]; do
  round=$((round + 1))
  left=
  for pid in $(tagged); do kill -9 "$pid" 2>/dev/null; left=1; done
  section=cgroups
  for path in "$@"; do
    if [ "$section" = cgroups ]; then
      if [ "$path" = -- ]; then section=directories; continue; fi
      for group in "$path/$tag"-*/* "$path/$tag"-*; do # the groups in a group first
        if [ -d "$group" ]; then rmdir "$group" 2>/dev/null || left=1; fi
      done
    elif [ -z "$left" ] && { [ -d "$path" ] || [ -L "$path" ]; }; then
      rm -rf $alone -- "$path" 2>/dev/null || left=1
    fi
  done
  [ -z "$left" ] && [ "$round" -ge "$looks" ] && exit 0
  sleep 0.04
done
`;
