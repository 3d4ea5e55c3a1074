import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";

/** The same files; whoever saves them is told of each change. */
export function noticedFiles(
  files: WorkspaceFiles,
  changing: <Result>(change: () => Promise<Result>) => Promise<Result>,
): WorkspaceFiles {
  return {
    stat: (path) => files.stat(path),
    open: (path) => files.open(path),
    read: (path, options) => files.read(path, options),
    stream: (path, range) => files.stream(path, range),
    list: (options) => files.list(options),
    write: (path, source, options) => changing(() => files.write(path, source, options)),
    remove: (path) => changing(() => files.remove(path)),
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}
