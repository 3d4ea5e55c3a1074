/** What surfaces need to know about a language. */
export interface LanguageFacts {
  /** as people write it */
  readonly title: string;
  /** of files that hold such code, lower case, with the dot */
  readonly extensions: readonly string[];
  /** what a line of the repl begins with to be read as this language; absent: a line without a prefix */
  readonly replPrefix?: string;
}

/**
 * The languages that code can be written in. A new one is added here and in the kernel, which says in its `hello` which
 * of them a cell has.
 */
export const languages = {
  python: { title: "Python", extensions: [".py"] },
  bash: { title: "bash", extensions: [".sh", ".bash"], replPrefix: "!" },
} as const satisfies Readonly<Record<string, LanguageFacts>>;

/** What code can be written in; `Session.languages` says which of these a cell has. */
export type Language = keyof typeof languages;

/** All names, the default first. */
export const languageNames = Object.keys(languages) as [Language, ...Language[]];

/** What code is written in unless the caller says otherwise. */
export const defaultLanguage = "python" satisfies Language;

const table: readonly [Language, LanguageFacts][] = languageNames.map((name) => [name, languages[name]]);

/** Pure: the language of this name; undefined: there is none. */
export function parseLanguage(text: string): Language | undefined {
  return languageNames.find((name) => name === text);
}

/** Pure: the language of files with this extension, whatever its case; undefined: it does not tell. */
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
