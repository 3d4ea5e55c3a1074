import { gzipSync } from "node:zlib";

/** An entry of a tar file, honest or not. */
export interface TarEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** `0`, a file, by default */
  readonly type?: string;
  /** what the header claims instead of the real size */
  readonly claimedBytes?: number;
  /** the text of the size field, for damaged ones */
  readonly size?: string;
  readonly checksum?: string;
}

/** A tar file. Nothing is checked, so that tests can make hostile ones. */
export function tarFile(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? "");
    const header = Buffer.alloc(512);
    header.write(entry.path.slice(0, 100), 0);
    header.write("0000644\0", 100);
    header.write("0000000\0", 108);
    header.write("0000000\0", 116);
    const bytes = entry.claimedBytes ?? content.length;
    header.write(entry.size ?? `${bytes.toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write(entry.type ?? "0", 156);
    header.write("ustar\x0000", 257);
    header.write("        ", 148);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(entry.checksum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** A source distribution of the files of a project. */
export function sdistFile(top: string, files: Readonly<Record<string, string>>): Buffer {
  return gzipSync(tarFile(Object.entries(files).map(([path, content]) => ({ path: `${top}/${path}`, content }))));
}

/**
 * A backend in a few lines: the wheel has the modules of the source. `hook` is Python that runs in `build_wheel` first, and can
 * change `name`, `version`, `tag` and `requires`.
 */
export function tinyBackend(hook = "pass"): string {
  return `import base64, hashlib, os, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    lines = [line.strip() for line in open("project.txt")]
    name, version, requires, tag = lines[0], lines[1], lines[2:], "py3-none-any"
    scope = dict(name=name, version=version, requires=requires, tag=tag)
    exec(HOOK, scope)
    name, version, requires, tag = (scope[key] for key in ("name", "version", "requires", "tag"))
    stem = name + "-" + version
    files = {path: open(path).read() for path in os.listdir(".") if path.endswith(".py")}
    files[stem + ".dist-info/METADATA"] = "".join(
        ["Metadata-Version: 2.1\\nName: " + name + "\\nVersion: " + version + "\\n"]
        + ["Requires-Dist: " + one + "\\n" for one in requires])
    files[stem + ".dist-info/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: tiny\\nTag: " + tag + "\\n"
    digest = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    record = "".join(path + ",sha256=" + digest(text) + ",\\n" for path, text in files.items())
    files[stem + ".dist-info/RECORD"] = record + stem + ".dist-info/RECORD,,\\n"
    wheel = stem + "-" + tag + ".whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w") as archive:
        for path, text in files.items(): archive.writestr(path, text)
    return wheel
HOOK = ${JSON.stringify(hook)}
`;
}
