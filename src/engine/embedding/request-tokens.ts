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
  encodePair: (text: string, pair: string, most?: number, instruction?: string) => InputTokens;
  /** Whether an instruction can be written before pairs; left out: none can. */
  isInstructed?: boolean;
}

type Input = EmbeddingRequest['inputs'][number];
type Sizes = Pick<EmbeddingModelInfo, 'contextLength' | 'vocabSize'>;

/** Throws bad_request for an input without tokens, and context_length_exceeded for one that is too long and may not be cut. */
export function requestTokens(
  { inputs, truncate, instruction }: Pick<EmbeddingRequest, 'inputs' | 'truncate' | 'instruction'>,
  encoder: TextEncoder,
  sizes: Sizes,
): InputTokens[] {
  const { contextLength, vocabSize } = sizes;
  if (instruction !== undefined && !encoder.isInstructed)
    throw badRequest('the model has no place for an instruction in its pairs: leave it out', 'instruction');
  const cut = truncate === -1 ? contextLength : truncate;
  return inputs.map((input, index) => {
    const param = `inputs.${index}`;
    if (instruction !== undefined && (typeof input === 'string' || Array.isArray(input)))
      throw badRequest(`instructions are for pairs, and ${param} is none: leave it out`, 'instruction');
    const tokens = tokensOf(input, encoder, cut, instruction);
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

function tokensOf(
  input: Input,
  encoder: TextEncoder,
  most: number | undefined,
  instruction: string | undefined,
): InputTokens {
  if (typeof input === 'string') return { ids: encoder.encode(input, most === undefined ? {} : { most }) };
  if (Array.isArray(input)) return { ids: input.slice(0, most) };
  return encoder.encodePair(input.text, input.pair, most, instruction);
}
