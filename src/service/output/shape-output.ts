import { quotedName } from "../../lib/quoted-name.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import { type Collapsed, collapseRepeats } from "./collapse-repeats.ts";
import { cutMiddle, longestMarker } from "./cut-middle.ts";
import { imitationNote, markImitations } from "./mark-imitations.ts";
import { outputText } from "./output-text.ts";
import { readableLine, readableText } from "./readable-text.ts";
import { shareBudget } from "./share-budget.ts";
import { stateLeft } from "./state-left.ts";

/** The maximum length of a shaped text. */
export interface ShapeBudget {
  /** characters (UTF-16 units) of the whole shaped text, markers included */
  readonly characters: number;
}

/** The minimum room for status, labels and markers, even if the budget is smaller. */
export const maxFrameCharacters = 2_000;

const maxTypeCharacters = 200;
const maxNoteCharacters = 600;

/** The parts of a shaped text, most important first. */
export type SectionName = "error" | "notes" | "traceback" | "value" | "stdout" | "stderr";

/** One part of a shaped text, as data; `renderShaped` adds the labels. */
export interface ShapedSection {
  readonly name: SectionName;
  /** the visible text, with a marker where it is truncated and a line about what the run's own limit dropped */
  readonly text: string;
  /** the visible text before and after the marker; if nothing is truncated, all of it is in `head` */
  readonly head: string;
  readonly tail: string;
  /** length of the readable text, of which `leftOut` is not shown; collapsed repeats count as shown */
  readonly characters: number;
  readonly leftOut: number;
}

/** Texts that were truncated to a budget. */
export interface ShapedText {
  /** most important first */
  readonly sections: readonly ShapedSection[];
  /** whether a section is truncated; this does not include what the run's own limits dropped */
  readonly isCut: boolean;
}

/** A result as a model sees it. */
export interface ShapedResult extends ShapedText {
  readonly status: RunResult["status"];
  /** the line about how the run ended */
  readonly ending: string;
  /** class of the error; its message is the section `error` */
  readonly errorType: string | undefined;
  /** to page and search the full text */
  readonly handle: string | undefined;
}

/**
 * A result as a model sees it: the status and the error first, then the value and the output, each truncated to its share
 * of the budget. `renderShaped` marks lines of a program that look like labels.
 */
export function shapeResult(result: RunResult, budget: ShapeBudget, handle?: string): ShapedResult {
  const { error, notes } = result;
  const ending = endingLine(result);
  const errorType = error && shortType(error.name);
  const headline = error ? `${error.name}: ${error.message}` : "";
  const shaped = shape(
    ending.length,
    [
      ...(error ? [{ ...styles.error, raw: error.message, label: labelOf("error", errorType) }] : []),
      // a note is a sentence of ours, but it may name what a program chose
      ...section("notes", notes.map((note) => `- ${readableLine(note, maxNoteCharacters)}`).join("\n")),
      ...section("traceback", withoutHeadline(error?.traceback ?? "", headline)),
      ...section("value", result.value ?? ""),
      ...section("stdout", outputText(result), lostOutput(result, "stdout")),
      ...section("stderr", result.stderr, lostOutput(result, "stderr")),
    ],
    budget,
    handle,
  );
  return { ...shaped, status: result.status, ending, errorType, handle };
}

/** The text of a shaped result, or of output so far, for a model. Programs read `sections` instead of parsing it. */
export function renderShaped(shaped: ShapedText | ShapedResult): string {
  const { ending, errorType } = { ending: "", errorType: undefined, ...shaped };
  const parts = shaped.sections.map((section) => ({ label: labelOf(section.name, errorType), ...marked(section) }));
  const isMarked = parts.some((part) => part.isMarked);
  const first = isMarked && ending !== "" ? `${ending} · ${imitationNote}` : ending;
  return [first, ...parts.map(({ label, text }) => `${label}${text}`)].filter((part) => part !== "").join("\n");
}

/** What a program wrote is before and after our marker, and before our line about dropped output. */
function marked({ name, text, head, tail }: ShapedSection): { readonly text: string; readonly isMarked: boolean } {
  if (name === "notes") return { text, isMarked: false };
  const tailAt = tail === "" ? text.length : text.lastIndexOf(tail);
  const ours = [text.slice(head.length, tailAt), text.slice(tailAt + tail.length)];
  const safe = `${markImitations(head)}${ours[0]}${markImitations(tail)}${ours[1]}`;
  return { text: safe, isMarked: safe !== text };
}

/** The visible text of a section; empty if there is no such section. */
export function shownText({ sections }: ShapedText, name: SectionName): string {
  return sections.find((section) => section.name === name)?.text ?? "";
}

/** The output of a run that is still running. */
export function shapeStreams(
  streams: { readonly stdout: string; readonly stderr: string },
  budget: ShapeBudget,
  handle?: string,
): ShapedText {
  const sources = [...section("stdout", streams.stdout), ...section("stderr", streams.stderr)];
  return shape(0, sources, budget, handle);
}

/** How a section is truncated. A reader needs the end of a traceback and of a log, and the beginning of a value. */
interface SectionStyle {
  readonly name: SectionName;
  /** its share if the budget is too small for all */
  readonly weight: number;
  readonly headShare: number;
  /** whether the rest can be read by a handle */
  readonly isKept: boolean;
}

