// The format `regex`: regular expressions that ECMA-262 takes with and without its flag `u`. The language of all of them is not regular;
// this is the part of it with groups nested up to a depth, without names and references of groups, and with ranges and counts that are
// seen to run forwards. Each of its texts is an expression.

/** Groups inside each other. */
const DEPTH = 3;

/** `n,m` with n <= m: of one digit, of two where m begins with a higher one or n ends with 0, or m has more digits. */
const ORDERED_COUNTS = [
  ...Array.from({ length: 10 }, (_, digit) => `${digit},[${digit}-9]`),
  '\\d,[1-9]\\d{1,3}',
  ...Array.from({ length: 9 }, (_, i) => `${i + 1}0,${i + 1}\\d`),
  ...Array.from({ length: 8 }, (_, i) => `${i + 1}\\d,[${i + 2}-9]\\d`),
  '[1-9]\\d,[1-9]\\d{2,3}',
].join('|');
const QUANTIFIER = `(?:[*+?]|\\{(?:(?:0|[1-9]\\d{0,3}),?|${ORDERED_COUNTS})\\})\\??`;

const CATEGORY =
  '(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfno]?|ASCII|Alphabetic|Lowercase|Uppercase|White_Space)';
/** An escape, of one character or of a set of them. */
const ESCAPE = `\\\\(?:[fnrtvdDsSwW^$\\\\.*+?()\\[\\]{}|/]|c[a-zA-Z]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[pP]\\{${CATEGORY}\\})`;

/**
 * Ranges that run forwards: all ranges of digits, ranges of letters that begin with the first letter or end with the last one, and ranges
 * from a sign to `~`.
 */
const RANGES = [
  ...Array.from({ length: 10 }, (_, digit) => `${digit}-[${digit}-9]`),
  'a-[a-z]|[b-z]-z|A-[A-Z]|[B-Z]-Z',
  '[ !"#$%&\'()*+,./:;<=>?@_`{|}]-~',
].join('|');

/** A hyphen stands for itself only at the ends, or escaped. */
const CLASS = `\\[\\^?-?(?:${RANGES}|[^\\\\\\]-]|${ESCAPE}|\\\\-)*-?\\]`;
const ATOM = `[^$^\\\\.*+?()\\[\\]{}|]|\\.|${ESCAPE}|${CLASS}`;
const NO_ATOM = '[|^$]|\\\\[bB]';

/** Alternatives with groups `depth` deep; `more`: what else they may hold. */
function expression(depth: number, more = ''): string {
  const group = depth === 0 ? '' : `|\\((?:\\?:)?${expression(depth - 1)}\\)`;
  return `(?:${NO_ATOM}${more}|(?:${ATOM}${group})(?:${QUANTIFIER})?)*`;
}

/** Look-around stands outside of groups and is not repeated. */
export const REGEX_FORMAT = expression(DEPTH, `|\\(\\?<?[=!]${expression(0)}\\)`);
