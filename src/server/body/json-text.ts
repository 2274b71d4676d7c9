// JSON from the network as a value. What it would become is counted before anything is made of it: a few bytes of text can be a
// hundred of memory, and all that follows goes through values one by one.

import { isUtf8 } from 'node:buffer';
import { RequestError } from '../errors.ts';

/** Lists and objects inside each other: what follows walks and prints values level by level on the stack. */
const MOST_LEVELS = 200;
/** Texts, lists and objects. A message of a conversation is five, with the names of its members. */
export const MOST_PARTS = 2 ** 18;
/** Members of one object, at most. */
export const MOST_MEMBERS = 4096;
/** Values of any kind: token ids are many. */
export const MOST_VALUES = 2 ** 21;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
/** `[` and `]`; braces differ from them in one bit. */
const [OPEN, CLOSE, BRACE] = [0x5b, 0x5d, 0x20];

/** `what`: as messages call it. Throws RequestError. */
export function parseJson(bytes: Uint8Array, what: string): unknown {
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
  // Only an escape can be half of a character here.
  if (/\\u[dD][89a-fA-F]/.test(text)) checkTexts(value, []);
  return value;
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

/** Throws where half of a character stands alone: no tokenizer has that. `path` is as before when it returns. */
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
