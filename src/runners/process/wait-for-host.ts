/**
 * Before a command: waits for a line on standard input. The host writes it once it has moved this process into its cgroup, so that
 * no process of the cell starts outside. Standard input is read byte by byte up to the line's end; the command gets the rest.
 */
export const waitForHost: readonly string[] = ["/bin/sh", "-c", 'read -r _ || exit 71; exec "$@"', "sh"];
