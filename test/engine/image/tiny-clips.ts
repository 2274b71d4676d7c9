// Tiny pipelines that draw clips, whose transformers have the proportions that files in one piece imply.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLTXConfig } from '../../../src/models/image/clips/ltx-config.ts';
import { ltx } from '../../../src/models/image/clips/ltx.ts';
import { readWanConfig } from '../../../src/models/image/clips/wan-config.ts';
import { wan } from '../../../src/models/image/clips/wan.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { newFolder, type TinyPipeline } from './tiny-pipelines.ts';
import { randomTensors, readTensors, writeComponent } from './tiny-tensors.ts';

/** Heads of as many columns as those of published models. */
const WAN = {
  _class_name: 'WanTransformer3DModel',
  in_channels: 4,
  out_channels: 4,
  num_attention_heads: 1,
  num_layers: 1,
  ffn_dim: 96,
  text_dim: 48,
  freq_dim: 32,
};

/** As many heads as published models have. */
const LTX = {
  _class_name: 'LTXVideoTransformer3DModel',
  in_channels: 6,
  out_channels: 6,
  num_attention_heads: 32,
  attention_head_dim: 4,
  cross_attention_dim: 128,
  num_layers: 1,
  caption_channels: 48,
};

/** A golden's checkpoint with another transformer. */
async function withTransformer(
  name: string,
  config: object,
  page: (table: WeightTable) => unknown,
): Promise<TinyPipeline> {
  const folder = newFolder(name);
  cpSync(tinyPipeline(name), folder, { recursive: true });
  rmSync(join(folder, 'transformer'), { recursive: true });
  const transformer = randomTensors([page], 61);
  writeComponent(join(folder, 'transformer'), config, transformer);
  // Files do not say from which distance on keys share a class.
  const path = join(folder, 'text_encoder', 'config.json');
  const text = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...text, relative_attention_max_distance: 128 }));
  const stored = (file: string) => readTensors(join(folder, file));
  return {
    folder,
    tensors: {
      transformer,
      text_encoder: await stored('text_encoder/model.safetensors'),
      vae: await stored('vae/diffusion_pytorch_model.safetensors'),
    },
  };
}

export const tinyWan = (): Promise<TinyPipeline> =>
  withTransformer('wan', WAN, (table) => wan(readWanConfig(WAN), table));

export const tinyLTX = (): Promise<TinyPipeline> =>
  withTransformer('ltx', LTX, (table) => ltx(readLTXConfig(LTX), table));
