// Texts of transformers with CLIP as a text encoder: one window of tokens, and its states or its pooled state.

import type { Tensor } from '../../../gpu/tensor.ts';
import { clip, type ClipOutputs, type ClipStates } from '../../../models/text/clip/clip.ts';
import { poolingPosition, readClipConfig, type ClipConfig } from '../../../models/text/clip/clip-config.ts';
import type { WeightTable } from '../../../models/weights.ts';
import { computeFinite, type ComputeOptions } from '../recording/compute.ts';
import type { ComponentAccess } from '../components/components.ts';
import { Scope } from '../recording/scope.ts';
import { clipTokens, paddedIds } from './prompt.ts';

/** Components that hold an encoder and its tokenizer. */
export interface ClipComponents {
  encoder: string;
  tokenizer: string;
}

export function clipConfig(components: ComponentAccess, encoder: string): ClipConfig {
  const { className, config } = components.get(encoder);
  return readClipConfig(config, className, `${encoder}/config.json`);
}

/** Returns the columns of the pooled state, and those of the states. Throws bad_checkpoint for weights that do not match the configuration, and for a damaged tokenizer. */
export async function checkClip(
  components: ComponentAccess,
  { encoder, tokenizer }: ClipComponents,
): Promise<{ hidden: number; pooled: number }> {
  const config = clipConfig(components, encoder);
  components.check(encoder, (table) => clip(config, table));
  await components.tokenizer(tokenizer);
  return { hidden: config.hidden, pooled: config.projection ?? config.hidden };
}

export interface ClipReading {
  /** Name of the encoder's page. */
  part: string;
  /** How many layers are run for the text of an index, and whether the norm behind them. */
  depth(config: ClipConfig, text: number): ClipStates;
  /** The outputs that are kept. */
  keep(out: ClipOutputs): Tensor[];
  options: ComputeOptions;
}

/** Returns what is kept of each text; `made` owns it. */
export async function readClip(
  components: ComponentAccess,
  { encoder, tokenizer }: ClipComponents,
  texts: readonly string[],
  { part, depth, keep, options }: ClipReading,
  made: Scope,
): Promise<Tensor[][]> {
  const { device } = components;
  const config = clipConfig(components, encoder);
  const tokens = await clipTokens(components, tokenizer, config.positions);
  using weights = await components.load(encoder, part, (table: WeightTable) => clip(config, table), options);
  const kept: Tensor[][] = [];
  for (const [i, text] of texts.entries()) {
    const ids = paddedIds(tokens.encode(text), tokens);
    using inputs = new Scope(device);
    const held = (label: string, shape: number[], values: Uint32Array): Tensor =>
      inputs.hold(device.tensor('step', label, shape, values));
    const given = {
      ids: held('token ids', [1, ids.length], Uint32Array.from(ids)),
      ends: held('text end', [1], Uint32Array.of(poolingPosition(config, ids))),
    };
    const found = await computeFinite(device, options, "CLIP's text encoder", (tape) =>
      keep(weights.page(tape, given, depth(config, i))),
    );
    kept.push(found.map((x) => made.hold(x)));
  }
  return kept;
}
