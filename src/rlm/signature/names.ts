/** Functions of the cell. An input of that name would hide the function from the code that needs it. */
export const cellFunctionNames = [
  "llm_query",
  "llm_query_batched",
  "rlm_query",
  "rlm_query_batched",
  "SUBMIT",
  "SHOW_VARS",
  "budget",
] as const;

const reservedInputs: ReadonlySet<string> = new Set([...cellFunctionNames, "print"]);
/** DSPy puts these beside the outputs. */
const reservedOutputs: ReadonlySet<string> = new Set(["trajectory", "final_reasoning"]);

const keywords: ReadonlySet<string> = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global " +
    "if import in is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/** Why a field cannot have this name, and what to do; undefined if it can. */
export function nameProblem(name: string, side: "input" | "output"): { problem: string; hint: string } | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return {
      problem: `${JSON.stringify(name)} is not a name`,
      hint: "use ASCII letters, digits and underscores, and start with a letter",
    };
  }
  if (keywords.has(name)) {
    return { problem: `${name} is a keyword of Python`, hint: `rename the field, for example to ${name}_value` };
  }
  if (name.startsWith("_")) {
    return { problem: `the name ${name} starts with an underscore`, hint: "start the name of a field with a letter" };
  }
  if (side === "input" && reservedInputs.has(name)) {
    return { problem: `${name} is a function of the cell`, hint: `rename the input, for example to ${name}_input` };
  }
  if (side === "output" && reservedOutputs.has(name)) {
    return {
      problem: `${name} is reserved for the result of a run`,
      hint: `rename the output, for example to ${name}_text`,
    };
  }
  return undefined;
}
