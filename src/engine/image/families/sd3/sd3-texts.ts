// Texts of Stable Diffusion 3: the states of two CLIP encoders side by side, padded with zeros to the width of T5's, and behind their tokens
// those of T5, or zeros without it; beside them the pooled states of both CLIP encoders.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { joinRows, joinTokens } from '../../../../kernels/copy-rows.ts';
import { checkClip, readClip } from '../../blocks/clip-states.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';
import type { TextStates } from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { compute, type ComputeOptions } from '../../recording/compute.ts';
import { Scope } from '../../recording/scope.ts';
import type { LayerGuidanceArguments } from './sd3-layer-guidance.ts';

/** Tokens of a prompt that T5 reads by default. */
const T5_TOKENS = 256;
/** Layers at the end of a CLIP encoder whose states are not read. */
export const UNREAD_LAYERS = 1;

export const CLIPS = [
  { encoder: 'text_encoder', tokenizer: 'tokenizer' },
  { encoder: 'text_encoder_2', tokenizer: 'tokenizer_2' },
] as const;
const T5 = { encoder: 'text_encoder_3', tokenizer: 'tokenizer_3' };

export interface SD3Arguments extends LayerGuidanceArguments {
  /** Texts for the second and the third encoder; left out or empty: that for the first. */
  prompt2?: string;
  prompt3?: string;
  negative2?: string;
  negative3?: string;
}

/** A text as the encoders read it. */
interface SD3Text {
  clip: readonly [string, string];
  t5: string;
  clipSkip: number;
}

/** Columns of the states and of the pooled state; `t5`: null without it. */
export interface TextWidths {
  clip: number;
  t5: number | null;
  pooled: number;
}

/** Throws bad_checkpoint for weights that do not match the encoders' configurations, and for a damaged tokenizer. */
export async function checkSD3Encoders(components: ComponentAccess): Promise<TextWidths> {
  const widths = { clip: 0, pooled: 0 };
  for (const { encoder, tokenizer } of CLIPS) {
    const { hidden, pooled } = await checkClip(components, { encoder, tokenizer });
    widths.clip += hidden;
    widths.pooled += pooled;
  }
  return { ...widths, t5: components.has(T5.encoder) ? await checkT5(components, T5) : null };
}

/** Texts of the negative prompt, under guidance, and of the prompt. Like in diffusers, layers of CLIP are skipped for the prompt alone. */
function textsOf({ prompt, values, call }: RunRequest, guided: boolean): SD3Text[] {
  const { prompt2, prompt3, negative2, negative3 }: SD3Arguments = call;
  const positive = textOf(prompt, prompt2, prompt3, values.clipSkip);
  return guided ? [textOf(values.negativePrompt, negative2, negative3, 0), positive] : [positive];
}

function textOf(
  first: string,
  second: string | undefined,
  third: string | undefined,
  clipSkip: number,
): SD3Text {
  return { clip: [first, second || first], t5: third || first, clipSkip };
}

/** Encodes the texts of a request as items of one batch; the caller frees them. Each encoder leaves the device before the next is loaded. */
export async function encodeSD3(
  components: ComponentAccess,
  request: RunRequest,
  guided: boolean,
  columns: number,
): Promise<TextStates> {
  const { device } = components;
  const { maxSequenceLength: count = T5_TOKENS, options } = request;
  const texts = textsOf(request, guided);
  using parts = new Scope(device);
  const [first, second] = [
    await readOne(components, 0, texts, options, parts),
    await readOne(components, 1, texts, options, parts),
  ];
  const zeros = (rows: number, width: number): Tensor => {
    const values = new Float32Array(rows * width);
    return parts.hold(device.tensor('step', 'zeros', [1, rows, width], values));
  };
  const forT5 = texts.map((text) => text.t5);
  const read = components.has(T5.encoder)
    ? await readT5(components, T5, forT5, { count, padding: 'all', options })
    : null;
  const t5 = read?.map(({ states }) => parts.hold(states)) ?? texts.map(() => zeros(count, columns));
  const width = first[0]!.states.columns + second[0]!.states.columns;
  const tokens = first[0]!.states.shape[1] as number;
  const filling = width < columns ? zeros(tokens, columns - width) : null;
  const [states, pooled] = await compute(device, options, (tape) => {
    const each = texts.map((_, i) => {
      const joined = concat(first[i]!.states.on(tape), second[i]!.states.on(tape));
      const wide = filling ? concat(joined, filling.on(tape)) : joined;
      return joinTokens(wide, t5[i]!.on(tape)); //               [1, tokens + count, columns]
    });
    const pools = texts.map((_, i) => concat(first[i]!.pooled.on(tape), second[i]!.pooled.on(tape)));
    return [joinRows(each, [texts.length, tokens + count]), joinRows(pools, [texts.length])];
  });
  return { states: states!, pooled: pooled! };
}

/** Returns a CLIP encoder's states [1, tokens, columns] and pooled state [1, columns] of each text; `made` owns them. */
async function readOne(
  components: ComponentAccess,
  which: 0 | 1,
  texts: readonly SD3Text[],
  options: ComputeOptions,
  made: Scope,
): Promise<Required<Pick<TextStates, 'states' | 'pooled'>>[]> {
  const own = texts.map((text) => text.clip[which]);
  const kept = await readClip(
    components,
    CLIPS[which],
    own,
    {
      part: 'text',
      depth: ({ layers }, i) => ({ depth: layers - UNREAD_LAYERS - texts[i]!.clipSkip, normed: false }),
      keep: ({ states, pooled }) => [states, pooled!],
      options,
    },
    made,
  );
  return kept.map(([states, pooled]) => ({ states: states!, pooled: pooled! }));
}
