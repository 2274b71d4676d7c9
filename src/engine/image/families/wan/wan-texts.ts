// Texts of Wan: states of UMT5, which sees the words alone, with zeros behind them that the transformer attends to like any token.

import { copy, fillTokens } from '../../../../kernels/copy-rows.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { readT5 } from '../../blocks/t5-texts.ts';
import { MOST_TOKENS, promptsOf, type TextStates } from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { compute } from '../../recording/compute.ts';
import { Scope } from '../../recording/scope.ts';

export const UMT5 = { encoder: 'text_encoder', tokenizer: 'tokenizer' };

/** Returns the states of the words of each text with zeros behind them; the caller frees them. */
export async function readWanTexts(
  components: ComponentAccess,
  request: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { device } = components;
  const { maxSequenceLength: count = MOST_TOKENS, options } = request;
  const texts = promptsOf(request, guided).map(cleanText);
  using words = new Scope(device);
  const read = await readT5(components, UMT5, texts, { count, padding: 'none', options });
  for (const { states } of read) words.hold(states);
  const { columns } = read[0]!.states;
  const zeros = words.hold(
    device.tensor('step', 'zeros behind a text', [1, columns], new Float32Array(columns)),
  );
  const filled = await compute(device, options, (tape) =>
    read.map(({ states }) => copy(fillTokens(states.on(tape), zeros.on(tape), count))),
  );
  return filled.map((states, i) => ({ states, tokens: read[i]!.states.shape[1] as number }));
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
