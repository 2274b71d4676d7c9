// Cost of opening a checkpoint of many small tensors, as published mixtures of experts have: a synthetic Qwen3 MoE with 3,147 tensors in 13 MB. The builds
// of the given clones open it in turns, each in a process of its own that has compiled the kernels before. Prints JSON: the least of each.
//   node scripts/bench/opening.mjs [--rounds N] [CLONE …]

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { root } from '../setup/packages.mjs';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';

const SHAPE = { hidden: 64, layers: 8, heads: 2, dims: 32, experts: 128, width: 32, vocabulary: 512 };

const OPENING = `
  const { openTextModel } = await import(process.argv[1]);
  const open = { model: process.argv[2], quantization: 'none', inline: true };
  await (await openTextModel(open)).close();
  const [started, used] = [performance.now(), process.cpuUsage()];
  await (await openTextModel(open)).close();
  const { user, system } = process.cpuUsage(used);
  console.log(JSON.stringify({ ms: performance.now() - started, cpuMs: (user + system) / 1000 }));
  process.exit();`;

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' } },
  allowPositionals: true,
});
const clones = positionals.length > 0 ? positionals.map((path) => resolve(path)) : [root];
const checkpoint = madeOnce('many-tensors', (folder) => {
  const { tensors, config } = mixture();
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteTokenizer(SHAPE.vocabulary)));
  writeTensors(join(folder, 'model.safetensors'), tensors);
});
const least = {};
for (let round = 0; round < Number(values.rounds); round++)
  for (const clone of clones) {
    const { ms, cpuMs } = opened(clone);
    const before = least[clone] ?? { ms: Infinity, cpuMs: Infinity };
    least[clone] = { ms: Math.min(ms, before.ms), cpuMs: Math.min(cpuMs, before.cpuMs) };
  }
console.log(JSON.stringify(least, null, 2));

/** @returns {{ ms: number, cpuMs: number }} */
function opened(clone) {
  const library = pathToFileURL(join(clone, 'dist/index.js')).href;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', OPENING, library, checkpoint],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${clone} did not open the checkpoint:\n${stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

function mixture() {
  const { hidden, layers, heads, dims, experts, width, vocabulary } = SHAPE;
  const tensors = [
    ['model.embed_tokens.weight', [vocabulary, hidden]],
    ['lm_head.weight', [vocabulary, hidden]],
    ['model.norm.weight', [hidden]],
  ];
  for (let layer = 0; layer < layers; layer++) {
    const add = (name, ...shape) => tensors.push([`model.layers.${layer}.${name}.weight`, shape]);
    for (const name of ['q_proj', 'k_proj', 'v_proj', 'o_proj'])
      add(`self_attn.${name}`, heads * dims, hidden);
    for (const name of ['q_norm', 'k_norm']) add(`self_attn.${name}`, dims);
    for (const name of ['input_layernorm', 'post_attention_layernorm']) add(name, hidden);
    add('mlp.gate', experts, hidden);
    for (let expert = 0; expert < experts; expert++) {
      for (const name of ['gate_proj', 'up_proj']) add(`mlp.experts.${expert}.${name}`, width, hidden);
      add(`mlp.experts.${expert}.down_proj`, hidden, width);
    }
  }
  const config = {
    architectures: ['Qwen3MoeForCausalLM'],
    model_type: 'qwen3_moe',
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    head_dim: dims,
    intermediate_size: hidden,
    moe_intermediate_size: width,
    num_experts: experts,
    num_experts_per_tok: 4,
    norm_topk_prob: true,
    vocab_size: vocabulary,
    max_position_embeddings: 512,
    tie_word_embeddings: false,
    torch_dtype: 'float16',
  };
  return { tensors, config };
}
