import type { RunResult } from "../../sessions/runs/run.ts";

/** What a failed run wanted of a package index. */
export type PackageNeed =
  /** it imported a module that the cell lacks */
  | { readonly kind: "module"; readonly module: string; readonly packageName: string }
  /** it tried to install something itself */
  | { readonly kind: "pip" };

/** Modules whose package has another name. */
const packageNames: Readonly<Record<string, string>> = {
  ...{ PIL: "pillow", bs4: "beautifulsoup4", cv2: "opencv-python-headless", dateutil: "python-dateutil" },
  ...{ dotenv: "python-dotenv", fitz: "pymupdf", jwt: "pyjwt", skimage: "scikit-image", sklearn: "scikit-learn" },
  ...{ docx: "python-docx", pptx: "python-pptx", serial: "pyserial", yaml: "pyyaml", Crypto: "pycryptodome" },
};

/** Parts of Python that some interpreters are built without: no index has them. */
const notInAnIndex = new Set(["tkinter", "_tkinter", "distutils", "ensurepip", "idlelib", "lib2to3", "turtle"]);

/** How pip, or its absence, looks from outside. */
const pipFailures =
  /\bpip3?: (?:command )?not found|No module named '?pip'?|externally-managed-environment|^ERROR: (?:Could not find a version|No matching distribution)/m;
/** `%pip install x` and `!pip install x` are not Python: the cell has no IPython. */
const pipMagic = /^\s*[%!]\s*(?:pip3?|python3? -m pip)\s+install\b/m;

/** Pure: what would have helped a run that failed, as far as packages can. The text is the program's: it is only matched. */
export function packageNeed({ status, error, stderr }: RunResult): PackageNeed | undefined {
  if (status !== "error") return undefined;
  const name = error?.name.split(".").at(-1);
  if (pipFailures.test(stderr.slice(-8_000))) return { kind: "pip" };
  if (name === "SyntaxError" && pipMagic.test((error?.traceback ?? "").slice(-8_000))) return { kind: "pip" };
  if (name !== "ModuleNotFoundError") return undefined;
  const [, module] = /^No module named '([A-Za-z]\w{0,99})(?:\.[\w.]{1,200})?'/.exec(error?.message ?? "") ?? [];
  if (module === "pip" || module === "micropip") return { kind: "pip" };
  if (module === undefined || notInAnIndex.has(module)) return undefined;
  return { kind: "module", module, packageName: packageNames[module] ?? module.replaceAll("_", "-") };
}
