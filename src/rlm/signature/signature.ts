import { type FieldType, typeText } from "./field-type.ts";

/** One input or output. */
export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly description?: string;
}

/** What goes in, what comes out, and what to do. */
export interface Signature {
  readonly inputs: readonly Field[];
  readonly outputs: readonly Field[];
  readonly instructions?: string;
}

/** The signature as a string that `parseSignature` reads back. Instructions are not part of it. */
export function signatureText({ inputs, outputs }: Signature): string {
  return `${inputs.map(fieldText).join(", ")} -> ${outputs.map(fieldText).join(", ")}`.trimStart();
}

function fieldText({ name, type, description }: Field): string {
  const typed = `${name}: ${typeText(type)}`;
  return description === undefined ? typed : `${typed} ${JSON.stringify(description)}`;
}
