/** How a piece of terminal output looks. Styles are interned: equal ones are the same object. */
export interface AnsiStyle {
  /** classes of ansi.css, such as `bold fg-1` */
  readonly classes: string;
  /** only for colours that have no class, such as `#ff8700`; set as properties, never as an attribute */
  readonly color: string | undefined;
  readonly background: string | undefined;
}

export const plainStyle: AnsiStyle = { classes: "", color: undefined, background: undefined };

/** 0 to 15: the colours that the page's theme chooses; text: any other colour */
type Colour = number | string;

interface Attributes {
  readonly flags: ReadonlySet<string>;
  readonly fg: Colour | undefined;
  readonly bg: Colour | undefined;
}

const noAttributes: Attributes = { flags: new Set(), fg: undefined, bg: undefined };
const flagOf: Readonly<Record<number, string>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "struck",
};
const endOf: Readonly<Record<number, readonly string[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["struck"],
};
const maxParameters = 32;
const maxStyles = 4096;

/** The style that `ESC [ … m` sequences add up to. */
export class AnsiPen {
  #now = noAttributes;
  style: AnsiStyle = plainStyle;

  /** Takes the parameters of one sequence, such as `1;38;5;208`. What it does not know is ignored. */
  set(parameters: string): void {
    const numbers = parameters.split(/[;:]/, maxParameters).map((text) => (text === "" ? 0 : Number(text)));
    let { fg, bg } = this.#now;
    let flags = new Set(this.#now.flags);
    for (let at = 0; at < numbers.length; at++) {
      const code = numbers[at] ?? 0;
      const flag = flagOf[code];
      if (code === 0) [fg, bg, flags] = [undefined, undefined, new Set()];
      else if (flag !== undefined) flags.add(flag);
      else if (endOf[code]) for (const ended of endOf[code]) flags.delete(ended);
      else if (code === 39) fg = undefined;
      else if (code === 49) bg = undefined;
      else if (code === 38 || code === 48) {
        const { colour, taken } = extendedColour(numbers, at + 1);
        at += taken;
        if (code === 38) fg = colour ?? fg;
        else bg = colour ?? bg;
      } else if (code >= 30 && code <= 37) fg = code - 30;
      else if (code >= 90 && code <= 97) fg = code - 82;
      else if (code >= 40 && code <= 47) bg = code - 40;
      else if (code >= 100 && code <= 107) bg = code - 92;
    }
    this.#now = { flags, fg, bg };
    this.style = styleOf(this.#now);
  }
}

/** What follows 38 or 48: `5;N` or `2;R;G;B`. */
function extendedColour(numbers: readonly number[], from: number): { colour: Colour | undefined; taken: number } {
  const [kind, ...rest] = numbers.slice(from, from + 4);
  if (kind === 5) return { colour: indexedColour(rest[0]), taken: 2 };
  if (kind === 2) return { colour: hexColour(rest), taken: 4 };
  return { colour: undefined, taken: 1 };
}

function indexedColour(index = 0): Colour | undefined {
  if (!isByte(index)) return undefined;
  if (index < 16) return index;
  if (index >= 232) return hexColour(new Array(3).fill(8 + (index - 232) * 10));
  const steps = [0, 95, 135, 175, 215, 255];
  const cube = index - 16;
  return hexColour([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => steps[step] ?? 0));
}

function hexColour(parts: readonly number[]): string | undefined {
  if (parts.length !== 3 || !parts.every(isByte)) return undefined;
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function isByte(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 255;
}

const known = new Map<string, AnsiStyle>();

function styleOf({ flags, fg, bg }: Attributes): AnsiStyle {
  const isInverse = flags.has("inverse");
  const [front, back] = isInverse ? [bg, fg] : [fg, bg];
  const classes = [...flags].sort().filter((flag) => flag !== "inverse" || (fg === undefined && bg === undefined));
  if (isInverse && classes.length === 0 && front === undefined) classes.push("on-colour");
  if (typeof front === "number") classes.push(`fg-${front}`);
  if (typeof back === "number") classes.push(`bg-${back}`);
  const color = typeof front === "string" ? front : undefined;
  const background = typeof back === "string" ? back : undefined;
  const key = `${classes.join(" ")}|${color}|${background}`;
  const style = known.get(key) ?? { classes: classes.join(" "), color, background };
  if (known.size > maxStyles) known.clear();
  known.set(key, style);
  return style;
}
