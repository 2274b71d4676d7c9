// The formats of JSON Schema, and pydantic's formats of addresses, as DFAs. Draft 2020-12 makes every format an annotation; here the known
// ones are enforced or refused, since a schema that names one expects it to hold, and unknown ones are annotations.

import { ANY_TEXT, intersect, lengthBetween, type Dfa, type Limits } from '../automata/dfa.ts';
import { regexDfa } from '../automata/regex.ts';
import { REGEX_FORMAT } from './regex-format.ts';

interface Format {
  pattern: string;
  /** Most characters. */
  max?: number;
}

// RFC 3339. February has its 29th day in leap years: those whose number, or whose century for the years ending in 00, is a
// multiple of four.
const LEAP = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DATE =
  '(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))' +
  `|${LEAP}-02-29)`;
const ZONE = '(?:[zZ]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?';
/** A leap second is 23:59:60 in UTC, and is written here in that zone alone. */
const TIME = `(?:${CLOCK}${ZONE}|23:59:60(?:\\.\\d{1,9})?(?:[zZ]|[+-]00:00))`;

const TIME_PART = 'T(?:\\d{1,9}H(?:\\d{1,9}M(?:\\d{1,9}S)?)?|\\d{1,9}M(?:\\d{1,9}S)?|\\d{1,9}S)';
const DURATION =
  `P(?:\\d{1,9}W|${TIME_PART}` +
  `|(?:\\d{1,9}Y(?:\\d{1,9}M(?:\\d{1,9}D)?)?|\\d{1,9}M(?:\\d{1,9}D)?|\\d{1,9}D)(?:${TIME_PART})?)`;

const OCTET = '(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])';
const IPV4 = `${OCTET}(?:\\.${OCTET}){3}`;
const H16 = '[0-9a-fA-F]{1,4}';
const LS32 = `(?:${H16}:${H16}|${IPV4})`;
const IPV6 = [
  `(?:${H16}:){6}${LS32}`,
  `::(?:${H16}:){5}${LS32}`,
  ...[4, 3, 2, 1, 0].map((count, i) => `(?:${upTo(i)})?::(?:${H16}:){${count}}${LS32}`),
  `(?:${upTo(5)})?::${H16}`,
  `(?:${upTo(6)})?::`,
].join('|');

/** An address with the prefix length of its network. */
const IPV4_INTERFACE = `${IPV4}(?:/(?:[12]?\\d|3[0-2]))?`;
const IPV6_INTERFACE = `(?:${IPV6})(?:/(?:[1-9]?\\d|1[01]\\d|12[0-8]))?`;

/** Pattern of 1 to count + 1 groups. */
function upTo(count: number): string {
  return `(?:${H16}:){0,${count}}${H16}`;
}

const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const HOSTNAME = `${LABEL}(?:\\.${LABEL})*`;
const ATOM = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+";
const QUOTED = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*"';
/** The length is not bounded, since the automaton would have tens of thousands of states. */
const LOCAL = `(?:${ATOM}(?:\\.${ATOM})*|${QUOTED})`;
/** Only the labels are bounded in length, since the automaton would have tens of thousands of states. */
const EMAIL = `${LOCAL}@(?:${HOSTNAME}|\\[(?:${IPV4}|IPv6:(?:${IPV6}))\\])`;

// RFC 3986, and RFC 3987 with the characters beyond ASCII.
const HEX = '%[0-9a-fA-F]{2}';
const BEYOND =
  '\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}' +
  Array.from(
    { length: 14 },
    (_, i) => `\\u{${(i + 1).toString(16)}0000}-\\u{${(i + 1).toString(16)}fffd}`,
  ).join('');
const PRIVATE = '\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}';

