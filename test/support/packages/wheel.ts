import { createHash } from "node:crypto";
import { type ZipEntry, zipFile } from "./zip-file.ts";

/** A wheel that a test describes. */
export interface WheelSpec {
  readonly name: string;
  readonly version: string;
  /** `py3-none-any` by default */
  readonly tag?: string;
  readonly requires?: readonly string[];
  readonly extras?: readonly string[];
  readonly requiresPython?: string;
  /** by path; by default one module, named like the package, with its version */
  readonly files?: Readonly<Record<string, string>>;
  /** entries that are added as they are, hostile ones too */
  readonly entries?: readonly ZipEntry[];
  /** changes RECORD */
  readonly record?: (text: string) => string;
  /** lines for METADATA instead of its own */
  readonly metadata?: string;
}

/** A wheel's file, and its METADATA as an index offers it apart. */
export interface BuiltWheel {
  readonly fileName: string;
  readonly content: Buffer;
  readonly metadata: string;
}

/** Builds a wheel as PEP 427 describes it, with nobody's help. */
export function buildWheel(spec: WheelSpec): BuiltWheel {
  const escaped = spec.name.replace(/[-_.]+/g, "_");
  const stem = `${escaped}-${spec.version}`;
  const tag = spec.tag ?? "py3-none-any";
  const metadata = spec.metadata ?? metadataOf(spec);
  const files = spec.files ?? { [`${escaped.toLowerCase()}/__init__.py`]: `version = "${spec.version}"\n` };
  const entries: ZipEntry[] = [
    ...Object.entries(files).map(([path, content]) => ({ path, content })),
    ...(spec.entries ?? []),
    { path: `${stem}.dist-info/METADATA`, content: metadata },
    { path: `${stem}.dist-info/WHEEL`, content: `Wheel-Version: 1.0\nGenerator: test\nTag: ${tag}\n` },
  ];
  const rows = entries
    .filter(({ path }) => !path.endsWith("/"))
    .map(({ path, content }) => `${path},${hashOf(content)},`);
  const record = `${[...rows, `${stem}.dist-info/RECORD,,`].join("\n")}\n`;
  const content = zipFile([...entries, { path: `${stem}.dist-info/RECORD`, content: spec.record?.(record) ?? record }]);
  return { fileName: `${stem}-${tag}.whl`, content, metadata };
}

function metadataOf({ name, version, requires = [], extras = [], requiresPython }: WheelSpec): string {
  const lines = [
    ...["Metadata-Version: 2.1", `Name: ${name}`, `Version: ${version}`],
    ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
    ...extras.map((extra) => `Provides-Extra: ${extra}`),
    ...requires.map((requirement) => `Requires-Dist: ${requirement}`),
  ];
  return `${lines.join("\n")}\n\nA package of a test.\nRequires-Dist: not-a-header\n`;
}

function hashOf(content: string | Buffer): string {
  return `sha256=${createHash("sha256").update(content).digest("base64url")}`;
}
