import { useState } from "preact/hooks";
import type { ApiError } from "../api/api-error.ts";
import { token } from "../state/token.ts";
import { ErrorBox } from "./error-box.tsx";

/** Asks for a token. It is never in a URL that is sent or logged. */
export function Login({ reason }: { reason: ApiError | undefined }) {
  const [text, setText] = useState("");
  return (
    <main class="login" id="main">
      <h1>codecell</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") token.value = text.trim();
        }}
      >
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="primary">
          Open the dashboard
        </button>
      </form>
      {reason ? <ErrorBox error={reason} /> : null}
      <p class="quiet">
        <code>codecell serve</code> prints a link with a token when it starts. <code>codecell token create NAME</code>{" "}
        makes one that lasts.
      </p>
    </main>
  );
}
