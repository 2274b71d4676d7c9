// Marian's tokenizer as a tokenizer.json: source.spm, a model of SentencePiece, cuts texts, and vocab.json has the ids, which those of the language
// that is written have as well. Source: MarianTokenizer of transformers.

import { badCheckpoint } from '../error.ts';
import { addedToken, aroundText, base64, metaspace, sequence } from '../tokenizer-parts.ts';
import { readModel } from './sentencepiece.ts';

export const MARIAN_SOURCE = 'source.spm';
const VOCABULARY = 'vocab.json';

const SPECIALS = { eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };
/** A language to translate to, in front of a text. */
const LANGUAGE = /^>>.+<<$/;
/** Below any score of a piece: pieces that only the written language has stand where nothing else does. */
const UNSCORED = -1e4;
const MOST_TOKENS = 2 ** 22;

/** tokenizer_config.json with the special tokens that the class has where it names none. */
export function withMarianTokens(config: Record<string, unknown>): Record<string, unknown> {
  return { ...SPECIALS, ...config };
}

/** Throws bad_checkpoint for damaged files. */
export function marianTokenizer(
  bytes: Uint8Array,
  vocabulary: unknown,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { pieces, charsmap } = readModel(bytes, MARIAN_SOURCE);
  const scores = new Map(pieces.map(({ text, score }) => [text, score]));
  const tokens = tokensOf(vocabulary);
  const vocab = tokens.map((text) => [text, scores.get(text) ?? UNSCORED]);
  const { eos_token: end, unk_token: unknown, pad_token: padding } = withMarianTokens(config);
  const idOf = (text: unknown): number => {
    const id = tokens.indexOf(text as string);
    if (id < 0) throw damaged(`it lacks the token ${JSON.stringify(text ?? null)}`);
    return id;
  };
  const special = new Set([end, unknown, padding]);
  const space = metaspace('always');
  return {
    version: '1.0',
    added_tokens: tokens.flatMap((text, id) =>
      special.has(text) || LANGUAGE.test(text) ? [addedToken(id, text, true)] : [],
    ),
    normalizer: charsmap && { type: 'Precompiled', precompiled_charsmap: base64(charsmap) },
    pre_tokenizer: sequence('pretokenizers', [{ type: 'WhitespaceSplit' }, space]),
    post_processor: aroundText(null, { content: String(end), id: idOf(end) }),
    decoder: space,
    model: { type: 'Unigram', unk_id: idOf(unknown), vocab, byte_fallback: false },
  };
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
