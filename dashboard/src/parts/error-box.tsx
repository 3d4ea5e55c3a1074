import type { ApiError } from "../api/api-error.ts";

/** What failed and what to do. Screen readers announce it. */
export function ErrorBox({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="error-box" role="alert">
      <p>{error.message}</p>
      {error.hint ? <p class="quiet">{error.hint}</p> : null}
      {retry ? (
        <button type="button" onClick={retry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}
