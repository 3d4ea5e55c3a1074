/**
 * A program that no interrupt ends: it stays in one call of C, which does not look for signals. A loop that catches the interrupt would
 * end if it came between two rounds.
 */
export const stubborn = "import itertools\nsum(itertools.repeat(0))";
