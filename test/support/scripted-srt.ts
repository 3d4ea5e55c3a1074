import type { SrtPackage } from "../../src/runners/srt/package.ts";

/** What a wrapped command has to name before anybody runs it. */
export const srtWords = "--unshare-net --unshare-pid --unshare-user --cap-drop ALL apply-seccomp";

/** A fake of sandbox-runtime, in a process of its own like the real one: `body` are the members of its manager. */
export function scriptedSrt(body: string): SrtPackage {
  const source = `export const SandboxManager = { checkDependencies: () => ({ errors: [] }), ${body} };`;
  const entryUrl = `data:text/javascript,${encodeURIComponent(source)}`;
  return { directory: "/nowhere", entryUrl, filterDirectory: "/nowhere" };
}
