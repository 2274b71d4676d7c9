// The pre-tokenizers of tokenizer.json: they cut a text into pieces, which are then tokenized each for itself.

import { UnknownKind } from './unknown-kind.ts';
import { isRecord } from '../../source.ts';
import { standInText } from './stand-ins.ts';
import { partType } from './part-type.ts';
import { behaviorOf, patternOf, splitText } from './pattern.ts';

/** `opens`: nothing stands before this text in what was given. None of the pieces is empty. */
export type PreTokenizer = (text: string, opens: boolean) => string[];

const GPT2_WORDS = patternOf({
  Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
});
const SPACE = /\p{White_Space}/gu;
const DIGIT = /\p{N}/gu;
const PUNCTUATION = /[\p{P}$+<=>^`|~]/gu;
const WORD =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;

/** null: a text is one piece. Throws for a kind that nobody knows. */
export function createPreTokenizer(config: unknown): PreTokenizer | null {
  if (config === null || config === undefined) return null;
  if (!isRecord(config)) throw new Error('the pre_tokenizer is not an object');
  const type = partType('pre_tokenizer', config);
  switch (type) {
    case 'Sequence':
      return sequence(config['pretokenizers']);
    case 'ByteLevel':
      return byteLevel(config['add_prefix_space'] === true, config['use_regex'] !== false);
    case 'Metaspace':
      return metaspace(config);
    case 'Split': {
      const pattern = patternOf(config['pattern']);
      const behavior = behaviorOf(config['behavior']);
      const invert = config['invert'] === true;
      return (text) => splitText(text, pattern, behavior, invert);
    }
    case 'Digits': {
      const behavior = config['individual_digits'] === true ? 'Isolated' : 'Contiguous';
      return (text) => splitText(text, DIGIT, behavior);
    }
    case 'Punctuation': {
      const behavior = behaviorOf(config['behavior'] ?? 'Isolated');
      return (text) => splitText(text, PUNCTUATION, behavior);
    }
    case 'Whitespace':
      return (text) => splitText(text, WORD, 'Removed', true);
    case 'WhitespaceSplit':
      return (text) => splitText(text, SPACE, 'Removed');
    case 'BertPreTokenizer':
      return (text) =>
        splitText(text, SPACE, 'Removed').flatMap((word) => splitText(word, PUNCTUATION, 'Isolated'));
    case 'CharDelimiterSplit': {
      const pattern = patternOf({ String: config['delimiter'] });
      return (text) => splitText(text, pattern, 'Removed');
    }
    case 'FixedLength':
      return fixedLength(Number(config['length'] ?? 5));
    default:
      throw new UnknownKind('PreTokenizer type', type);
  }
}

function sequence(parts: unknown): PreTokenizer {
  const steps = (Array.isArray(parts) ? parts : []).flatMap((part) => createPreTokenizer(part) ?? []);
  return (text, opens) =>
    steps.reduce(
      (pieces, step) =>
        pieces.flatMap((piece, nth) => step(piece, opens && nth === 0 && text.startsWith(piece))),
      [text],
    );
}

function byteLevel(addsSpace: boolean, cutsWords: boolean): PreTokenizer {
  return (text) => {
    const whole = addsSpace && !text.startsWith(' ') ? ` ${text}` : text;
    return (cutsWords ? splitText(whole, GPT2_WORDS, 'Isolated') : [whole]).map(standInText);
  };
}

function metaspace(config: Record<string, unknown>): PreTokenizer {
  const mark = typeof config['replacement'] === 'string' ? config['replacement'] : '▁';
  const older = config['add_prefix_space'] === false ? 'never' : 'always';
  const scheme = typeof config['prepend_scheme'] === 'string' ? config['prepend_scheme'] : older;
  const cuts = config['split'] !== false;
  const pattern = patternOf({ String: mark });
  return (text, opens) => {
    const marked = text.replaceAll(' ', mark);
    const prepends = scheme === 'always' || (scheme === 'first' && opens);
    const whole = prepends && !marked.startsWith(mark) ? mark + marked : marked;
    return cuts ? splitText(whole, pattern, 'MergedWithNext') : [whole];
  };
}

function fixedLength(length: number): PreTokenizer {
  if (!(Number.isSafeInteger(length) && length > 0)) throw new Error(`FixedLength has the length ${length}`);
  return (text) => {
    const characters = Array.from(text);
    const pieces: string[] = [];
    for (let at = 0; at < characters.length; at += length) {
      pieces.push(characters.slice(at, at + length).join(''));
    }
    return pieces;
  };
}
