// The settings by which several devices compute the results of one model.

import { type ModelKind, rowsWith } from './setting.ts';

const GROUP = 'Parallelism';
const ALL = ['text', 'embedding', 'image'] as const satisfies ModelKind[];

/** Degrees of parallelism that are left out follow from the others. */
export const RANKS = rowsWith(
  { models: ['image'] },
  {
    numGpus: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs used; for language and embedding models --dp-size times --tp-size.',
      models: ALL,
      flag: { group: GROUP, otherwise: '1; of language and embedding models that product' },
    },
    dpSize: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'Replicas that draw different results, those of a prompt and of several prompts, or answer different requests to a language or embedding model; a conversation stays with one of them.',
      models: ALL,
      flag: {
        group: GROUP,
        otherwise: '1; of language and embedding models what --tp-size leaves of --num-gpus',
        aliases: ['data-parallel-size', 'dp'],
      },
    },
    dpDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs of a replica; 1 leaves it to the other options.',
      flag: { group: GROUP, otherwise: 'the GPUs divided by the replicas' },
    },
    enableCfgParallel: {
      kind: { type: 'boolean' },
      help: 'The passes for the prompt and for the negative prompt on two GPUs, at the same time.',
      flag: {
        group: GROUP,
        otherwise: 'on where the GPUs can be divided so and the model is guided by default',
      },
    },
    cfgParallelSize: {
      kind: { type: 'integer', min: 1, max: 2 },
      help: 'GPUs for these passes: 1 or 2; decides over --enable-cfg-parallel.',
      flag: { group: GROUP, otherwise: '2 with --enable-cfg-parallel, else 1' },
    },
    tpSize: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs among which matrices are divided, by heads of attention and columns of the feed-forward parts: those of the denoiser, or those of a dense language model of the shape of Llama, with the KV cache.',
      models: ['text', 'image'],
      flag: { group: GROUP, otherwise: '1', aliases: ['tensor-parallel-size', 'tp'] },
    },
    spDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs among which the tokens of a result are divided, in models with a transformer over tokens.',
      flag: { group: GROUP, otherwise: 'what the other options leave of --num-gpus' },
    },
    ulyssesDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs of --sp-degree that divide the heads of attention: each has all tokens of its heads there, and its own tokens elsewhere.',
      flag: { group: GROUP, otherwise: '--sp-degree where that is above 2, else 1' },
    },
    ringDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs of --sp-degree, or groups of --ulysses-degree of them, whose keys and values go around while they attend to what they have.',
      flag: { group: GROUP, otherwise: '1' },
    },
    kvGatherDegree: {
      kind: { type: 'integer', min: 1, max: 64 },
      help: 'GPUs of --sp-degree that gather the keys and values of all tokens in every block, while each keeps its own queries.',
      flag: { group: GROUP, otherwise: '2 where --sp-degree is 2' },
    },
    logicalRanks: {
      kind: { type: 'boolean' },
      help: 'Where there are fewer GPUs than --num-gpus, devices share one, in the same time and more memory; for tests and plans.',
      models: ALL,
      flag: { group: GROUP, otherwise: 'false' },
    },
  },
);

/** Those of models that answer requests for text and embeddings. */
export const REPLICAS = {
  tpSize: RANKS.tpSize,
  numGpus: RANKS.numGpus,
  dpSize: RANKS.dpSize,
  logicalRanks: RANKS.logicalRanks,
};
