// GGUF files of GPT-2, StarCoder, BLOOM, MPT and Falcon. Queries, keys and values of all heads follow each other there.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, rowsOf } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';

type Json = Record<string, unknown>;

interface GptFiles {
  /** general.architecture */
  name: string;
  className: string;
  /** The name of the class in its repositories, where that is another. */
  published?: string;
  names: Readonly<Record<string, string>>;
  /** Modules outside of the layers that are named otherwise than in GPT-2. */
  outer?: Readonly<Record<string, string>>;
  /** Module of the layers; left out: h. */
  layers?: string;
  /** Keys that change a computation and that the class reads. */
  reads?: readonly string[];
  /** Whether keys stand beside their queries on the page. */
  isGrouped(config: Json): boolean;
  /** Further keys of config.json. */
  more(model: GgufModel, config: Json): Json;
}

const OUTER = {
  'token_embd.weight': 'transformer.wte.weight',
  'position_embd.weight': 'transformer.wpe.weight',
  'output_norm.weight': 'transformer.ln_f.weight',
  'output_norm.bias': 'transformer.ln_f.bias',
};
const WORDS = { 'token_embd.weight': 'transformer.word_embeddings.weight' };
const GPT2 = {
  attn_norm: 'ln_1',
  attn_qkv: 'attn.c_attn',
  attn_output: 'attn.c_proj',
  ffn_norm: 'ln_2',
  ffn_up: 'mlp.c_fc',
  ffn_down: 'mlp.c_proj',
};
const BLOOM = {
  attn_qkv: 'self_attention.query_key_value',
  attn_output: 'self_attention.dense',
  ffn_up: 'mlp.dense_h_to_4h',
  ffn_down: 'mlp.dense_4h_to_h',
};
/** The norms of Falcon's larger models are those of the feed-forward block and of attention. */
const SECOND_NORM = 'blk.0.attn_norm_2.weight';

/** The bound of ALiBi's slopes, as an exponent of two; 0: it is not used. */
const ALIBI = 'attention.max_alibi_bias';

const positions = (model: GgufModel): Json => ({
  max_position_embeddings: rowsOf(model, 'position_embd.weight'),
});

const FILES: readonly GptFiles[] = [
  { name: 'gpt2', className: 'GPT2LMHeadModel', names: GPT2, isGrouped: () => false, more: positions },
  {
    name: 'starcoder',
    className: 'GPTBigCodeForCausalLM',
    names: GPT2,
    isGrouped: () => false,
    more: positions,
  },
  {
    name: 'bloom',
    className: 'BloomForCausalLM',
    names: BLOOM,
    outer: {
      ...WORDS,
      'token_embd_norm.weight': 'transformer.word_embeddings_layernorm.weight',
      'token_embd_norm.bias': 'transformer.word_embeddings_layernorm.bias',
    },
    isGrouped: () => true,
    more: () => ({}),
  },
  {
    name: 'mpt',
    className: 'MptForCausalLM',
    published: 'MPTForCausalLM',
    names: {
      attn_norm: 'norm_1',
      attn_qkv: 'attn.Wqkv',
      attn_output: 'attn.out_proj',
      ffn_norm: 'norm_2',
      ffn_up: 'ffn.up_proj',
      ffn_down: 'ffn.down_proj',
    },
    outer: { 'output_norm.weight': 'transformer.norm_f.weight' },
    layers: 'blocks',
    reads: [ALIBI],
    isGrouped: () => false,
    more: ({ keys }, { clip_qkv: clip = null }) => {
      const most = keys.count(`mpt.${ALIBI}`, 0);
      return { attn_config: { alibi: most > 0, alibi_bias_max: most, clip_qkv: clip } };
    },
  },
  {
    name: 'falcon',
    className: 'FalconForCausalLM',
    names: BLOOM,
    outer: WORDS,
    isGrouped: (config) => config['new_decoder_architecture'] === true,
    more: ({ tensors }, config) => ({
      new_decoder_architecture: config['num_key_value_heads'] !== 1,
      ...(!tensors.has(SECOND_NORM) && { num_ln_in_parallel_attn: 1 }),
      bias: tensors.has('blk.0.attn_qkv.bias'),
    }),
  },
];

export const GPT_GGUF: readonly GgufClass[] = FILES.map(
  ({ name, className, published, names, outer, layers = 'h', reads = [], isGrouped, more }) => ({
    name,
    classNames: [className, ...(published === undefined ? [] : [published])],
    keys: { num_ln_in_parallel_attn: SECOND_NORM },
    async read(model) {
      const config = await decoderConfig(model, { reads, layerNorm: true });
      return {
        className,
        config: { ...config, layer_norm_eps: config['rms_norm_eps'], ...more(model, config) },
      };
    },
    parts(tensor, config) {
      const { heads, kvHeads } = headsOf(config);
      const isTwice = config['new_decoder_architecture'] === true && config['num_ln_in_parallel_attn'] !== 1;
      const parts = decoderParts(tensor, {
        prefix: 'transformer.',
        layers,
        outer: { ...OUTER, ...outer },
        names: isTwice ? { ...names, attn_norm: 'ln_mlp', attn_norm_2: 'ln_attn' } : names,
      });
      const isFused = isGrouped(config) && tensor.name.includes('.attn_qkv.');
      return isFused
        ? (parts?.map((part) => ({ ...part, groupedHeads: { heads, kvHeads } })) ?? null)
        : parts;
    },
  }),
);
