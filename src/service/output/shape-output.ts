import type { RunResult } from "../../sessions/runs/run.ts";
import { type Collapsed, collapseRepeats } from "./collapse-repeats.ts";
import { cutMiddle, longestMarker } from "./cut-middle.ts";
import { readableText } from "./readable-text.ts";
import { shareBudget } from "./share-budget.ts";

/** How long a shaped text may get. */
export interface ShapeBudget {
  /** characters (UTF-16 units) of the whole shaped text, markers included */
  readonly characters: number;
}

/** What a shaped text may take when its budget is smaller: status, labels and markers. */
export const maxFrameCharacters = 2_000;

const maxTypeCharacters = 200;

/** The parts of a shaped text, in the order of their worth. */
export type SectionName = "error" | "notes" | "traceback" | "value" | "stdout" | "stderr" | "displays";

/** One part of a shaped text, as data: `renderShaped` puts the labels. */
export interface ShapedSection {
  readonly name: SectionName;
  /** what is shown, with a marker where it is cut and the line about what the run's own limit dropped */
  readonly text: string;
  /** what of the readable text is shown before and after the cut; all of it is in `head` when nothing is cut */
  readonly head: string;
  readonly tail: string;
  /** length of the readable text, of which `leftOut` is not shown; lines said once for many count as shown */
  readonly characters: number;
  readonly leftOut: number;
}

/** Texts that were cut to a budget. */
export interface ShapedText {
  /** most important first */
  readonly sections: readonly ShapedSection[];
  /** whether a section is cut; what the run's own limits dropped is said in the text and not meant here */
  readonly isCut: boolean;
}

/** A result as a model sees it. */
export interface ShapedResult extends ShapedText {
  readonly status: RunResult["status"];
  /** the line that says how the run ended */
  readonly ending: string;
  /** class of the error; its message is the section `error` */
  readonly errorType: string | undefined;
  /** where the full text can be paged and searched */
  readonly handle: string | undefined;
}

/**
 * A result as a model sees it: how it ended and the error first, then the value and the output, each cut to its part of
 * the budget. Sections come from the cell and may imitate this frame; `sections` and `status` cannot be imitated.
 */
export function shapeResult(result: RunResult, budget: ShapeBudget, handle?: string): ShapedResult {
  const { error, notes, displays } = result;
  const ending = endingLine(result);
  const errorType = error && shortType(error.name);
  const headline = error ? `${error.name}: ${error.message}` : "";
  const shaped = shape(
    ending.length,
    [
      ...(error ? [{ ...styles.error, raw: error.message, label: labelOf("error", errorType) }] : []),
      ...section("notes", notes.map((note) => `- ${note}`).join("\n")),
      ...section("traceback", withoutHeadline(error?.traceback ?? "", headline)),
      ...section("value", result.value ?? ""),
      ...section("stdout", result.stdout, lostOutput(result, "stdout")),
      ...section("stderr", result.stderr, lostOutput(result, "stderr")),
      ...section("displays", displays.map((one) => `${one.mime}, ${said(one.data.byteLength)} bytes`).join("\n")),
    ],
    budget,
    handle,
  );
  return { ...shaped, status: result.status, ending, errorType, handle };
}

/** The text of a shaped result, or of output so far, for a model. Nothing reads it back: `sections` are the data. */
export function renderShaped(shaped: ShapedText | ShapedResult): string {
  const { ending, errorType } = { ending: "", errorType: undefined, ...shaped };
  const parts = shaped.sections.map(({ name, text }) => `${labelOf(name, errorType)}${text}`);
  return [ending, ...parts].filter((part) => part !== "").join("\n");
}

/** What is shown of one section; nothing where there is none. */
export function shownText({ sections }: ShapedText, name: SectionName): string {
  return sections.find((section) => section.name === name)?.text ?? "";
}

