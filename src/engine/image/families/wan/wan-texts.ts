// Texts of Wan: states of UMT5, which sees the words alone, with zeros behind them that the transformer attends to like any token.

import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { fillTokens } from '../../../../kernels/copy-rows.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { readT5 } from '../../blocks/t5-texts.ts';
import { MOST_TOKENS, promptsOf, type TextStates } from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';

export const UMT5 = { encoder: 'text_encoder', tokenizer: 'tokenizer' };

/** Returns the states of the words of each text; the caller frees them. */
export function readWanTexts(
  components: ComponentAccess,
  request: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { maxSequenceLength: count = MOST_TOKENS, options } = request;
  const texts = promptsOf(request, guided).map(cleanText);
  return readT5(components, UMT5, texts, { count, padding: 'none', options });
}

/** The states of a text with zeros behind them; `zeros`: one row of them. */
export function paddedText(
  tape: Tape,
  states: Tensor,
  zeros: Tensor,
  { maxSequenceLength = MOST_TOKENS }: Pick<RunRequest, 'maxSequenceLength'>,
): Tensor {
  return fillTokens(states.on(tape), zeros.on(tape), maxSequenceLength);
}

/** Characters by the names that HTML's most common entities give them. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00A0',
};
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi;
const LAST_CODE = 0x10_ff_ff;

function unescaped(text: string): string {
  return text.replaceAll(ENTITY, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal);
    return code > 0 && code <= LAST_CODE ? String.fromCodePoint(code) : whole;
  });
}

/** A text as diffusers' pipelines clean it: entities of HTML that were escaped up to twice are characters, and runs of spaces one space. */
export const cleanText = (text: string): string => unescaped(unescaped(text)).replaceAll(/\s+/gu, ' ').trim();
