/** The part of recursive runs that surfaces use to start one. */
export { openCache, openTape } from "../../rlm/access/recordings.ts";
export { type RlmResult, runRlm } from "../../rlm/loop/run-rlm.ts";
export { sessionCell } from "../../rlm/loop/session-cell.ts";
export { type FieldType, typeText } from "../../rlm/signature/field-type.ts";
export { signatureOf } from "../../rlm/signature/ready-signatures.ts";
export type { Signature } from "../../rlm/signature/signature.ts";
export type { RlmEvent } from "../../rlm/trajectory/event.ts";
export { usdText } from "../../rlm/view/numbers.ts";
