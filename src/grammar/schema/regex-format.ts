// The format `regex`: regular expressions that are valid in ECMA-262 with and without the flag `u`. That language is not regular. This is
// the subset with groups nested up to a depth, without named groups and back-references, and with only such ranges and counts whose
// ascending order a regular expression can check.

/** Limit on the depth of nested groups. */
const DEPTH = 3;

/** `n,m` with n <= m: one digit each; two digits each, where m begins with a higher one or n ends with 0; or m has more digits. */
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
/** An escape of one character or of a set. */
const ESCAPE = `\\\\(?:[fnrtvdDsSwW^$\\\\.*+?()\\[\\]{}|/]|c[a-zA-Z]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[pP]\\{${CATEGORY}\\})`;

/** Ascending ranges: of digits, of letters from the first one or to the last one, and from a punctuation mark to `~`. */
const RANGES = [
  ...Array.from({ length: 10 }, (_, digit) => `${digit}-[${digit}-9]`),
  'a-[a-z]|[b-z]-z|A-[A-Z]|[B-Z]-Z',
  '[ !"#$%&\'()*+,./:;<=>?@_`{|}]-~',
].join('|');

/** A hyphen is a literal only at the ends of a class, or escaped. */
const CLASS = `\\[\\^?-?(?:${RANGES}|[^\\\\\\]-]|${ESCAPE}|\\\\-)*-?\\]`;
const ATOM = `[^$^\\\\.*+?()\\[\\]{}|]|\\.|${ESCAPE}|${CLASS}`;
const NO_ATOM = '[|^$]|\\\\[bB]';

/** Grammar of alternatives whose groups nest up to `depth` levels; `more`: further alternatives of an atom. */
function expression(depth: number, more = ''): string {
  const group = depth === 0 ? '' : `|\\((?:\\?:)?${expression(depth - 1)}\\)`;
  return `(?:${NO_ATOM}${more}|(?:${ATOM}${group})(?:${QUANTIFIER})?)*`;
}

/** Look-around assertions are accepted only outside of groups and without a quantifier. */
export const REGEX_FORMAT = expression(DEPTH, `|\\(\\?<?[=!]${expression(0)}\\)`);
