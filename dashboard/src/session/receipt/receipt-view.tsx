import { useState } from "preact/hooks";
import type { WireReceipt } from "../../../../src/service/wire/receipt.ts";
import { CopyButton } from "../../parts/text/copy-button.tsx";
import { plural } from "../../parts/text/format.ts";
import { shownName } from "../../parts/text/shown-name.ts";
import { chosenRules, isEnforced, type ReceiptRule, splitNotes } from "./receipt-rows.ts";

/** A receipt, rule by rule. */
export function ReceiptView({ receipt }: { receipt: WireReceipt }) {
  const [search, setSearch] = useState("");
  const [isOpenOnly, setOpenOnly] = useState(false);
  const rules = chosenRules(receipt.rules, search, isOpenOnly);
  const open = receipt.rules.filter((rule) => !isEnforced(rule)).length;
  return (
    <>
      <dl class="card receipt-facts">
        <dt>Runner</dt>
        <dd>
          {shownName(receipt.runner)} <span class="quiet">{shownName(receipt.runner_version, 100)}</span>
        </dd>
        <dt>Rules</dt>
        <dd>
          <span class="badge ok">{receipt.rules.length - open} enforced</span>{" "}
          {open > 0 ? <span class="badge bad">{open} not enforced</span> : null}
        </dd>
        <dt>Network</dt>
        <dd>{networkText(receipt.network)}</dd>
        <dt>Policy</dt>
        <dd>
          <code class="any-text">{receipt.policy_hash}</code>
        </dd>
      </dl>
      <Notes notes={receipt.notes} />
      <div class="panel-bar">
        <input
          type="search"
          aria-label="Filter rules"
          placeholder="Filter rules"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <label>
          <input type="checkbox" checked={isOpenOnly} onChange={(event) => setOpenOnly(event.currentTarget.checked)} />{" "}
          Only what is not enforced
        </label>
        <span class="quiet grows" role="status">
          {plural(rules.length, "rule")}
        </span>
        <CopyButton label="Copy as JSON" text={() => JSON.stringify(receipt, null, 2)} />
      </div>
      {rules.length === 0 ? (
        <p class="quiet">
          {isOpenOnly && open === 0 ? "Every rule of the policy is enforced." : "No rule matches the filter."}
        </p>
      ) : (
        <RuleTable rules={rules} />
      )}
    </>
  );
}

function RuleTable({ rules }: { rules: readonly ReceiptRule[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable with the keyboard
    <section class="scroll-x" tabIndex={0} aria-label="Rules">
      <table class="receipt-rules">
        <thead>
          <tr>
            <th>Rule</th>
            <th>Value</th>
            <th>Enforced by</th>
            <th>Status</th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <tr key={rule.rule}>
              <td>
                <code>{shownName(rule.rule)}</code>
              </td>
              <td class="any-text">{shownName(rule.value, 400)}</td>
              <td class="any-text">
                {shownName(rule.by)}
                <div class="quiet">{shownName(rule.how, 400)}</div>
              </td>
              <td>
                {isEnforced(rule) ? (
                  <span class="badge ok">enforced</span>
                ) : (
                  <span class="badge bad">not enforced</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Notes({ notes }: { notes: readonly string[] }) {
  const { skipped, others } = splitNotes(notes);
  return (
    <>
      {skipped.length > 0 ? (
        <section class="card">
          <h2>Stronger runners that were skipped</h2>
          <ul>
            {skipped.map(({ runner, reason }) => (
              <li key={runner} class="any-text">
                <strong>{runner}</strong>: {shownName(reason, 500)}
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {others.length > 0 ? (
        <section class="card">
          <h2>Notes</h2>
          <ul>
            {others.map((note) => (
              <li key={note} class="any-text">
                {shownName(note, 500)}
              </li>
            ))}
          </ul>
        </section>
      ) : null}
    </>
  );
}

function networkText(network: WireReceipt["network"]): string {
  if (!network) return "none";
  const how = network.carrier === "listener" ? "through the cell's own socket" : "through the cell's channel";
  return `${how}${network.reason === null ? "" : ` (${shownName(network.reason, 200)})`}`;
}
