/** Options of other tools, by our name for them. */
const options: Readonly<Record<string, readonly string[]>> = {
  ...{
    volume: ["mount"],
    v: ["mount"],
    bind: ["mount"],
    name: ["session"],
    id: ["session"],
    "session-id": ["session"],
  },
  ...{ sandbox: ["session"], container: ["session"], m: ["memory"], mem: ["memory"], "time-limit": ["timeout"] },
  ...{ t: ["timeout"], lang: ["language"], kernel: ["language"], engine: ["runner"], runtime: ["runner"] },
  ...{ tier: ["runner"], isolation: ["runner"], config: ["policy"], rules: ["policy"], cwd: ["workspace"] },
  ...{ workdir: ["workspace"], w: ["workspace"], "dry-run": ["print"], n: ["tail", "lines", "limit"] },
  ...{ lines: ["tail", "lines"], tail: ["lines", "tail"], remove: ["remove", "uninstall"], delete: ["remove"] },
  ...{
    uninstall: ["remove"],
    out: ["output"],
    a: ["all"],
    f: ["follow", "force"],
    yes: ["force"],
    overwrite: ["force"],
  },
  ...{ command: ["code"], e: ["code"], eval: ["code"], debug: ["verbose"], quiet: ["quiet"], to: ["output"] },
};

/** Our name of an option of another tool, if the command has it. */
export function familiarOption(written: string, names: readonly string[]): string | undefined {
  const meant = Object.hasOwn(options, written) ? (options[written] ?? []) : [];
  return meant.find((name) => names.includes(name));
}
