import type { SrtPackage } from "../../src/runners/srt/package.ts";

/** The words that a wrapped command must contain, or the runner refuses to run it. */
export const srtWords = "--unshare-net --unshare-pid --unshare-user --cap-drop ALL apply-seccomp";

/** A fake sandbox-runtime in its own process, like the real one. `body` has the members of its manager. */
export function scriptedSrt(body: string): SrtPackage {
  const source = `export const SandboxManager = { checkDependencies: () => ({ errors: [] }), ${body} };`;
  const entryUrl = `data:text/javascript,${encodeURIComponent(source)}`;
  return { directory: "/nowhere", entryUrl, filterDirectory: "/nowhere" };
}
