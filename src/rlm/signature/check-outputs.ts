import { CodecellError } from "../../lib/errors.ts";
import { checkValue, maxErrors, type ValueError } from "./check-value.ts";
import { allowsNone } from "./field-type.ts";
import { type Field, type Signature, signatureText } from "./signature.ts";

export type CheckedOutputs =
  | { readonly ok: true; readonly outputs: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly errors: readonly ValueError[] };

/** Checks what code submitted. Every output must be there and fit its type; anything else is an error. */
export function checkOutputs({ outputs: fields }: Signature, value: unknown): CheckedOutputs {
  const call = `SUBMIT(${fields.map(({ name }) => `${name}=…`).join(", ")})`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ok: false, errors: [{ path: "", message: `expected a dict of outputs; call ${call}` }] };
  }
  const given = value as Readonly<Record<string, unknown>>;
  const errors: ValueError[] = [];
  const outputs: Record<string, unknown> = {};
  for (const { name, type } of fields) {
    if (!Object.hasOwn(given, name)) {
      errors.push({ path: name, message: `is missing; call ${call}` });
      continue;
    }
    const checked = checkValue(given[name], type, name);
    if (checked.ok) outputs[name] = checked.value;
    else errors.push(...checked.errors);
  }
  for (const name of Object.keys(given)) {
    if (!fields.some((field) => field.name === name)) {
      errors.push({ path: name, message: `is not an output; call ${call}` });
    }
  }
  return errors.length === 0 ? { ok: true, outputs } : { ok: false, errors: errors.slice(0, maxErrors) };
}

/** The errors as lines that a model can act on. */
export function valueErrorsText(errors: readonly ValueError[]): string {
  return errors.map(({ path, message }) => (path === "" ? `- ${message}` : `- ${path}: ${message}`)).join("\n");
}

/**
 * Checks input values before anything runs, and returns them converted. An input whose type allows None may be left out.
 * `held` names inputs that are variables of the cell already: their values never reach the host.
 */
export function checkInputs(
  signature: Signature,
  values: Readonly<Record<string, unknown>>,
  held: ReadonlySet<string> = new Set(),
): Readonly<Record<string, unknown>> {
  const { inputs } = signature;
  const known = new Set(inputs.map(({ name }) => name));
  const unknown = [...Object.keys(values), ...held].filter((name) => !known.has(name));
  if (unknown.length > 0) throw inputError(signature, `${unknown.join(", ")} is not an input of the signature`);
  const missing = inputs.filter((field) => isMissing(field, values, held)).map(({ name }) => name);
  if (missing.length > 0) throw inputError(signature, `the input ${missing.join(", ")} is missing`);
  const errors: ValueError[] = [];
  const checkedValues: Record<string, unknown> = {};
  for (const { name, type } of inputs.filter((field) => !held.has(field.name))) {
    const checked = checkValue(values[name] ?? null, type, name);
    if (checked.ok) checkedValues[name] = checked.value;
    else errors.push(...checked.errors);
  }
  if (errors.length === 0) return checkedValues;
  throw inputError(signature, errors.map(({ path, message }) => `the input ${path}: ${message}`).join("; "));
}

function isMissing(
  { name, type }: Field,
  values: Readonly<Record<string, unknown>>,
  held: ReadonlySet<string>,
): boolean {
  return !Object.hasOwn(values, name) && !held.has(name) && !allowsNone(type);
}

function inputError(signature: Signature, message: string): CodecellError {
  return new CodecellError("usage", message, { hint: `the signature is: ${signatureText(signature)}` });
}
