// Marian's tokenizer as a tokenizer.json: source.spm, a model of SentencePiece, cuts texts, and vocab.json has the ids, which those of the language
// that is written have as well. Source: MarianTokenizer of transformers.

import { addedToken } from '../tokenizer-parts.ts';
import { ownTokens, readModel, unigramTokenizer } from './sentencepiece.ts';
import { tokensById } from './vocabulary-file.ts';

export const MARIAN_SOURCE = 'source.spm';

/** A language to translate to, in front of a text. */
const LANGUAGE = /^>>.+<<$/;
/** Below any score of a piece: pieces that only the written language has stand where nothing else does. */
const UNSCORED = -1e4;

/** Throws bad_checkpoint for damaged files. */
export function marianTokenizer(
  bytes: Uint8Array,
  vocabulary: unknown,
  config: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { pieces, charsmap } = readModel(bytes, MARIAN_SOURCE);
  const scores = new Map(pieces.map(({ text, score }) => [text, score]));
  const { tokens, idOf } = tokensById(vocabulary, 'Marian');
  const { eos_token: end, unk_token: unknown, pad_token: padding } = ownTokens(config);
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
