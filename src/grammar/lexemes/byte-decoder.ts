// The lower half of a lexeme: an automaton that reads one character from bytes, written as UTF-8, or as UTF-8 with the escapes of a
// JSON string. At a character's last byte it yields the character's class in a DFA. One decoder serves all states of that DFA, so
// the two automata do not multiply each other's size.

import {
  DecoderStates,
  type ByteDecoder,
  type Row,
  type DecoderTarget,
  type TextEncoding,
} from './decoder-states.ts';
import { NO_CLASS, type Dfa } from '../automata/dfa-table.ts';
import { JsonEscapes } from './json-escapes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** `available`: 1 for each byte that is a token by itself. */
export function createByteDecoder(text: Dfa, encoding: TextEncoding, available: Uint8Array): ByteDecoder {
  const states = new DecoderStates(text, available);
  const first = utf8Row(states);
  const quoted = encoding !== 'plain';
  for (let byte = quoted ? 0x20 : 0; byte < 0x80; byte++) {
    if (!quoted || (byte !== QUOTE && byte !== BACKSLASH)) first.push([byte, states.end(byte)]);
  }
  if (quoted) {
    first.push([QUOTE, -1 - text.classCount]);
    first.push([BACKSLASH, new JsonEscapes(states).afterBackslash(encoding)]);
  }
  return states.finish(first);
}

/** Transitions by the first byte of every character beyond ASCII. */
function utf8Row(states: DecoderStates): Row {
  const row: Row = [];
  for (let byte = 0xc2; byte < 0xe0; byte++) row.push([byte, continuation(states, 1, (byte - 0xc0) * 64)]);
  for (let byte = 0xe0; byte < 0xf0; byte++)
    row.push([byte, afterLeadByte(states, 2, (byte - 0xe0) * 4096, 0x800)]);
  for (let byte = 0xf0; byte < 0xf5; byte++)
    row.push([byte, afterLeadByte(states, 3, (byte - 0xf0) * 2 ** 18, 0x10000)]);
  return row;
}

/** The state before the last `count` bytes of the characters from `base` on; each byte holds 6 bits. */
function continuation(states: DecoderStates, count: number, base: number): DecoderTarget {
  const size = 64 ** count;
  const build = (): DecoderTarget =>
    states.state(
      Array.from({ length: 64 }, (_, i) => {
        const from = base + (i * size) / 64;
        return [0x80 + i, count === 1 ? states.end(from) : continuation(states, count - 1, from)];
      }),
    );
  if (!states.isUniform(base, base + size - 1)) return build();
  const of = states.classAt(base);
  return of === NO_CLASS ? 0 : states.once(`utf8 ${count} ${of}`, build);
}

/** State like `continuation`, without characters below `least`, which have a shorter encoding, and above the last code point. */
function afterLeadByte(states: DecoderStates, count: number, base: number, least: number): DecoderTarget {
  const size = 64 ** (count - 1);
  const last = base + 64 * size - 1;
  if (states.isUniform(base, last)) {
    if (states.classAt(base) === NO_CLASS) return 0;
    if (base >= least && last <= 0x10ffff) return continuation(states, count, base);
  }
  return states.state(
    Array.from({ length: 64 }, (_, i) => {
      const from = base + i * size;
      const isEncoded = from >= least && from <= 0x10ffff;
      return [0x80 + i, isEncoded ? continuation(states, count - 1, from) : 0];
    }),
  );
}
