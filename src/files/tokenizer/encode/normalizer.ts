// The normalizers of tokenizer.json: text to text, before anything is cut. Case and accents are changed character by character, as the
// reference does it, so that no letter depends on its neighbours.

import { UnknownKind } from './unknown-kind.ts';
import { badCheckpoint, type EngineError } from '../../error.ts';
import { isRecord } from '../../source.ts';
import { standInText } from './stand-ins.ts';
import { precompiledNormalizer } from './charsmap.ts';
import { partType } from './part-type.ts';
import { patternOf } from './pattern.ts';

export type Normalizer = (text: string) => string;

/**
 * null: text stays as it is. Throws for a kind that nobody knows; the normalizer throws bad_checkpoint where a text grows beyond all
 * measure.
 */
export function createNormalizer(config: unknown): Normalizer | null {
  const normalize = partOf(config);
  return normalize === null ? null : (text) => bounded(normalize(text), text);
}

/** NFKD expands one character to at most 18. */
const MOST_GROWTH = 32;
const MOST_ADDED = 10_000;

const mostLength = (text: string): number => text.length * MOST_GROWTH + MOST_ADDED;

function bounded(normalized: string, text: string): string {
  if (normalized.length <= mostLength(text)) return normalized;
  throw grown(text);
}

function grown(text: string): EngineError {
  return badCheckpoint(
    `tokenizer.json: its normalizer makes more than ${mostLength(text)} characters of ${text.length}: put the published file in its place`,
    'tokenizer.json',
  );
}

function partOf(config: unknown): Normalizer | null {
  if (config === null || config === undefined) return null;
  if (!isRecord(config)) throw new Error('the normalizer is not an object');
  const type = partType('normalizer', config);
  switch (type) {
    case 'Sequence':
      return sequence(config['normalizers']);
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      return (text) => text.normalize(type);
    case 'Lowercase':
      return lowercase;
    case 'Strip':
      return strip(config['strip_left'] === true, config['strip_right'] === true);
    case 'StripAccents':
      return (text) => text.replace(/\p{M}+/gu, '');
    case 'Replace': {
      const pattern = patternOf(config['pattern']);
      const content = textOf(config['content']);
      return (text) => replaced(text, pattern, content);
    }
    case 'Prepend': {
      const before = textOf(config['prepend']);
      return (text) => (text === '' ? '' : before + text);
    }
    case 'ByteLevel':
      return standInText;
    case 'BertNormalizer':
      return bert(config);
    case 'Nmt':
      return nmt;
    case 'Precompiled':
      return precompiledNormalizer(config['precompiled_charsmap']);
    default:
      throw new UnknownKind('Normalizer type', type);
  }
}

function sequence(parts: unknown): Normalizer {
  const steps = (Array.isArray(parts) ? parts : []).flatMap((part) => partOf(part) ?? []);
  return (text) => steps.reduce((current, step) => bounded(step(current), text), text);
}

function replaced(text: string, pattern: RegExp, content: string): string {
  let room = mostLength(text);
  return text.replace(pattern, () => {
    room -= content.length;
    if (room < 0) throw grown(text);
    return content;
  });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Lower case without the rules that look at neighbours: a final Σ becomes σ. */
function lowercase(text: string): string {
  const lower = text.toLowerCase();
  return text.includes('Σ') ? Array.from(text, (character) => character.toLowerCase()).join('') : lower;
}

function strip(left: boolean, right: boolean): Normalizer {
  return (text) => {
    const from = left ? text.replace(/^\p{White_Space}+/u, '') : text;
    if (!right) return from;
    let end = from.length;
    while (end > 0 && /\p{White_Space}/u.test(from[end - 1]!)) end--;
    return from.slice(0, end);
  };
}

/** CJK ideographs, each a word of its own; the last block but two begins where the reference has it. */
const IDEOGRAPH =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const DROPPED = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/gu;

function bert(config: Record<string, unknown>): Normalizer {
  const cleans = config['clean_text'] !== false;
  const spaces = config['handle_chinese_chars'] !== false;
  const lowers = config['lowercase'] !== false;
  const strips = config['strip_accents'] ?? lowers;
  return (text) => {
    let result = text;
    if (cleans) result = result.replace(DROPPED, '').replace(/\p{White_Space}/gu, ' ');
    if (spaces) result = result.replace(IDEOGRAPH, ' $& ');
    if (strips === true) result = result.normalize('NFD').replace(/\p{Mn}+/gu, '');
    return lowers ? lowercase(result) : result;
  };
}

/** Removes control characters, and converts other spaces and zero-width marks to spaces. */
function nmt(text: string): string {
  return text
    .replace(/(?![\0\t\n\f\r\x80-\x8e\x90-\x9e])\p{Cc}/gu, '')
    .replace(/[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g, ' ');
}
