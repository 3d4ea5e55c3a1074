import { join } from "node:path";
import { messageOf } from "../../../lib/errors.ts";
import { diskFailure } from "../../../lib/files/disk-failure.ts";
import { printable } from "../../../policy/file/problem.ts";
import { previewMime } from "../../../service/replies/image-content.ts";
import type { DisplayEvent } from "../../../sessions/runs/run.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { plural } from "../format/text/plural.ts";
import { displayKind, isOfKind } from "./display-kind.ts";
import { InlineImages } from "./inline-images.ts";
import type { Plots } from "./plots.ts";

/** The attack: a program that displays ten thousand dots, to fill a directory or to hide a line among as many others. */
const limits = { files: 500, lines: 20 } as const;

/** What happened to one form of a displayed value. */
export interface ShownDisplay {
  /** the file that it was saved to */
  readonly path?: string;
  /** a line for people; no line: too many of them, or nothing to say */
  readonly line?: string;
  /** what shows the picture in the terminal */
  readonly inline?: string;
}

/** Saves what one run displays, and shows its pictures. */
export class RunPlots {
  readonly #plots: Plots;
  readonly #inline: InlineImages;
  #latest: { display: number; number: number; readonly extensions: Set<string> } | undefined;
  #files = 0;
  #lines = 0;
  #unmentioned = 0;
  #overLimit = 0;
  #problem: string | undefined;
  #unsaved = 0;

  constructor(plots: Plots) {
    this.#plots = plots;
    this.#inline = new InlineImages(plots.settings.images);
  }

  async add(event: DisplayEvent, { columns = Number.POSITIVE_INFINITY, hasText = true } = {}): Promise<ShownDisplay> {
    if (event.mime === previewMime || event.mime === "text/plain") return {};
    const shown = await this.#save(event, hasText);
    const inline = event.mime === "image/png" ? this.#inline.show(event.data, columns) : undefined;
    return {
      ...(shown.path === undefined ? {} : { path: shown.path }),
      ...this.#mention(shown.line),
      ...(inline === undefined ? {} : { inline }),
    };
  }

  /** What the lines of single displays did not say, one sentence each. */
  end(): string[] {
    const remarks: string[] = [];
    const { named } = this.#plots.settings;
    if (this.#unmentioned > 0) remarks.push(`… and ${plural(this.#unmentioned, "more display")}`);
    if (this.#overLimit > 0) {
      remarks.push(`${notSaved(this.#overLimit)}: a run saves at most ${limits.files} files`);
    }
    if (this.#problem !== undefined) {
      const hint = named ? "" : "; choose another directory with --plots DIR";
      remarks.push(`${notSaved(this.#unsaved)}: ${this.#problem}${hint}`);
    }
    return remarks;
  }

  #mention(line: string | undefined): { readonly line?: string } {
    if (line === undefined) return {};
    this.#lines += 1;
    if (this.#lines <= limits.lines) return { line };
    this.#unmentioned += 1;
    return {};
  }

  /** `hasText`: the value was printed as text, so that nobody misses its other forms. */
  async #save(event: DisplayEvent, hasText: boolean): Promise<{ path?: string; line?: string }> {
    const kind = displayKind(event.mime);
    const { named } = this.#plots.settings;
    const what = `${printable(event.mime)}, ${formatBytes(event.data.byteLength)}`;
    if (kind === undefined) return named ? { line: `not saved: ${what}: codecell has no kind of file for it` } : {};
    const isKnown = hasText || this.#latest?.display === event.display;
    if (!kind.isPicture && !named) return isKnown ? {} : { line: `not saved: ${what}; --plots DIR saves it` };
    if (!isOfKind(event.mime, event.data)) return { line: `not saved: ${what}: the content is of another type` };
    if (this.#files >= limits.files) {
      this.#overLimit += 1;
      return {};
    }
    if (this.#problem !== undefined) {
      this.#unsaved += 1;
      return {};
    }
    return this.#write(event, kind.extension, what);
  }

  async #write(event: DisplayEvent, extension: string, what: string): Promise<{ path?: string; line?: string }> {
    try {
      const directory = await this.#plots.directory();
      const { name, number } = await directory.save(await this.#numberFor(event, extension), extension, event.data);
      if (this.#latest) this.#latest.number = number;
      this.#files += 1;
      const shown = join(this.#plots.settings.named?.shown ?? directory.path, name);
      return { path: join(directory.path, name), line: `saved ${printable(shown, 1024)} (${what})` };
    } catch (error) {
      // A full disk stays full: the next display would fail in the same way.
      this.#problem = messageOf(diskFailure(error) ?? error).replace(/^\/proc\/self\/fd\/\d+\/(\S+)/, "$1");
      this.#unsaved += 1;
      this.#plots.failed();
      return {};
    }
  }

  /** The forms of one value have the same number: `plot-1.png` and `plot-1.html`. */
  async #numberFor({ display }: DisplayEvent, extension: string): Promise<number> {
    if (this.#latest?.display !== display || this.#latest.extensions.has(extension)) {
      this.#latest = { display, number: (await this.#plots.directory()).takeNumber(), extensions: new Set() };
    }
    this.#latest.extensions.add(extension);
    return this.#latest.number;
  }
}

function notSaved(count: number): string {
  return `${plural(count, "display")} ${count === 1 ? "was" : "were"} not saved`;
}
