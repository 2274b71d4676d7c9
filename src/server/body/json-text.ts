// Parses JSON from the network. The text is measured before it is parsed, because a few bytes of JSON can become a hundred bytes of
// memory, and every later step visits all values.

import { isUtf8 } from 'node:buffer';
import { RequestError } from '../http/errors.ts';

/** Limit on the nesting of lists and objects: later steps recurse once per level. */
const MOST_LEVELS = 200;
/** Limit on texts, lists and objects. A message of a conversation has five of them, counting the names of its members. */
export const MOST_PARTS = 2 ** 18;
/** Members of one object, at most. */
export const MOST_MEMBERS = 4096;
/** Limit on values of any kind; most are token ids. */
export const MOST_VALUES = 2 ** 21;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
/** `[` and `]`; braces differ from them in one bit. */
const [OPEN, CLOSE, BRACE] = [0x5b, 0x5d, 0x20];

/** `what` is the subject of error messages. Throws RequestError. */
export function parseJson(sent: Uint8Array, what: string): unknown {
  const bytes = withoutMark(sent);
  const refuse = (text: string): never => {
    throw new RequestError('invalid_json', `${what} ${text}`);
  };
  if (!isUtf8(bytes)) return refuse('is not valid UTF-8; send JSON in that encoding');
  checkSize(bytes, refuse);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refuse(`is not valid JSON: ${(error as SyntaxError).message}`);
  }
  // A lone surrogate can only come from an escape, because the bytes are valid UTF-8.
  if (/\\u[dD][89a-fA-F]/.test(text)) checkTexts(value, []);
  return value;
}

/** The bytes without the mark of UTF-8 at their start, which some clients write. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isMarked ? bytes.subarray(3) : bytes;
}

function checkSize(bytes: Uint8Array, refuse: (text: string) => never): void {
  /** Members counted so far of the object on each level; 0 for a list. */
  const members = new Int32Array(MOST_LEVELS + 2);
  let [levels, parts, values] = [0, 0, 1];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === COMMA) {
      if (++values > MOST_VALUES) refuse(`has more than ${MOST_VALUES} values; send less at once`);
      if (members[levels]! > 0 && ++members[levels]! > MOST_MEMBERS)
        refuse(`has an object of more than ${MOST_MEMBERS} members; send fewer`);
    } else if (byte === QUOTE || (byte & ~BRACE) === OPEN) {
      if (++parts > MOST_PARTS)
        refuse(`has more than ${MOST_PARTS} texts, lists and objects; send less at once`);
      if (byte === QUOTE) at = endOfText(bytes, at + 1);
      else {
        if (++levels > MOST_LEVELS) refuse(`is nested deeper than ${MOST_LEVELS} levels; send it flatter`);
        members[levels] = byte === OPEN ? 0 : 1;
      }
    } else if ((byte & ~BRACE) === CLOSE) levels--;
  }
}

/** Index of the closing quotation mark, or the end of the text. */
function endOfText(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

type Path = string[];

/** Throws if a text contains a lone surrogate, which no tokenizer can encode. `path` is unchanged when the function returns. */
function checkTexts(value: unknown, path: Path): void {
  if (typeof value === 'string') return checkText(value, path);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) checkText(name, path);
    path.push(name);
    checkTexts(member, path);
    path.pop();
  }
}

function checkText(text: string, path: Path): void {
  const half = /\p{Surrogate}/u.exec(text)?.[0];
  if (half === undefined) return;
  const param = path.join('.');
  const escape = `\\u${half.charCodeAt(0).toString(16)}`;
  throw new RequestError(
    'invalid_value',
    `${param || 'the body'} holds ${escape}, which is half of a character; cut texts between characters`,
    param === '' ? {} : { param },
  );
}
