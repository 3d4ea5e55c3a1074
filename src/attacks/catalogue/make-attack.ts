import type { Attack, AttackKind, ControlWeakness } from "../attack.ts";

/** What an attack has besides its id, title and code; a weakness names its control. */
export interface AttackParts
  extends Omit<Attack, "id" | "title" | "code" | "kind" | "control">,
    Partial<Pick<Attack, "kind" | "control">> {
  readonly weakness?: ControlWeakness;
}

/** An attack whose code is one expression of the prelude's language. */
export function says(id: string, title: string, expression: string, parts: AttackParts): Attack {
  return does(id, title, `verdict = ${expression}`, parts);
}

/** An attack whose code is a program that sets `verdict`. */
export function does(id: string, title: string, code: string, { weakness, ...parts }: AttackParts): Attack {
  const control = parts.control ?? (weakness === undefined ? undefined : { weakness });
  if (control === undefined) throw new Error(`${id} needs a weakness for its control, or a reason for none`);
  return { kind: "escape" satisfies AttackKind, ...parts, id, title, code: code.trim(), control };
}
