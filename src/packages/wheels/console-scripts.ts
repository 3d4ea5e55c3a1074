/** A command that a package offers. */
export interface ConsoleScript {
  readonly name: string;
  /** a program of ours: nothing of the package but names is in it */
  readonly text: string;
}

const identifiers = "[A-Za-z_][A-Za-z0-9_]*(?:\\.[A-Za-z_][A-Za-z0-9_]*)*";
const entry = new RegExp(
  `^([A-Za-z0-9][A-Za-z0-9._-]{0,99})\\s*=\\s*(${identifiers}):(${identifiers})(?:\\s*\\[[^\\]]*\\])?$`,
);
const mostScripts = 1_000;

/**
 * The `[console_scripts]` of entry_points.txt, as programs. They find the tree from their own place, because a program that is
 * started from a shell does not have it on its path. Lines that are not plain names are left out: they would become code.
 */
export function consoleScripts(text: string): ConsoleScript[] {
  const scripts = new Map<string, ConsoleScript>();
  let section = "";
  for (const written of text.split(/\r?\n/)) {
    const line = written.trim();
    if (line.startsWith("[")) section = line;
    if (section !== "[console_scripts]" || line.length > 500 || scripts.size >= mostScripts) continue;
    const [, name, module, attribute] = entry.exec(line) ?? [];
    if (name !== undefined && module !== undefined && attribute !== undefined)
      scripts.set(name, { name, text: program(module, attribute) });
  }
  return [...scripts.values()];
}

function program(module: string, attribute: string): string {
  const [first = ""] = attribute.split(".");
  return `#!/usr/bin/env python3
import os, sys
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from ${module} import ${first}
if __name__ == "__main__":
    sys.exit(${attribute}())
`;
}
