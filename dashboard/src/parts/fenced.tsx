import { useErrorBoundary } from "preact/hooks";
import { ApiError } from "../api/api-error.ts";
import { ErrorBox } from "./error-box.tsx";

/**
 * A part of the page that shows data of cells. The attack: a value that makes a part throw, so that the operator sees nothing of the
 * session at all. Only this part says that it failed.
 */
export function Fenced({ children }: { children: preact.ComponentChildren }) {
  const [failure, retry] = useErrorBoundary();
  if (failure === undefined) return <>{children}</>;
  const error = new ApiError("unexpected", "the page cannot show this part", {
    hint: "the command line shows it; please report what it was",
  });
  return <ErrorBox error={error} retry={retry} />;
}
