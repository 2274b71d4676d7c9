// Fill in the middle: builds the prompt from a prefix, a suffix and the marker tokens of models that were trained to write the text
// between them.

import type { TextModel } from '../../index.ts';
import { fieldError } from '../http/errors.ts';

interface Marks {
  begin: string;
  middle: string;
  end: string;
  /** The suffix precedes the prefix in the prompt. */
  suffixFirst?: true;
}

/** Qwen2.5-Coder; StarCoder and others; CodeLlama; DeepSeek-Coder; Codestral. */
const FORMS: readonly Marks[] = [
  { begin: '<|fim_prefix|>', middle: '<|fim_suffix|>', end: '<|fim_middle|>' },
  { begin: '<fim_prefix>', middle: '<fim_suffix>', end: '<fim_middle>' },
  { begin: '▁<PRE>', middle: '▁<SUF>', end: '▁<MID>' },
  { begin: '<｜fim▁begin｜>', middle: '<｜fim▁hole｜>', end: '<｜fim▁end｜>' },
  { begin: '[PREFIX]', middle: '[SUFFIX]', end: '', suffixFirst: true },
];

/** Returns the prompt for the text between `prefix` and `suffix`. Throws if the model has no marker tokens for it. */
export async function fillInPrompt(model: TextModel, prefix: string, suffix: string): Promise<string> {
  for (const { begin, middle, end, suffixFirst } of FORMS) {
    const marks = [begin, middle, end].filter((mark) => mark !== '');
    const ids = await Promise.all(marks.map((mark) => model.tokenize(mark, { addSpecialTokens: false })));
    if (ids.some(({ length }) => length !== 1)) continue;
    return suffixFirst ? `${middle}${suffix}${begin}${prefix}` : `${begin}${prefix}${middle}${suffix}${end}`;
  }
  throw fieldError(
    'suffix',
    `needs a model whose tokenizer has tokens to fill in the middle, and ${model.info.name} has none; leave it out`,
    'unsupported',
  );
}