function uri(beyond: string, inQuery: string): { absolute: string; reference: string } {
  const plain = `a-zA-Z0-9._~!$&'()*+,;=${beyond}-`;
  const character = `(?:[:@${plain}]|${HEX})`;
  const segment = `${character}*`;
  const host = `(?:\\[(?:${IPV6}|[vV][0-9a-fA-F]+\\.[:${plain}]+)\\]|(?:[${plain}]|${HEX})*)`;
  const authority = `(?:(?:[:${plain}]|${HEX})*@)?${host}(?::\\d*)?`;
  const slashed = `(?:/${segment})*`;
  const rooted = `/(?:${character}+${slashed})?`;
  const tail = `(?:\\?(?:[/?:@${plain}${inQuery}]|${HEX})*)?(?:#(?:[/?:@${plain}]|${HEX})*)?`;
  const noColon = `(?:[@${plain}]|${HEX})+${slashed}`;
  const hierarchy = `//${authority}${slashed}|${rooted}`;
  return {
    absolute: `[a-zA-Z][a-zA-Z0-9+.-]*:(?:${hierarchy}|${character}+${slashed}|)${tail}`,
    reference: `(?:${hierarchy}|${noColon}|)${tail}`,
  };
}
const URI = uri('', '');
const IRI = uri(BEYOND, PRIVATE);

const POINTER = '(?:/(?:[^~/]|~[01])*)*';
const VARIABLE = `(?:[a-zA-Z0-9_]|${HEX})(?:\\.?(?:[a-zA-Z0-9_]|${HEX}))*(?:\\*|:[1-9]\\d{0,3})?`;
const TEMPLATE =
  `(?:[\\x21\\x23\\x24\\x26\\x28-\\x3b\\x3d\\x3f-\\x5b\\x5d\\x5f\\x61-\\x7a\\x7e${BEYOND}${PRIVATE}]|${HEX}` +
  `|\\{[+#./;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\\})*`;

const FORMATS: Record<string, Format> = {
  date: { pattern: DATE },
  time: { pattern: TIME },
  'date-time': { pattern: `${DATE}[tT]${TIME}` },
  duration: { pattern: DURATION },
  email: { pattern: EMAIL },
  hostname: { pattern: HOSTNAME, max: 253 },
  ipv4: { pattern: IPV4 },
  ipv6: { pattern: IPV6 },
  ipvanyaddress: { pattern: `${IPV4}|${IPV6}` },
  ipv4interface: { pattern: IPV4_INTERFACE },
  ipv6interface: { pattern: IPV6_INTERFACE },
  ipvanyinterface: { pattern: `${IPV4_INTERFACE}|${IPV6_INTERFACE}` },
  uri: { pattern: URI.absolute },
  'uri-reference': { pattern: `${URI.absolute}|${URI.reference}` },
  iri: { pattern: IRI.absolute },
  'iri-reference': { pattern: `${IRI.absolute}|${IRI.reference}` },
  'uri-template': { pattern: TEMPLATE },
  uuid: { pattern: '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}' },
  regex: { pattern: REGEX_FORMAT },
  'json-pointer': { pattern: POINTER },
  'relative-json-pointer': { pattern: `(?:0|[1-9]\\d*)(?:#|${POINTER})` },
};

const IDNA = 'which characters it takes follows from tables of IDNA2008';
const NETWORK = 'the bits after the prefix must be zero';

/** Known formats that cannot be enforced, with the reason. */
export const UNENFORCED: ReadonlyMap<string, string> = new Map([
  ['idn-email', IDNA],
  ['idn-hostname', IDNA],
  ['ipv4network', NETWORK],
  ['ipv6network', NETWORK],
  ['ipvanynetwork', NETWORK],
]);

const made = new Map<string, Dfa>();

/** Returns the DFA of a format; null if the format is unknown. */
export function formatDfa(name: string, bounds: Limits): Dfa | null {
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (format === undefined) return null;
  let found = made.get(name);
  if (found === undefined) {
    const length = format.max === undefined ? ANY_TEXT : lengthBetween(0, format.max, bounds);
    found = intersect(regexDfa(format.pattern, { whole: true, limits: bounds }), length, bounds);
    made.set(name, found);
  }
  return found;
}
