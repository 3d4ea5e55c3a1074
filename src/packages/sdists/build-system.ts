import { messageOf } from "../../lib/errors.ts";
import { tableKeys } from "../requirements/toml-header.ts";
import { refusedSdist } from "./sdist-error.ts";

/** What builds a package (PEP 517 and 518). All of it is the package's own text. */
export interface BuildSystem {
  /** requirements, as written */
  readonly requires: readonly string[];
  /** `module` or `module:object` */
  readonly backend: string;
  /** directories of the source that have the backend itself */
  readonly backendPath: readonly string[];
}

const setuptools: BuildSystem = {
  requires: ["setuptools>=40.8.0", "wheel"],
  backend: "setuptools.build_meta:__legacy__",
  backendPath: [],
};
const backendName = /^[A-Za-z_][\w.]{0,200}(?::[A-Za-z_][\w.]{0,200})?$/;
const mostRequirements = 100;
const longestFile = 1024 ** 2;

/** The `[build-system]` of a pyproject.toml. Without one, it is setuptools. */
export function buildSystem(pyproject: string | undefined, label: string): BuildSystem {
  if (pyproject === undefined) return setuptools;
  const refuse = (why: string) => refusedSdist(label, `its pyproject.toml cannot be used: ${why}`);
  if (pyproject.length > longestFile) throw refuse(`it is longer than ${longestFile} characters`);
  const keys = readKeys(pyproject, refuse);
  if (!keys) return setuptools;
  const texts = (name: string): string[] | undefined => {
    const value = keys.get(name);
    if (value === undefined) return undefined;
    const items = value.kind === "list" ? value.items : [value];
    if (value.kind !== "list" || items.length > mostRequirements) throw refuse(`${name} is not a short list`);
    return items.map((item) => {
      if (item.kind !== "text") throw refuse(`${name} has something that is not a string`);
      return item.text;
    });
  };
  const requires = texts("requires");
  if (!requires) throw refuse("[build-system] has no requires");
  const backend = keys.get("build-backend");
  if (backend === undefined) return { ...setuptools, requires };
  if (backend.kind !== "text" || !backendName.test(backend.text)) throw refuse("build-backend is not a name");
  return { requires, backend: backend.text, backendPath: texts("backend-path") ?? [] };
}

function readKeys(text: string, refuse: (why: string) => Error) {
  try {
    return tableKeys(text, "build-system");
  } catch (error) {
    throw refuse(messageOf(error));
  }
}
