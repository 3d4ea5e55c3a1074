/** An error whose type and message untrusted code may see. Others reach it without their message. */
export class GuestFailure extends Error {
  /** name of the exception's class */
  readonly type: string;

  constructor(type: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.type = type;
  }
}
