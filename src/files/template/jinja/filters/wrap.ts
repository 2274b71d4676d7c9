// Lines of a width, as Python's textwrap.wrap breaks a paragraph: at white space, behind hyphens between letters, and within words that
// are longer than a line.

import { codePoints, countPoints } from '../values/code-points.ts';
import { valueError } from '../values/failure.ts';
import type { Meter } from '../values/meter.ts';

interface Wrapping {
  width: number;
  breakLong: boolean;
  onHyphens: boolean;
}

const BLANK = '[\\t\\n\\v\\f\\r ]';
const CHUNKS = new RegExp(`${BLANK}+|[^\\t\\n\\v\\f\\r ]+`, 'g');
/** A place behind a hyphen between two letters on its left and two on its right. */
const HYPHEN = /(?<=[\p{L}_]{2}-)(?=[\p{L}_]{2})/u;
/** How often a line that breaks a word costs as much as reading it. */
const WORD_READS = 10;
const ALL_BLANK = new RegExp(`^${BLANK}+$`);

export function wrapText(text: string, { width, breakLong, onHyphens }: Wrapping, meter: Meter): string[] {
  if (width <= 0) throw valueError(`invalid width ${width} (must be > 0)`);
  const chunks = (text.match(CHUNKS) ?? []).flatMap((chunk) => (onHyphens ? chunk.split(HYPHEN) : [chunk]));
  meter.hold(chunks.length * 2);
  const queue = chunks.toReversed();
  const lines: string[] = [];
  while (queue.length > 0) {
    // A word that no line holds is gone through for each line that it fills.
    meter.read(queue.at(-1)!.length * WORD_READS);
    if (lines.length > 0 && ALL_BLANK.test(queue.at(-1)!)) queue.pop();
    const line: string[] = [];
    let length = 0;
    while (queue.length > 0 && length + countPoints(queue.at(-1)!) <= width) {
      length += countPoints(queue.at(-1)!);
      line.push(queue.pop()!);
    }
    if (queue.length > 0 && countPoints(queue.at(-1)!) > width)
      breakWord(queue, line, width - length, breakLong);
    if (line.length > 0 && ALL_BLANK.test(line.at(-1)!)) line.pop();
    if (line.length > 0) lines.push(line.join(''));
  }
  return lines;
}

/** Puts as much of a word that no line holds on this one, or all of it on a line of its own. */
function breakWord(queue: string[], line: string[], space: number, breakLong: boolean): void {
  const word = queue.at(-1)!;
  if (breakLong) {
    const points = codePoints(word);
    const count = Math.max(1, space);
    line.push(points.slice(0, count).join(''));
    queue[queue.length - 1] = points.slice(count).join('');
  } else if (line.length === 0) line.push(queue.pop()!);
}
