import { hrefOf, route } from "../state/route.ts";
import { connection, me } from "../state/service.ts";
import { nextTheme, theme } from "../state/theme.ts";
import { token } from "../state/token.ts";

const themeNames = { system: "System theme", light: "Light theme", dark: "Dark theme" };

export function Header() {
  const { page } = route.value;
  return (
    <header class="top">
      <a class="brand" href={hrefOf({ page: "sessions" })}>
        codecell
      </a>
      <nav aria-label="Pages">
        <a href={hrefOf({ page: "sessions" })} aria-current={page === "service" ? undefined : "page"}>
          Sessions
        </a>
        <a href={hrefOf({ page: "service" })} aria-current={page === "service" ? "page" : undefined}>
          Service
        </a>
      </nav>
      <ConnectionState />
      <button type="button" class="plain" onClick={nextTheme}>
        {themeNames[theme.value]}
      </button>
      <span class="quiet who">{me.value?.token}</span>
      <button
        type="button"
        class="plain"
        onClick={() => {
          token.value = undefined;
        }}
      >
        Sign out
      </button>
    </header>
  );
}

/** Whether the page is live. Screen readers announce a change. */
function ConnectionState() {
  const now = connection.value;
  const text = now.state === "live" ? "Live" : now.state === "connecting" ? "Connecting…" : "Reconnecting…";
  const title = now.state === "waiting" ? now.error.message : "Events of the service arrive as they happen";
  return (
    <span class={`connection ${now.state}`} role="status" title={title}>
      {text}
    </span>
  );
}
