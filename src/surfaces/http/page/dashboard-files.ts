import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { packageRoot } from "../../../lib/files/package-root.ts";

const compress = promisify(gzip);

/** One file of the page, ready to send. */
export interface PageFile {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly gzipped: Uint8Array;
  /** its name contains a hash of its content, so browsers may keep it for ever */
  readonly isImmutable: boolean;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The files of the dashboard by path. Only names that are in the directory exist, so no path can leave it. */
export class DashboardFiles {
  readonly #directory: string;
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(directory = join(packageRoot(), "dist", "dashboard")) {
    this.#directory = directory;
  }

  /** Whether a path is one of the page; true for every path below /assets/. */
  static owns(pathname: string): boolean {
    return pathname === "/" || pathname.startsWith("/assets/");
  }

  /** The file at a path; undefined: there is none. Reads all of them once, because they are few and small. */
  async find(pathname: string): Promise<PageFile | undefined> {
    this.#files ??= this.#read();
    return (await this.#files).get(pathname);
  }

  async #read(): Promise<ReadonlyMap<string, PageFile>> {
    const assets = await readdir(join(this.#directory, "assets")).catch(() => []);
    const paths = ["index.html", ...assets.map((name) => `assets/${name}`)];
    const files = await Promise.all(paths.map((path) => this.#file(path)));
    return new Map(files.flat());
  }

  async #file(path: string): Promise<[string, PageFile][]> {
    const contentType = contentTypes[extname(path)];
    const bytes = contentType && (await readFile(join(this.#directory, path)).catch(() => undefined));
    if (!contentType || !bytes) return [];
    const isPage = path === "index.html";
    return [[isPage ? "/" : `/${path}`, { contentType, bytes, gzipped: await compress(bytes), isImmutable: !isPage }]];
  }
}
