import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import { type ApiError, asApiError } from "./api/api-error.ts";
import { ErrorBox } from "./parts/error-box.tsx";
import { Header } from "./parts/header.tsx";
import { Login } from "./parts/login.tsx";
import { OfferedToken } from "./parts/offered-token.tsx";
import { ServicePage } from "./service/service-page.tsx";
import { SessionPage } from "./session/session-page.tsx";
import { SessionsPage } from "./sessions/sessions-page.tsx";
import { route } from "./state/route.ts";
import { connect, me } from "./state/service.ts";
import { refusal, token } from "./state/token.ts";

/** The whole page: a form that asks for the token, or a header and what the address names. */
export function App() {
  const [failure, setFailure] = useState<ApiError>();
  useSignalEffect(() => {
    if (token.value === undefined) return;
    const leaving = new AbortController();
    setFailure(undefined);
    refusal.value = undefined;
    connect(leaving.signal).catch((thrown: unknown) => {
      if (!leaving.signal.aborted) setFailure(asApiError(thrown));
    });
    return () => leaving.abort();
  });
  if (token.value === undefined) {
    return (
      <>
        <Login reason={refusal.value ?? failure} />
        <OfferedToken />
      </>
    );
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: a link to a part of the page, whose fragment would leave the session */}
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        {failure ? <ErrorBox error={failure} /> : me.value ? <Page /> : <p class="quiet">Connecting…</p>}
      </main>
      <OfferedToken />
    </>
  );
}

/** The fragment says which page is shown, so the link moves the focus by itself. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Page() {
  const now = route.value;
  if (now.page === "service") return <ServicePage />;
  if (now.page === "session") {
    const { id, namespace } = now.session;
    return <SessionPage key={`${namespace}/${id}`} session={now.session} panel={now.panel} />;
  }
  return <SessionsPage />;
}
