import { offered, token } from "../state/token.ts";
import { Modal } from "./dialog/modal.tsx";

/** Asks whether to use the token of a link instead of the one that this tab has. */
export function OfferedToken() {
  const given = offered.value;
  if (given === undefined) return null;
  const answer = (isYes: boolean | undefined) => {
    offered.value = undefined;
    if (isYes === true) token.value = given;
  };
  return (
    <Modal<boolean> title="Switch to another token?" onClose={answer}>
      {(close) => (
        <>
          <p>
            The link that you opened has another token than this tab. Switch only if the link is yours: whoever made it
            can see what you run and upload with its token.
          </p>
          <div class="choices">
            <button type="button" class="primary" onClick={() => close(false)}>
              Keep the current token
            </button>
            <button type="button" onClick={() => close(true)}>
              Switch
            </button>
          </div>
        </>
      )}
    </Modal>
  );
}
