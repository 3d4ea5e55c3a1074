/** What surfaces need to know about a language. */
export interface LanguageFacts {
  /** as shown to people */
  readonly title: string;
  /** of source files, in lower case, with the dot */
  readonly extensions: readonly string[];
  /** start of a repl line in this language; absent: no prefix */
  readonly replPrefix?: string;
}

/**
 * The languages that codecell can run. A new one is added here and in the kernel, whose `hello` message lists the languages
 * of its cell.
 */
export const languages = {
  python: { title: "Python", extensions: [".py"] },
  bash: { title: "bash", extensions: [".sh", ".bash"], replPrefix: "!" },
} as const satisfies Readonly<Record<string, LanguageFacts>>;

/** A language of code; `Session.languages` lists those that a cell supports. */
export type Language = keyof typeof languages;

/** All names, the default first. */
export const languageNames = Object.keys(languages) as [Language, ...Language[]];

/** The language of code unless the caller names another. */
export const defaultLanguage = "python" satisfies Language;

const table: readonly [Language, LanguageFacts][] = languageNames.map((name) => [name, languages[name]]);

/** Pure: the language of this name; undefined: there is none. */
export function parseLanguage(text: string): Language | undefined {
  return languageNames.find((name) => name === text);
}

/** Pure: the language of files with this extension, whatever its case; undefined: unknown extension. */
export function languageOfExtension(extension: string): Language | undefined {
  return table.find(([, { extensions }]) => extensions.includes(extension.toLowerCase()))?.[0];
}

/** Pure: the language whose prefix a line of the repl begins with, and the prefix. */
export function languageOfPrefix(line: string): { language: Language; prefix: string } | undefined {
  for (const [language, { replPrefix: prefix }] of table) {
    if (prefix !== undefined && line.startsWith(prefix)) return { language, prefix };
  }
  return undefined;
}
