// Texts of Stable Diffusion 3: the states of two CLIP encoders side by side, padded with zeros to the width of T5's, and behind their tokens
// those of T5, or zeros without it; beside them the pooled states of both CLIP encoders.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { joinRows, joinTokens } from '../../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../../kernels/linear-combination.ts';
import { clip } from '../../../../models/text/clip/clip.ts';
import {
  poolingPosition,
  readClipConfig,
  type ClipConfig,
} from '../../../../models/text/clip/clip-config.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { compute, finitely, freeTensors, type ComputeOptions } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { Scope } from '../../recording/scope.ts';
import { paddedIds } from '../../blocks/prompt.ts';
import { clipTokens } from '../../blocks/clip-text.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';

/** Tokens of a prompt that T5 reads by default. */
const T5_TOKENS = 256;
/** Layers at the end of a CLIP encoder whose states are not read. */
export const UNREAD_LAYERS = 1;

const CLIPS = [
  { encoder: 'text_encoder', tokenizer: 'tokenizer' },
  { encoder: 'text_encoder_2', tokenizer: 'tokenizer_2' },
] as const;
const T5 = { encoder: 'text_encoder_3', tokenizer: 'tokenizer_3' };

/** A text as the encoders read it. */
export interface SD3Text {
  clip: readonly [string, string];
  t5: string;
  clipSkip: number;
}

export interface SD3TextRequest {
  maxSequenceLength?: number;
  /** Columns of the states of the text. */
  columns: number;
  options: ComputeOptions;
}

/** Texts of one length, in the order in which they are given. */
export interface SD3States {
  /** [texts, tokens, textDims] */
  states: Tensor;
  /** [texts, pooledDims] */
  pooled: Tensor;
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
    const config = sd3ClipConfig(components, encoder);
    components.check(encoder, (table) => clip(config, table));
    await components.tokenizer(tokenizer);
    widths.clip += config.hidden;
    widths.pooled += config.projection ?? config.hidden;
  }
  return { ...widths, t5: components.has(T5.encoder) ? await checkT5(components, T5) : null };
}

export function sd3ClipConfig(components: ComponentAccess, encoder: string): ClipConfig {
  const { className, config } = components.get(encoder);
  return readClipConfig(config, className, `${encoder}/config.json`);
}

/** Encodes texts; the caller frees them. Each encoder leaves the device before the next is loaded. */
export async function encodeSD3(
  components: ComponentAccess,
  texts: readonly SD3Text[],
  { maxSequenceLength: count = T5_TOKENS, columns, options }: SD3TextRequest,
): Promise<SD3States> {
  const { device } = components;
  using parts = new Scope(device);
  const [first, second] = [
    await readClip(components, 0, texts, options, parts),
    await readClip(components, 1, texts, options, parts),
  ];
  const zeros = (rows: number, width: number): Tensor => {
    const values = new Float32Array(rows * width);
    return parts.hold(device.tensor('step', 'zeros', [1, rows, width], values));
  };
  const t5 = components.has(T5.encoder)
    ? await readT5(
        components,
        T5,
        texts.map((text) => text.t5),
        { count, padding: 'all', options },
      )
    : texts.map(() => zeros(count, columns));
  if (components.has(T5.encoder)) t5.forEach((one) => parts.hold(one));
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
async function readClip(
  components: ComponentAccess,
  which: 0 | 1,
  texts: readonly SD3Text[],
  options: ComputeOptions,
  made: Scope,
): Promise<{ states: Tensor; pooled: Tensor }[]> {
  const { device } = components;
  const { encoder, tokenizer } = CLIPS[which];
  const config = sd3ClipConfig(components, encoder);
  const tokens = await clipTokens(components, tokenizer, config.positions);
  const build = (table: WeightTable) => clip(config, table);
  using weights = await components.load(encoder, 'text', build, options);
  const encoded: { states: Tensor; pooled: Tensor }[] = [];
  for (const text of texts) {
    const ids = paddedIds(tokens.encode(text.clip[which]), tokens);
    using inputs = new Scope(device);
    const held = (label: string, shape: number[], values: Uint32Array | Float32Array): Tensor =>
      inputs.hold(device.tensor('step', label, shape, values));
    const rows = held('token ids', [1, ids.length], Uint32Array.from(ids));
    const end = held('text end', [1], Uint32Array.of(poolingPosition(config, ids)));
    const one = held('one', [1], Float32Array.of(1));
    const depth = config.layers - UNREAD_LAYERS - text.clipSkip;
    const found = await finitely(
      device,
      options,
      "CLIP's text encoder",
      (way, notFinite) =>
        compute(device, way, (tape) => {
          const { states, pooled } = weights.page(tape, { ids: rows, ends: end }, { depth, normed: false });
          return [states, pooled!].map((x) => linearCombination([x], one.region!, notFinite));
        }),
      (tensors) => freeTensors(device, tensors),
    );
    const [states, pooled] = found.map((x) => made.hold(x)) as [Tensor, Tensor];
    encoded.push({ states, pooled });
  }
  return encoded;
}
