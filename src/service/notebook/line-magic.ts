import { printable } from "../../policy/file/problem.ts";

/** What a line that is no Python becomes. */
export type LineMagic =
  | { readonly kind: "code"; readonly code: string; readonly needsShell?: boolean; readonly note?: string }
  | { readonly kind: "refused"; readonly problem: string };

/** Commands of the shell that IPython has as magics too. */
const shellNames = new Set(["ls", "cat", "mkdir", "rmdir", "rm", "cp", "mv", "head", "tail"]);
const installers = new Set(["pip", "pip3", "conda", "mamba", "micromamba", "uv"]);

/** `!command`: runs it in the shell; `!!command`, and `isValue`: gives its output as a list of lines. */
export function shellLine(command: string, isValue = false): LineMagic {
  const text = command.trim();
  const [first = "", second = ""] = text.split(/\s+/);
  const isPip = installers.has(first) || /^(?:\S*\/)?python[\d.]*\s+-m\s+pip\b/.test(text);
  if (isPip && /\b(?:install|add)\b/.test(text)) return installLine(first, text.slice(text.indexOf(second)));
  if (text === "") return { kind: "code", code: "pass" };
  const run = `__import__("subprocess").run(${expanded(text)}, shell=True, executable="/bin/bash"`;
  const code = isValue
    ? `${run}, stdout=-1, stderr=-2, text=True).stdout.splitlines()`
    : // Its value is None, so that it is no result of the cell.
      `__import__("sys").stdout.flush() or ${run}) and None`;
  return { kind: "code", code, needsShell: true };
}

/** `%name text`. */
export function percentLine(name: string, text: string): LineMagic {
  const argument = text.trim();
  if (installers.has(name)) return installLine(name, argument);
  if (shellNames.has(name)) return shellLine(`${name} ${argument}`);
  switch (name) {
    case "matplotlib":
      return ignored(/^(?:inline|agg|)$/.test(argument) ? undefined : "figures are always shown inline");
    case "load_ext":
    case "reload_ext":
      return argument === "autoreload" ? ignored("modules are not reloaded") : unknown(`%${name} ${argument}`);
    case "autoreload":
      return ignored("modules are not reloaded");
    case "config":
      return ignored("codecell has no such settings");
    case "time":
      return {
        kind: "code",
        code: argument === "" ? "pass" : argument,
        note: ignoredNote("%time", "put %%time first"),
      };
    case "timeit":
      return timeit(argument);
    case "pwd":
      return { kind: "code", code: `__import__("os").getcwd()` };
    case "cd":
      return argument === ""
        ? unknown("%cd without a directory")
        : { kind: "code", code: `__import__("os").chdir(${python(argument)})` };
    case "env":
    case "set_env":
      return environment(name, argument);
    default:
      return unknown(`%${name}`);
  }

  function ignored(why: string | undefined): LineMagic {
    return { kind: "code", code: "pass", ...(why === undefined ? {} : { note: ignoredNote(`%${name}`, why) }) };
  }
}

/** Text as a literal of Python. Every literal of JSON is one. */
export function python(text: string): string {
  return JSON.stringify(text);
}

/** Variables in a command, as in IPython: `{name}` and `$name`. What is no variable of the program is left to the shell. */
function expanded(command: string): string {
  if (!/[{$][A-Za-z_]/.test(command)) return python(command);
  const pattern = python("\\{([A-Za-z_]\\w*)\\}|\\$([A-Za-z_]\\w*)");
  const sub = `__import__("re").sub(${pattern}, lambda m: str(n.get(m[1] or m[2], m[0])), ${python(command)})`;
  return `(lambda n: ${sub})({**globals(), **locals()})`;
}

function installLine(name: string, argument: string): LineMagic {
  const words = argument.split(/\s+/).filter((word) => word !== "" && !/^(?:install|add|-.*)$/.test(word));
  const flags = words.slice(0, 8).map((word) => `--with ${shellWord(word)}`);
  const how = flags.length === 0 ? "`codecell run --with NAME`" : `\`codecell run ${flags.join(" ")}\``;
  const note = `${name} install does nothing here: packages are installed before the notebook starts, with ${how}`;
  return { kind: "code", code: "pass", note };
}

/** A requirement such as `numpy>1`, as a user can type it. */
function shellWord(word: string): string {
  const bare = printable(word.replace(/["']/g, ""));
  return /^[\w.,=[\]@:/+-]+$/.test(bare) ? bare : `'${bare}'`;
}

function timeit(argument: string): LineMagic {
  const [, options = "", statement = ""] = /^((?:-[nr]\s*\d+\s+)*)(.*)$/.exec(argument) ?? [];
  if (statement === "" || statement.startsWith("-")) return unknown(`%timeit ${argument}`);
  const count = (flag: string) => new RegExp(`-${flag}\\s*(\\d+)`).exec(options)?.[1];
  const repeats = count("r") ?? "5";
  const loops = count("n") ?? "t.autorange()[0]";
  const text = `print("%d loops, best of ${repeats}: %.3g µs per loop" % (n, min(t.repeat(${repeats}, n)) / n * 1e6))`;
  const timer = `__import__("timeit").Timer(${python(statement)}, globals=globals())`;
  return { kind: "code", code: `(lambda t: (lambda n: ${text})(${loops}))(${timer})` };
}

function environment(name: string, argument: string): LineMagic {
  const [, variable, value] = /^([A-Za-z_]\w*)(?:\s*=\s*|\s+)(.*)$/.exec(argument) ?? [];
  if (variable !== undefined && value !== undefined) {
    return { kind: "code", code: `__import__("os").environ[${python(variable)}] = ${expanded(value)}` };
  }
  if (!/^[A-Za-z_]\w*$/.test(argument)) return unknown(`%${name} without a name`);
  return { kind: "code", code: `__import__("os").environ[${python(argument)}]` };
}

function ignoredNote(name: string, why: string): string {
  return `${name} is ignored: ${why}`;
}

function unknown(what: string): LineMagic {
  return { kind: "refused", problem: `codecell does not have the magic ${printable(what)}` };
}
