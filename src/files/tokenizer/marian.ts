// Marian's tokenizer as a tokenizer.json: source.spm, a model of SentencePiece, cuts texts, and vocab.json has the ids, which those of the language
// that is written have as well. Source: MarianTokenizer of transformers.

import { badCheckpoint } from '../error.ts';
import { addedToken } from '../tokenizer-parts.ts';
import { ownTokens, readModel, unigramTokenizer } from './sentencepiece.ts';

export const MARIAN_SOURCE = 'source.spm';
const VOCABULARY = 'vocab.json';

/** A language to translate to, in front of a text. */
const LANGUAGE = /^>>.+<<$/;
/** Below any score of a piece: pieces that only the written language has stand where nothing else does. */
const UNSCORED = -1e4;
const MOST_TOKENS = 2 ** 22;

/** Throws bad_checkpoint for damaged files. */
export function marianTokenizer(
  bytes: Uint8Array,
  vocabulary: unknown,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { pieces, charsmap } = readModel(bytes, MARIAN_SOURCE);
  const scores = new Map(pieces.map(({ text, score }) => [text, score]));
  const tokens = tokensOf(vocabulary);
  const { eos_token: end, unk_token: unknown, pad_token: padding } = ownTokens(config);
  const idOf = (text: string): number => {
    const id = tokens.indexOf(text);
    if (id < 0) throw damaged(`it lacks the token ${JSON.stringify(text)}`);
    return id;
  };
  const special = new Set([end, unknown, padding]);
  return unigramTokenizer({
    vocab: tokens.map((text) => [text, scores.get(text) ?? UNSCORED] as const),
    unknown: idOf(unknown),
    added: tokens.flatMap((text, id) =>
      special.has(text) || LANGUAGE.test(text) ? [addedToken(id, text, true)] : [],
    ),
    end: { content: end, id: idOf(end) },
    charsmap,
  });
}

/** Tokens by their ids, each of which the file has once. */
function tokensOf(vocabulary: unknown): string[] {
  if (typeof vocabulary !== 'object' || vocabulary === null) throw damaged('it is no object');
  const entries = Object.entries(vocabulary as Record<string, unknown>);
  const tokens = new Array<string>(Math.min(entries.length, MOST_TOKENS));
  for (const [text, id] of entries) {
    if (
      typeof id !== 'number' ||
      !Number.isInteger(id) ||
      id < 0 ||
      id >= entries.length ||
      tokens[id] !== undefined
    )
      throw damaged(`the id of ${JSON.stringify(text)} is ${JSON.stringify(id)}`);
    tokens[id] = text;
  }
  return tokens;
}

const damaged = (reason: string): Error =>
  badCheckpoint(`${VOCABULARY} is not a vocabulary of Marian: ${reason}; fetch the file again`, VOCABULARY);
