/** A call that failed: what happened, and what to do about it. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { status?: number; hint?: string | undefined } = {}) {
    super(message);
    this.code = code;
    this.status = options.status ?? 0;
    this.hint = options.hint;
  }
}

/** The error of a response that is not 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string; hint?: string } };
    return new ApiError(error.code, error.message, { status, hint: error.hint });
  } catch {
    return new ApiError("bad_answer", `the service answered with status ${status}`, { status });
  }
}

/** Anything that was thrown, as an `ApiError`. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof TypeError) {
    return new ApiError("unreachable", "the service cannot be reached", {
      hint: "check that `codecell serve` is still running; the page reconnects by itself",
    });
  }
  return new ApiError("unexpected", thrown instanceof Error ? thrown.message : String(thrown));
}