const styles = {
  error: { name: "error", weight: 4, headShare: 0.7, isKept: false },
  notes: { name: "notes", weight: 1, headShare: 0.7, isKept: false },
  traceback: { name: "traceback", weight: 5, headShare: 0.25, isKept: true },
  value: { name: "value", weight: 4, headShare: 0.7, isKept: true },
  stdout: { name: "stdout", weight: 3, headShare: 0.5, isKept: true },
  stderr: { name: "stderr", weight: 2, headShare: 0.3, isKept: true },
} as const satisfies Record<SectionName, SectionStyle>;

interface SectionSource extends SectionStyle {
  readonly raw: string;
  readonly label: string;
  /** the line about what the run's own limit dropped */
  readonly lost?: string | undefined;
}

/** Empty sections are omitted: most results have only one or two. */
function section(name: SectionName, raw: string, lost?: string): SectionSource[] {
  return raw === "" && lost === undefined ? [] : [{ ...styles[name], raw, label: labelOf(name), lost }];
}

function shape(top: number, sources: readonly SectionSource[], budget: ShapeBudget, handle?: string): ShapedText {
  const prepared = sources.map((source) => prepare(source, handle));
  const frame = top + prepared.reduce((sum, one) => sum + one.frameCharacters, 0);
  const shares = sharesOf(prepared, budget.characters - frame);
  const sections = prepared.map((one, index) => cutSection(one, shares[index] ?? 0));
  return { sections, isCut: sections.some((section) => section.leftOut > 0) };
}

/** The room for each section. Most results fit, and then no budget has to be split. */
function sharesOf(prepared: readonly PreparedSection[], room: number): number[] {
  const needs = prepared.map(({ collapsed }) => collapsed.text.length);
  if (needs.reduce((sum, need) => sum + need, 0) <= room) return needs;
  const claims = prepared.map(({ source, collapsed, marker }, index) => {
    const need = needs[index] ?? 0;
    return { need, floor: Math.min(need, longestMarker(collapsed, marker)), weight: source.weight };
  });
  return shareBudget(claims, room);
}

interface PreparedSection {
  readonly source: SectionSource;
  readonly collapsed: Collapsed;
  readonly marker: (leftOut: number, offset: number) => string;
  readonly frameCharacters: number;
}

function prepare(source: SectionSource, handle: string | undefined): PreparedSection {
  const collapsed = collapseRepeats(readableText(source.raw));
  const marker = (leftOut: number, offset: number) => {
    const canReadRest = handle !== undefined && source.isKept;
    const remedy = canReadRest ? `; read them with handle ${handle} (${source.name}, offset ${offset})` : "";
    return `… ${formatCount(leftOut)} of ${formatCount(collapsed.originalLength)} characters left out${remedy} …`;
  };
  // three line ends: after the text, after the line about dropped output, and between sections
  const frameCharacters = source.label.length + (source.lost?.length ?? 0) + 3;
  return { source, collapsed, marker, frameCharacters };
}

function cutSection({ source, collapsed, marker }: PreparedSection, room: number): ShapedSection {
  const cut = cutMiddle(collapsed, { room, headShare: source.headShare, marker });
  const body = cut.text === "" || cut.text.endsWith("\n") || !source.lost ? cut.text : `${cut.text}\n`;
  return {
    name: source.name,
    text: `${body}${source.lost ?? ""}`,
    head: cut.head,
    tail: cut.tail,
    characters: collapsed.originalLength,
    leftOut: cut.leftOut,
  };
}

/** The error message follows its class on one line, directly below the status. A class can have any text as its name. */
function labelOf(name: SectionName, errorType = ""): string {
  return name === "error" ? `${quotedName(errorType, maxTypeCharacters)}: ` : `[${name}]\n`;
}

/** A program chooses the names of its classes, so they can be long or unreadable. */
function shortType(name: string): string {
  return readableText(name)
    .slice(0, maxTypeCharacters)
    .replace(/[\ud800-\udbff]$/, "");
}

function endingLine(result: RunResult): string {
  const streams = ["stdout", "stderr"] as const;
  const isExplained = streams.some((stream) => lostOutput(result, stream) !== undefined);
  const parts = [
    `status: ${result.status}`,
    ...(result.exitCode ? [`exit code ${result.exitCode}`] : []),
    `${Math.round(result.durationMs)} ms`,
    ...stateLeft(result),
    ...(result.truncated && !isExplained ? ["truncated by the run's output limit"] : []),
  ];
  return parts.join(" · ");
}

/** The kernel sends only the first and the last bytes of a long output, but counts all of them. */
function lostOutput(result: RunResult, stream: "stdout" | "stderr"): string | undefined {
  const leftOut = result.leftOutBytes[stream];
  if (leftOut === 0) return undefined;
  const writtenBytes = stream === "stdout" ? result.stdoutBytes : result.stderrBytes;
  return `… ${stream} had ${formatCount(writtenBytes)} bytes; ${formatCount(leftOut)} in the middle were not kept …`;
}

/** The last line of a traceback is already shown at the top. */
function withoutHeadline(traceback: string, headline: string): string {
  const trimmed = traceback.trimEnd();
  return headline !== "" && trimmed.endsWith(headline) ? trimmed.slice(0, -headline.length).trimEnd() : trimmed;
}

function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}