/** The output of a run that still goes on. */
export function shapeStreams(
  streams: { readonly stdout: string; readonly stderr: string },
  budget: ShapeBudget,
  handle?: string,
): ShapedText {
  const sources = [...section("stdout", streams.stdout), ...section("stderr", streams.stderr)];
  return shape(0, sources, budget, handle);
}

/** How a section is cut. A reader needs the end of a traceback and of a log, and the beginning of a value. */
interface SectionStyle {
  readonly name: SectionName;
  /** its part of a budget that is too small for all */
  readonly weight: number;
  readonly headShare: number;
  /** whether a handle leads to the rest of it */
  readonly isKept: boolean;
}

const styles = {
  error: { name: "error", weight: 4, headShare: 0.7, isKept: false },
  notes: { name: "notes", weight: 1, headShare: 0.7, isKept: false },
  traceback: { name: "traceback", weight: 5, headShare: 0.25, isKept: true },
  value: { name: "value", weight: 4, headShare: 0.7, isKept: true },
  stdout: { name: "stdout", weight: 3, headShare: 0.5, isKept: true },
  stderr: { name: "stderr", weight: 2, headShare: 0.3, isKept: true },
  displays: { name: "displays", weight: 1, headShare: 0.7, isKept: false },
} as const satisfies Record<SectionName, SectionStyle>;

interface SectionSource extends SectionStyle {
  readonly raw: string;
  readonly label: string;
  /** the line that says what the run's own limit dropped */
  readonly lost?: string | undefined;
}

/** Nothing for what is empty: most results have one section or two. */
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

/** What each section may take; most results fit whole, and then nothing has to be shared. */
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
    const where = handle !== undefined && source.isKept;
    const remedy = where ? `; read them with handle ${handle} (${source.name}, offset ${offset})` : "";
    return `… ${said(leftOut)} of ${said(collapsed.originalLength)} characters left out${remedy} …`;
  };
  // the line ends: one after the text, one after what was lost, one between sections
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

/** The error stands right under the status, behind its class. */
function labelOf(name: SectionName, errorType = ""): string {
  return name === "error" ? `${errorType}: ` : `[${name}]\n`;
}

/** The name of a class may be anything. */
function shortType(name: string): string {
  return readableText(name)
    .slice(0, maxTypeCharacters)
    .replace(/[\ud800-\udbff]$/, "");
}

function endingLine(result: RunResult): string {
  const lostAnything = ["stdout", "stderr"] as const;
  const isExplained = lostAnything.some((stream) => lostOutput(result, stream) !== undefined);
  const parts = [
    `status: ${result.status}`,
    ...(result.exitCode ? [`exit code ${result.exitCode}`] : []),
    `${Math.round(result.durationMs)} ms`,
    ...(result.state === "recovered" ? [`variables are those after run ${result.recoveredTo ?? "?"}`] : []),
    ...(result.state === "lost" ? ["variables are lost"] : []),
    ...(result.truncated && !isExplained ? ["truncated by the run's output limit"] : []),
  ];
  return parts.join(" · ");
}

/** The kernel sends the first `proc.output` bytes of a run and counts the rest. */
function lostOutput(result: RunResult, stream: "stdout" | "stderr"): string | undefined {
  if (!result.truncated) return undefined;
  const trueBytes = stream === "stdout" ? result.stdoutBytes : result.stderrBytes;
  const keptBytes = Buffer.byteLength(result[stream]);
  if (trueBytes <= keptBytes) return undefined;
  return `… ${stream} had ${said(trueBytes)} bytes; only the first ${said(keptBytes)} were kept …`;
}

/** A traceback ends with the line that already stands at the top. */
function withoutHeadline(traceback: string, headline: string): string {
  const trimmed = traceback.trimEnd();
  return headline !== "" && trimmed.endsWith(headline) ? trimmed.slice(0, -headline.length).trimEnd() : trimmed;
}

function said(count: number): string {
  return count.toLocaleString("en-US");
}
