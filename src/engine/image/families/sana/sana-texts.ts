// Texts of Sana: the last states of Gemma 2 for an instruction with the prompt behind it, of which those of the first token and of the last
// ones are kept.

import type { Tokenizer } from '../../../../files/tokenizer/tokenizer.ts';
import { readDecoder, type DecoderReading, type TokenRange } from '../../blocks/decoder-texts.ts';
import type { RunRequest } from '../../blocks/family.ts';
import type { TextStates } from '../../blocks/transformer-model.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';

/** Default limit on the tokens of a prompt that are read. */
const MOST_TOKENS = 300;

export interface SanaArguments extends CallArguments {
  /** Lines before the prompt; left out: those of the published models. */
  instruction?: readonly string[];
}

/** The instruction that the published models were trained with; lines are joined by line feeds. */
const INSTRUCTION: readonly string[] = [
  `Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions suitable for image generation. Evaluate the level of detail in the user prompt:`,
  `- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, and spatial relationships to create vivid and concrete scenes.`,
  `- If the prompt is already detailed, refine and enhance the existing details slightly without overcomplicating.`,
  `Here are examples of how to transform or refine prompts:`,
  `- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round shape, sleeping peacefully on a warm sunny windowsill, surrounded by pots of blooming red flowers.`,
  `- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, featuring glowing street lamps, a diverse crowd of people in colorful clothing, and a double-decker bus passing by towering glass skyscrapers.`,
  `Please generate only the enhanced description for the prompt below and avoid including any additional commentary or evaluations:`,
  `User Prompt: `,
];

interface SanaText {
  text: string;
  /** Lines before the text; empty: none. */
  instruction: readonly string[];
}

/** Gemma's states behind the final norm. */
export const GEMMA: DecoderReading = { page: (declaration, table) => declaration.embed!(table) };

/** Returns the states of the prompt, before which alone the instruction stands, and under guidance of the negative prompt; the caller frees them. */
export async function readSanaTexts(
  components: ComponentAccess,
  { prompt, values, call, maxSequenceLength = MOST_TOKENS, options }: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { instruction = INSTRUCTION }: SanaArguments = call;
  const negative = { text: values.negativePrompt, instruction: [] };
  const texts: SanaText[] = [{ text: prompt, instruction }, ...(guided ? [negative] : [])];
  const tokenizer = await components.tokenizer('tokenizer');
  const read = texts.map((text) => tokensOf(tokenizer, text, maxSequenceLength));
  return readDecoder(components, GEMMA, {
    texts: read.map(({ ids }) => ({ ids })),
    kept: read.map(({ kept }) => kept),
    options,
  });
}

/**
 * Token ids, and the tokens whose states are kept: the first one, and the last `most` − 1 of a text filled up to its limit, without those
 * that would fill it up. An instruction lengthens the limit by its own tokens, less the first one and one that it shares with the text.
 */
function tokensOf(
  tokenizer: Tokenizer,
  { text, instruction }: SanaText,
  most: number,
): { ids: number[]; kept: TokenRange[] } {
  const before = instruction.join('\n');
  const limit = instruction.length === 0 ? most : tokenizer.encode(before).length + most - 2;
  const ids = tokenizer.encode(before + text.toLowerCase().trim()).slice(0, limit);
  const first = limit - most + 1;
  const count = ids.length - first;
  return { ids, kept: [[0, 1], ...(count > 0 ? [[first, count] as const] : [])] };
}
