import type { Signature } from "../signature/signature.ts";
import type { VariableInfo } from "../trajectory/event.ts";
import type { RlmCell } from "./cell.ts";

/** The inputs as the model sees them, in the order of the signature. */
export async function describeInputs(cell: RlmCell, { inputs }: Signature): Promise<VariableInfo[]> {
  const found = await cell.describe(inputs.map(({ name }) => name));
  return inputs.map(({ name, description }) => {
    const variable = found.find((one) => one.name === name);
    const { type = "unknown", chars = 0, head = "", tail = "" } = variable ?? {};
    const preview = tail === "" ? head : `${head} … ${tail}`;
    return { name, type, chars, preview, ...(description !== undefined && { description }) };
  });
}
