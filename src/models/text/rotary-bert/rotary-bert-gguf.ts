// GGUF files of NomicBERT, and of Jina Embeddings v3 without its tasks, which are LoRAs in files of their own.

import type { GgufClass, GgufModel, GgufPart } from '../../../files/gguf/model.ts';
import type { GgufTensor } from '../../../files/gguf/gguf.ts';
import { rowsOf } from '../blocks/gguf-config.ts';

const TYPES = 'token_types.weight';
const OUTER: Readonly<Record<string, string>> = {
  'token_embd.weight': 'embeddings.word_embeddings.weight',
  [TYPES]: 'embeddings.token_type_embeddings.weight',
  'token_embd_norm.weight': 'emb_ln.weight',
  'token_embd_norm.bias': 'emb_ln.bias',
};
const NOMIC: Readonly<Record<string, string>> = {
  attn_qkv: 'attn.Wqkv',
  attn_output: 'attn.out_proj',
  attn_output_norm: 'norm1',
  ffn_gate: 'mlp.fc12',
  ffn_up: 'mlp.fc11',
  ffn_down: 'mlp.fc2',
  layer_output_norm: 'norm2',
};

const JINA: Readonly<Record<string, string>> = {
  attn_qkv: 'mixer.Wqkv',
  attn_output: 'mixer.out_proj',
  attn_output_norm: 'norm1',
  ffn_up: 'mlp.fc1',
  ffn_down: 'mlp.fc2',
  layer_output_norm: 'norm2',
};

export const ROTARY_BERT_GGUF: readonly GgufClass[] = [
  {
    name: 'nomic-bert',
    classNames: ['NomicBertModel'],
    read: async (model) => ({
      className: 'NomicBertModel',
      config: {
        ...sharedConfig(model),
        causal: isCausal(model),
        hidden_act: 'silu',
        rope_theta: theta(model, 1000),
      },
    }),
    parts: (tensor) => partsOf(tensor, NOMIC),
  },
  {
    name: 'jina-bert-v3',
    classNames: ['XLMRobertaFlashModel'],
    read: async (model) => ({
      className: 'XLMRobertaFlashModel',
      config: {
        ...sharedConfig(model),
        causal: isCausal(model),
        position_embedding_type: 'rotary',
        rotary_emb_base: theta(model, 10_000),
      },
    }),
    parts: (tensor) => partsOf(tensor, JINA),
  },
];

function sharedConfig(model: GgufModel) {
  const { keys, tensors, architecture } = model;
  const own = (key: string): string => `${architecture}.${key}`;
  const types = tensors.get(TYPES)?.shape;
  return {
    vocab_size: rowsOf(model, 'token_embd.weight'),
    hidden_size: keys.count(own('embedding_length')),
    intermediate_size: keys.count(own('feed_forward_length')),
    num_hidden_layers: keys.count(own('block_count')),
    num_attention_heads: keys.count(own('attention.head_count')),
    max_position_embeddings: keys.count(own('context_length')),
    type_vocab_size: types === undefined ? 0 : types.length === 1 ? 1 : types[0],
    layer_norm_eps: keys.real(own('attention.layer_norm_epsilon')),
  };
}

const isCausal = ({ keys, architecture }: GgufModel): boolean =>
  keys.flag(`${architecture}.attention.causal`, false);

const theta = ({ keys, architecture }: GgufModel, usual: number): number =>
  keys.real(`${architecture}.rope.freq_base`, usual);

function partsOf(
  { name, shape }: Pick<GgufTensor, 'name' | 'shape'>,
  inLayer: Readonly<Record<string, string>>,
): GgufPart[] | null {
  const outer = OUTER[name];
  // The converter stores one type of texts as a vector.
  if (outer !== undefined)
    return [{ name: outer, shape: name === TYPES && shape.length === 1 ? [1, ...shape] : shape }];
  const [, layer, module, kind] = /^blk\.(\d+)\.([a-z_]+)\.(weight|bias)$/.exec(name) ?? [];
  const own = layer === undefined ? undefined : inLayer[module!];
  return own === undefined ? null : [{ name: `encoder.layers.${layer}.${own}.${kind}`, shape }];
}
