import { useState } from "preact/hooks";
import { getJson } from "../api/client.ts";
import { Modal } from "../parts/dialog/modal.tsx";
import { ErrorBox } from "../parts/error-box.tsx";
import { useAction } from "../parts/load/use-action.ts";
import { hrefOf } from "../state/route.ts";

/** A button that asks for a name, makes a session and opens it. */
export function NewSession() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        New session
      </button>
      {isOpen ? <NewSessionForm onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function NewSessionForm({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const { run, isBusy, error } = useAction();
  const create = () =>
    run(async (signal) => {
      const json = name.trim() === "" ? {} : { session_id: name.trim() };
      const { session_id: id } = await getJson<{ session_id: string }>("/v1/sessions", {
        method: "POST",
        json,
        signal,
      });
      location.hash = hrefOf({ page: "session", session: { id }, panel: "timeline" });
    });
  return (
    <Modal title="New session" onClose={onClose}>
      {(close) => (
        <form
          class="new-session"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <label for="session-name">Name</label>
          <input
            id="session-name"
            value={name}
            maxLength={64}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="session-name-help"
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <p class="quiet" id="session-name-help">
            Letters, digits, dot, dash and underscore. Without a name, the service chooses one.
          </p>
          {error ? <ErrorBox error={error} /> : null}
          <div class="actions">
            <button type="button" onClick={() => close()}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={isBusy}>
              {isBusy ? "Starting…" : "Create"}
            </button>
          </div>
        </form>
      )}
    </Modal>
  );
}
