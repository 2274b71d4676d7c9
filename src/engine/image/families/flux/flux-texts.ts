// Texts of FLUX.1: T5's states of a prompt, padded to a fixed number of tokens that all take part, and CLIP's pooled state of it.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { clip } from '../../../../models/text/clip/clip.ts';
import {
  poolingPosition,
  readClipConfig,
  type ClipConfig,
} from '../../../../models/text/clip/clip-config.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import type { ComputeOptions } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { Scope } from '../../recording/scope.ts';
import { clipTokens } from '../../blocks/clip-text.ts';
import { paddedIds } from '../../blocks/prompt.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { MOST_TOKENS } from '../../blocks/prompt-length.ts';
import { checkT5, encodeOne, readT5 } from '../../blocks/t5-texts.ts';

const CLIP = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
const T5 = { encoder: 'text_encoder_2', tokenizer: 'tokenizer_2' };

/** A text as CLIP and T5 read it; the second is the first unless the request gives another. */
export interface FluxText {
  clip: string;
  t5: string;
}

export interface FluxStates {
  /** [1, tokens, textDims] */
  states: Tensor;
  /** [1, pooledDims] */
  pooled: Tensor;
}

/** Throws bad_checkpoint for weights that do not match the encoders' configurations, and for a damaged tokenizer. */
export async function checkFluxEncoders(
  components: ComponentAccess,
): Promise<{ text: number; pooled: number }> {
  const ofClip = clipConfig(components);
  components.check(CLIP.encoder, (table) => clip(ofClip, table));
  await components.tokenizer(CLIP.tokenizer);
  return { text: await checkT5(components, T5), pooled: ofClip.projection ?? ofClip.hidden };
}

/** Encodes texts; the caller frees them. Each encoder leaves the device before the next is loaded. */
export async function encodeFlux(
  components: ComponentAccess,
  texts: readonly FluxText[],
  { maxSequenceLength = MOST_TOKENS, options }: Pick<RunRequest, 'maxSequenceLength' | 'options'>,
): Promise<FluxStates[]> {
  using made = new Scope(components.device);
  const pooled = await poolTexts(
    components,
    texts.map((text) => text.clip),
    options,
    made,
  );
  const states = await readT5(
    components,
    T5,
    texts.map((text) => text.t5),
    { count: maxSequenceLength, padding: 'all', options },
  );
  states.forEach((one) => made.hold(one));
  made.release();
  return texts.map((_, i) => ({ states: states[i]!, pooled: pooled[i]! }));
}

function clipConfig(components: ComponentAccess): ClipConfig {
  const { className, config } = components.get(CLIP.encoder);
  return readClipConfig(config, className, `${CLIP.encoder}/config.json`);
}

/** Returns CLIP's pooled state of each text, [1, columns]; `made` owns them. */
async function poolTexts(
  components: ComponentAccess,
  texts: readonly string[],
  options: ComputeOptions,
  made: Scope,
): Promise<Tensor[]> {
  const { device } = components;
  const config = clipConfig(components);
  const tokens = await clipTokens(components, CLIP.tokenizer, config.positions);
  using weights = await components.load(
    CLIP.encoder,
    'pooled',
    (table: WeightTable) => clip(config, table),
    options,
  );
  const pooled: Tensor[] = [];
  for (const text of texts) {
    const ids = paddedIds(tokens.encode(text), tokens);
    using inputs = new Scope(device);
    const rows = inputs.hold(device.tensor('step', 'token ids', [1, ids.length], Uint32Array.from(ids)));
    const end = inputs.hold(
      device.tensor('step', 'text end', [1], Uint32Array.of(poolingPosition(config, ids))),
    );
    const found = await encodeOne(components, "CLIP's text encoder", options, (tape) => {
      const out = weights.page(tape, { ids: rows, ends: end }, { depth: config.layers, normed: true });
      return out.pooled!;
    });
    pooled.push(made.hold(found));
  }
  return pooled;
}
