// Sana from one file with the names of its makers: it draws bit for bit what the diffusers layout draws, and adapters find its modules by
// those names.

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSanaConfig } from '../../../src/models/image/sana-config.ts';
import { sana } from '../../../src/models/image/sana.ts';
import { draw, expectSame, prefixed, write } from './drawn-files.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { newFolder } from './tiny-pipelines.ts';
import {
  randomTensors,
  readTensors,
  writeComponent,
  type StoredTensor,
  type StoredTensors,
} from './tiny-tensors.ts';

/** Heads as published models have them. */
const TRANSFORMER = {
  _class_name: 'SanaTransformer2DModel',
  in_channels: 16,
  num_attention_heads: 9,
  attention_head_dim: 32,
  num_cross_attention_heads: 4,
  cross_attention_head_dim: 72,
  cross_attention_dim: 288,
  num_layers: 1,
  caption_channels: 40,
  mlp_ratio: 1.5,
  qk_norm: 'rms_norm_across_heads',
};

const NAMES: [RegExp, string][] = [
  [/^patch_embed\./, 'x_embedder.'],
  [/^time_embed\.emb\.timestep_embedder\.linear_1\./, 't_embedder.mlp.0.'],
  [/^time_embed\.emb\.timestep_embedder\.linear_2\./, 't_embedder.mlp.2.'],
  [/^time_embed\.linear\./, 't_block.1.'],
  [/^caption_projection\.linear_/, 'y_embedder.y_proj.fc'],
  [/^caption_norm\./, 'attention_y_norm.'],
  [/^scale_shift_table$/, 'final_layer.scale_shift_table'],
  [/^proj_out\./, 'final_layer.linear.'],
  [/^transformer_blocks\./, 'blocks.'],
  [/\.attn1\.to_q\./, '.attn.qkv.'],
  [/\.attn1\.norm_([qk])\./, '.attn.$1_norm.'],
  [/\.attn1\.to_out\.0\./, '.attn.proj.'],
  [/\.attn2\.to_q\./, '.cross_attn.q_linear.'],
  [/\.attn2\.to_k\./, '.cross_attn.kv_linear.'],
  [/\.attn2\.norm_([qk])\./, '.cross_attn.$1_norm.'],
  [/\.attn2\.to_out\.0\./, '.cross_attn.proj.'],
  [/\.ff\.conv_(\w+)\./, '.mlp.$1_conv.conv.'],
];

const AUTOENCODER: [RegExp, string][] = [
  [/^(encoder|decoder)\.conv_in\./, '$1.project_in.conv.'],
  [/^encoder\.conv_out\./, 'encoder.project_out.0.conv.'],
  [/^decoder\.norm_out\./, 'decoder.project_out.0.'],
  [/^decoder\.conv_out\./, 'decoder.project_out.2.conv.'],
  [/\.(?:down|up)_blocks\.(\d+)\.(\d+)\./, '.stages.$1.op_list.$2.'],
  [/(op_list\.\d+)\.(conv[12]?)\./, '$1.main.$2.conv.'],
  [/(op_list\.\d+)\.norm\./, '$1.main.conv2.norm.'],
  [/\.attn\.to_q\./, '.context_module.main.qkv.conv.'],
  [/\.attn\.to_qkv_multiscale\.(\d)\.proj_in\./, '.context_module.main.aggreg.$1.0.'],
  [/\.attn\.to_qkv_multiscale\.(\d)\.proj_out\./, '.context_module.main.aggreg.$1.1.'],
  [/\.attn\.to_out\./, '.context_module.main.proj.conv.'],
  [/\.attn\.norm_out\./, '.context_module.main.proj.norm.'],
  [/(op_list\.\d+)\.conv_out\.conv_(\w+)\./, '$1.local_module.main.$2_conv.conv.'],
  [/(op_list\.\d+)\.conv_out\.norm\./, '$1.local_module.main.point_conv.norm.'],
];

/** Puts projections that follow each other into one tensor under the name of the first. */
function original(
  tensors: StoredTensors,
  names: readonly [RegExp, string][],
  fused: readonly (readonly [first: RegExp, parts: readonly string[]])[],
): StoredTensor[] {
  return [...tensors.values()].flatMap((tensor) => {
    const name = names.reduce((text, [own, other]) => text.replace(own, other), tensor.name);
    for (const [first, parts] of fused) {
      const [own, before, part, behind] = first.exec(tensor.name) ?? [];
      if (own === undefined) continue;
      if (part !== parts[0]) return [];
      const all = parts.map((each) => tensors.get(`${before}${each}${behind}`)!);
      const shape = [all.length * tensor.shape[0]!, ...tensor.shape.slice(1)];
      return [{ ...tensor, name, shape, bytes: Buffer.concat(all.map(({ bytes }) => bytes)) }];
    }
    return [{ ...tensor, name }];
  });
}

const QKV = [/^(.*attn1?\.to_)([qkv])(\.\w+)$/, ['q', 'k', 'v']] as const;
const KV = [/^(.*attn2\.to_)([kv])(\.\w+)$/, ['k', 'v']] as const;

it('Sana draws from a transformer and an autoencoder of its makers', { timeout: 120_000 }, async () => {
  const folder = newFolder('sana');
  cpSync(tinyPipeline('sana'), folder, { recursive: true });
  const transformer = randomTensors([(table) => sana(readSanaConfig(TRANSFORMER), table)], 31);
  rmSync(join(folder, 'transformer'), { recursive: true });
  writeComponent(join(folder, 'transformer'), TRANSFORMER, transformer);
  const vae = await readTensors(join(folder, 'vae', 'diffusion_pytorch_model.safetensors'));
  const given = Object.fromEntries(
    ['text_encoder', 'tokenizer'].map((name) => [name, join(folder, name)] as const),
  );
  const pipeline = { folder, tensors: {} };
  const request = { width: 64, height: 32, kwargs: { use_resolution_binning: false } };

  const ofMakers = original(transformer, NAMES, [KV, QKV]);
  const size = [1, 32 * 32, 4];
  const unread: StoredTensor[] = [
    { name: 'pos_embed', dtype: 'F16', shape: size, bytes: new Uint8Array(2 * 32 * 32 * 4) },
    { name: 'y_embedder.y_embedding', dtype: 'F16', shape: [3, 40], bytes: new Uint8Array(240) },
  ];
  const model = write('sana of its makers', ofMakers, unread);
  const vaePath = write('dc-ae of its makers', original(vae, AUTOENCODER, [QKV]));
  await expectSame(pipeline, { model, componentPaths: { ...given, vae: vaePath } }, request);

  const named = write('sana of diffusers', prefixed(transformer, 'transformer.'), prefixed(vae, 'vae.'));
  await expectSame(pipeline, { model: named, componentPaths: given }, request);
  await expect(draw({ model: named }, request)).rejects.toThrow(/holds .* and no .*text_encoder/);
});
