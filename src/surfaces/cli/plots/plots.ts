import { resolve } from "node:path";
import type { Terminal } from "../shell/terminal.ts";
import type { ImageProtocol } from "./image-protocol.ts";
import type { PlotDirectory } from "./plot-directory.ts";
import type { RunPlots } from "./run-plots.ts";

/** Where displays are saved, and how they are shown. */
export interface PlotSettings {
  /** `--plots`: the directory, and as it was typed */
  readonly named?: { readonly path: string; readonly shown: string } | undefined;
  readonly stateDir: string;
  /** the session whose plots these are; absent: a fresh cell */
  readonly session?: string | undefined;
  readonly images: ImageProtocol | "none";
}

/**
 * What the programs of one command display besides text. Most programs display nothing, so the code for it is loaded and the
 * default directory is created with the first display.
 */
export class Plots implements AsyncDisposable {
  readonly settings: PlotSettings;
  #directory: Promise<PlotDirectory> | undefined;
  #hasFailed = false;

  private constructor(settings: PlotSettings) {
    this.settings = settings;
  }

  /** Opens a directory that the user names at once, so that a wrong one is reported before the program runs. */
  static async open(settings: PlotSettings): Promise<Plots> {
    const plots = new Plots(settings);
    if (settings.named) await plots.directory();
    return plots;
  }

  /** Exit code of a run that succeeded otherwise: displays that the user asked for are missing. */
  get exitCode(): number {
    return this.#hasFailed && this.settings.named ? 74 : 0;
  }

  failed(): void {
    this.#hasFailed = true;
  }

  directory(): Promise<PlotDirectory> {
    this.#directory ??= this.#open();
    return this.#directory;
  }

  /** For the displays of one run. */
  async ofRun(): Promise<RunPlots> {
    return new (await import("./run-plots.ts")).RunPlots(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const directory = await this.#directory?.catch(() => undefined);
    await directory?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<PlotDirectory> {
    const { named, session, stateDir } = this.settings;
    const { PlotDirectory } = await import("./plot-directory.ts");
    if (named) return PlotDirectory.open(named.path, { shown: named.shown });
    const { newRunPlots, sessionPlots } = await import("./default-plots.ts");
    const path = session === undefined ? await newRunPlots(stateDir) : sessionPlots(stateDir, session);
    return PlotDirectory.open(path, { mode: 0o700 });
  }
}

/** The directory of `--plots`, for `PlotSettings`. */
export function namedPlots(typed: string | undefined, { cwd }: Pick<Terminal, "cwd">): PlotSettings["named"] {
  return typed === undefined ? undefined : { path: resolve(cwd, typed), shown: typed };
}
