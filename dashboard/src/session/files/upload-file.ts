import { ApiError } from "../../api/api-error.ts";
import { token } from "../../state/token.ts";

/** Uploads a file. `fetch` cannot tell how far an upload is, so this is an XMLHttpRequest. */
export function uploadFile(
  url: string,
  file: File,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (sent: number) => void },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (error: ApiError) => reject(error);
    request.open("PUT", url);
    request.setRequestHeader("authorization", `Bearer ${token.value ?? ""}`);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.addEventListener("load", () => {
      if (request.status >= 200 && request.status < 300) return resolve();
      if (request.status === 401) token.value = undefined;
      fail(errorIn(request));
    });
    request.addEventListener("error", () =>
      fail(new ApiError("unreachable", "the upload was cut off", { hint: "folders cannot be uploaded; try again" })),
    );
    request.addEventListener("abort", () => fail(new ApiError("aborted", "the upload was stopped")));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function errorIn({ status, responseText }: XMLHttpRequest): ApiError {
  try {
    const { error } = JSON.parse(responseText) as { error: { code: string; message: string; hint?: string } };
    return new ApiError(error.code, error.message, { status, hint: error.hint });
  } catch {
    return new ApiError("bad_answer", `the service answered with status ${status}`, { status });
  }
}
