// The inputs of a request as tokens: texts and pairs of texts with what the tokenizer puts around them, or token ids as they are given.

import { badRequest, EngineError } from '../../files/error.ts';
import { checkRows } from '../../files/tokenizer/token-ids.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { EmbeddingModelInfo, EmbeddingRequest } from './embedding-model.ts';

/** The tokens of an input and their types; left out: all are of the first type. */
export interface InputTokens {
  ids: readonly number[];
  types?: readonly number[];
}

/** The tokenizer of a model and its rules for texts and pairs of texts. */
export interface TextEncoder {
  encode: Tokenizer['encode'];
  encodePair: (text: string, pair: string, most?: number) => InputTokens;
}

type Input = EmbeddingRequest['inputs'][number];
type Sizes = Pick<EmbeddingModelInfo, 'contextLength' | 'vocabSize'>;

/** Throws bad_request for an input without tokens, and context_length_exceeded for one that is too long and may not be cut. */
export function requestTokens(
  { inputs, truncate }: Pick<EmbeddingRequest, 'inputs' | 'truncate'>,
  encoder: TextEncoder,
  sizes: Sizes,
): InputTokens[] {
  const { contextLength, vocabSize } = sizes;
  const cut = truncate === -1 ? contextLength : truncate;
  return inputs.map((input, index) => {
    const param = `inputs.${index}`;
    const tokens = tokensOf(input, encoder, cut);
    const { length } = tokens.ids;
    if (length === 0) throw badRequest(`${param} has no tokens: send a text that is not empty`, param);
    checkRows(tokens.ids, vocabSize, param);
    if (length <= contextLength) return tokens;
    throw new EngineError(
      'context_length_exceeded',
      `${param} has ${length} tokens and the model takes ${contextLength}: shorten it or send it in parts`,
      { param },
    );
  });
}

function tokensOf(input: Input, encoder: TextEncoder, most: number | undefined): InputTokens {
  if (typeof input === 'string') return { ids: encoder.encode(input, most === undefined ? {} : { most }) };
  if (Array.isArray(input)) return { ids: input.slice(0, most) };
  return encoder.encodePair(input.text, input.pair, most);
}
