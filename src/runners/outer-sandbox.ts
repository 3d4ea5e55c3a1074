/** Signs that this process runs inside another sandbox. */
export interface OuterFacts {
  readonly container: string | undefined;
  /** in a user namespace that another program created */
  readonly isNested: boolean;
}

/** A sandbox that this process runs in, and that may not allow another sandbox inside. */
export interface OuterSandbox {
  readonly kind: "claude-code" | "srt" | "codex" | "flatpak" | "container" | "user-namespace";
  /** as in "codecell runs inside NAME" */
  readonly name: string;
  /** what to do if a runner does not start because of it */
  readonly remedy: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Pure: the sandbox that this process runs in, by the most certain sign first. Undefined if none is found. */
export function detectOuterSandbox(env: Environment, facts: OuterFacts): OuterSandbox | undefined {
  if (env.SANDBOX_RUNTIME === "1" && env.CLAUDECODE === "1") {
    return {
      kind: "claude-code",
      name: "Claude Code's sandbox for shell commands",
      remedy:
        'use the MCP tools of codecell, which run outside this sandbox (`codecell setup claude-code`), or add "codecell" to sandbox.excludedCommands in Claude Code\'s settings',
    };
  }
  if (env.SANDBOX_RUNTIME === "1") {
    return {
      kind: "srt",
      name: "the sandbox runtime (srt)",
      remedy: "only the wasm runner starts inside srt: use a policy that it can enforce, or start codecell outside srt",
    };
  }
  if (env.CODEX_SANDBOX !== undefined || env.CODEX_SANDBOX_NETWORK_DISABLED === "1") {
    const remedy = "use the MCP tools of codecell, which run outside this sandbox, or run the command without it";
    return { kind: "codex", name: "Codex's sandbox for shell commands", remedy };
  }
  if (env.FLATPAK_ID !== undefined) {
    const remedy = "start codecell on the host (`flatpak-spawn --host`), or use the wasm runner";
    return { kind: "flatpak", name: "the Flatpak sandbox of an application", remedy };
  }
  if (facts.container !== undefined) {
    const name = facts.container === "other" ? "a container" : `a ${facts.container} container`;
    const remedy = "allow user namespaces in the container, or use the wasm runner";
    return { kind: "container", name, remedy };
  }
  if (!facts.isNested) return undefined;
  const remedy = "start codecell outside this sandbox, or use the wasm runner";
  return { kind: "user-namespace", name: "a user namespace of another sandbox", remedy };
}
