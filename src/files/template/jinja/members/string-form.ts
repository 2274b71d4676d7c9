// Methods of str about letters and widths: cases, what kind of characters it has, padding, and format().

import { codePoints, countPoints, isSpace } from '../values/code-points.ts';
import { notImplemented, typeError } from '../values/failure.ts';
import type { Meter } from '../values/meter.ts';
import type { MethodRows } from './method.ts';
import { requireInt, requireText } from '../values/numbers.ts';
import { isPrintable } from '../values/print.ts';
import type { Value } from '../values/values.ts';

const CASED = /[\p{Uppercase}\p{Lowercase}\p{Lt}]/u;

/** First letter of each run of cased letters upper, the others lower. */
function titled(text: string): string {
  let inWord = false;
  let result = '';
  for (const char of text) {
    result += inWord ? char.toLowerCase() : char.toUpperCase();
    inWord = CASED.test(char);
  }
  return result;
}

export function capitalized(text: string): string {
  const [first = ''] = codePoints(text.slice(0, 2));
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

function swapped(text: string): string {
  return codePoints(text)
    .map((char) => (/\p{Uppercase}/u.test(char) ? char.toLowerCase() : char.toUpperCase()))
    .join('');
}

function isTitle(text: string): boolean {
  return CASED.test(text) && titled(text) === text;
}

const every = (pattern: string): ((text: string) => boolean) => {
  const all = new RegExp(`^${pattern}+$`, 'u');
  return (text) => all.test(text);
};
/** Digits that stand alone in a circle, raised, or lowered. */
const DIGIT = '[\\p{Nd}²³¹⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒]';

const PREDICATES: Readonly<Record<string, (text: string) => boolean>> = {
  isalpha: every('\\p{L}'),
  isalnum: every('[\\p{L}\\p{N}]'),
  isdecimal: every('\\p{Nd}'),
  isdigit: every(DIGIT),
  isnumeric: every('\\p{N}'),
  isidentifier: (text) => /^[\p{ID_Start}_]\p{ID_Continue}*$/u.test(text),
  isascii: (text) => /^[\0-\x7f]*$/.test(text),
  isprintable: isPrintable,
  isspace: (text) => text !== '' && codePoints(text).every(isSpace),
  istitle: isTitle,
  islower: isLower,
  isupper: isUpper,
};

export function isLower(text: string): boolean {
  return /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
}

export function isUpper(text: string): boolean {
  return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
}

/** Python's str.isdigit. */
export function isDigits(text: string): boolean {
  return PREDICATES['isdigit']!(text);
}

type Side = 'left' | 'right' | 'both';

/** `side`: where the text stands. */
export function aligned(text: string, width: number, fill: string, side: Side, meter: Meter): string {
  const missing = width - countPoints(text);
  if (missing <= 0) return text;
  if (countPoints(fill) !== 1) throw typeError('The fill character must be exactly one character long');
  meter.make(text.length + missing * fill.length);
  // center() divides an odd number with the larger half on the left where the width is odd, too.
  const left =
    side === 'left' ? 0 : side === 'right' ? missing : Math.floor(missing / 2) + (missing & width & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

function alignment(side: Side): MethodRows<string>[string] {
  return (text, [width, fill], meter) =>
    aligned(text, requireInt(width!), requireText(fill!, meter), side, meter);
}

function zeroFilled(text: string, [width]: readonly Value[], meter: Meter): string {
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  const body = text.slice(sign.length);
  return sign + aligned(body, requireInt(width!) - sign.length, '0', 'right', meter);
}

function withoutTabs(text: string, [size]: readonly Value[], meter: Meter): string {
  const width = requireInt(size!);
  let column = 0;
  let result = '';
  for (const char of text) {
    const missing = char === '\t' ? (width > 0 ? width - (column % width) : 0) : 1;
    if (char === '\t') meter.make(result.length + missing, missing);
    result += char === '\t' ? ' '.repeat(missing) : char;
    column = char === '\n' || char === '\r' ? 0 : column + missing;
  }
  return result;
}

function changed(change: (text: string) => string): MethodRows<string>[string] {
  return (text, _args, meter) => {
    meter.make(text.length);
    return change(text);
  };
}

export const FORM_METHODS: MethodRows<string> = {
  'lower()': changed((text) => text.toLowerCase()),
  'upper()': changed((text) => text.toUpperCase()),
  'casefold()': changed((text) => text.toUpperCase().toLowerCase().replaceAll('ς', 'σ')),
  'title()': changed(titled),
  'capitalize()': changed(capitalized),
  'swapcase()': changed(swapped),
  ...Object.fromEntries(
    Object.entries(PREDICATES).map(([name, holds]): [string, MethodRows<string>[string]] => [
      `${name}()`,
      (text, _args, meter) => {
        meter.read(text.length);
        return holds(text);
      },
    ]),
  ),
  'center(width, fillchar=" ", /)': alignment('both'),
  'ljust(width, fillchar=" ", /)': alignment('left'),
  'rjust(width, fillchar=" ", /)': alignment('right'),
  'zfill(width, /)': zeroFilled,
  'expandtabs(tabsize=8)': withoutTabs,
  'encode(encoding="utf-8", errors="strict")': () => {
    throw notImplemented('str.encode, as there are no bytes,');
  },
  'maketrans(x, y=null, z=null, /)': () => {
    throw notImplemented('str.maketrans');
  },
};
