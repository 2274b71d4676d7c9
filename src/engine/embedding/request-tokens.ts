// The inputs of a request as tokens: texts and pairs of texts with what the tokenizer puts around them, or token ids as they are given.

import { badRequest, EngineError } from '../../files/error.ts';
import { checkRows } from '../../files/tokenizer/token-ids.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { EmbeddingModelInfo, EmbeddingRequest } from './embedding-model.ts';

/** The tokens of an input and their types; left out: all are of the first type. */
export interface InputTokens {
  ids: readonly number[];
  types?: readonly number[];
  /** Number of the LoRA of the text's task; left out: it has none. */
  task?: number;
}

/** A task that a request may name. */
export interface EmbeddingTask {
  name: string;
  /** Text that the tokenizer sees before each text of the task. */
  prompt: string;
  /** Number of its LoRA; null: it has none. */
  lora: number | null;
}

/** The tokenizer of a model and its rules for texts and pairs of texts. */
export interface TextEncoder {
  encode: Tokenizer['encode'];
  encodePair: (text: string, pair: string, most?: number, instruction?: string) => InputTokens;
  /** Whether an instruction can be written before pairs; left out: none can. */
  isInstructed?: boolean;
  /** Tasks of single texts; left out: there are none. */
  tasks?: readonly EmbeddingTask[];
  /** The task of single texts whose request names none; left out: they have none. */
  usualTask?: EmbeddingTask;
}

type Input = EmbeddingRequest['inputs'][number];
type Sizes = Pick<EmbeddingModelInfo, 'contextLength' | 'vocabSize'>;

/** Throws bad_request for an input without tokens, and context_length_exceeded for one that is too long and may not be cut. */
export function requestTokens(
  {
    inputs,
    truncate,
    instruction,
    task: name,
  }: Pick<EmbeddingRequest, 'inputs' | 'truncate' | 'instruction' | 'task'>,
  encoder: TextEncoder,
  sizes: Sizes,
): InputTokens[] {
  const { contextLength, vocabSize } = sizes;
  if (instruction !== undefined && !encoder.isInstructed)
    throw badRequest('the model has no place for an instruction in its pairs: leave it out', 'instruction');
  const task = name === undefined ? null : taskNamed(name, encoder.tasks);
  const cut = truncate === -1 ? contextLength : truncate;
  return inputs.map((input, index) => {
    const param = `inputs.${index}`;
    const isSingle = typeof input === 'string' || Array.isArray(input);
    if (instruction !== undefined && isSingle)
      throw badRequest(`instructions are for pairs, and ${param} is none: leave it out`, 'instruction');
    const applied = task ?? (isSingle ? encoder.usualTask : undefined);
    const tokens = applied
      ? taskTokens(input, applied, encoder, cut, param)
      : tokensOf(input, encoder, cut, instruction);
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

/** Throws bad_request for a name that the model does not have. */
function taskNamed(name: string, tasks: readonly EmbeddingTask[] = []): EmbeddingTask {
  const found = tasks.find((one) => one.name === name);
  if (found) return found;
  const known = tasks.map((one) => JSON.stringify(one.name)).join(', ');
  throw badRequest(
    known === ''
      ? 'the files of the model name no tasks: leave task out'
      : `task ${JSON.stringify(name).slice(0, 100)} is none of the model's: send ${known}`,
    'task',
  );
}

function taskTokens(
  input: Input,
  { prompt, lora }: EmbeddingTask,
  encoder: TextEncoder,
  most: number | undefined,
  param: string,
): InputTokens {
  if (typeof input !== 'string' && !Array.isArray(input))
    throw badRequest(`tasks are for single texts, and ${param} is a pair: leave task out`, 'task');
  const given = typeof input === 'string' ? prompt + input : input;
  return { ...tokensOf(given, encoder, most, undefined), ...(lora !== null && { task: lora }) };
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
